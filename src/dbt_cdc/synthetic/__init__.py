"""Synthetic data for change data capture: loads with exact numbers of changes, and change feeds with their truth.

Everything is computed from row numbers and a seed by Spark's own expressions: the same arguments give the same rows,
however many partitions make them, and a load can be made without reading the one before it.

From a shell, see ``python -m dbt_cdc.synthetic --help``.
"""

from __future__ import annotations

from dbt_cdc.synthetic._checks import SyntheticError
from dbt_cdc.synthetic._columns import Columns
from dbt_cdc.synthetic._feed import Disorder, Feed, change_feed
from dbt_cdc.synthetic._loads import counts, incremental, initial
from dbt_cdc.synthetic._options import from_options
from dbt_cdc.synthetic._series import Counts

__all__ = [
    "Columns",
    "Counts",
    "Disorder",
    "Feed",
    "SyntheticError",
    "change_feed",
    "counts",
    "from_options",
    "incremental",
    "initial",
]

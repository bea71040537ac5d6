"""Change data capture on Spark for dbt: the Python side of the dbt package of the same name.

dbt imports every top-level module named ``dbt_*`` when it starts. Importing this one does no more than make
``submission_method: session`` known to dbt-spark (see :mod:`dbt_cdc._adapter`); pyspark is not imported.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dbt_cdc import _adapter

if TYPE_CHECKING:  # pragma: no cover
    pass

__version__ = "0.1.0"

#: Public functions and the module that each of them lives in; imported when first used.
_PUBLIC: dict[str, str] = {
    "hash_diff": "dbt_cdc._hash_diff",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'dbt_cdc' has no attribute {name!r}; it has: {', '.join(sorted(_PUBLIC))}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


_adapter.register()

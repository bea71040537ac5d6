"""Change data capture on Spark for dbt: the Python side of the dbt package of the same name.

dbt imports every top-level module named ``dbt_*`` when it starts. Importing this one does no more than make
``submission_method: session`` known to dbt-spark (see :mod:`dbt_cdc._adapter`); pyspark is not imported.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dbt_cdc import _adapter

if TYPE_CHECKING:
    from dbt_cdc import synthetic
    from dbt_cdc._hash_diff import hash_diff
    from dbt_cdc.changes import table_changes
    from dbt_cdc.edges import ref_changes

__version__ = "0.1.0"

#: Public functions and the module that each of them lives in (a module: itself); imported when first used.
_PUBLIC: dict[str, str] = {
    "hash_diff": "dbt_cdc._hash_diff",
    "ref_changes": "dbt_cdc.edges",
    "synthetic": "dbt_cdc.synthetic",
    "table_changes": "dbt_cdc.changes",
}

__all__ = ["__version__", "hash_diff", "ref_changes", "synthetic", "table_changes"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _PUBLIC:
            raise AttributeError(f"module 'dbt_cdc' has no attribute {name!r}; it has: {', '.join(sorted(_PUBLIC))}")
        module = importlib.import_module(_PUBLIC[name])
        return module if module.__name__ == f"dbt_cdc.{name}" else getattr(module, name)


_adapter.register()

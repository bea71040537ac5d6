"""The dbt package's macros, called for the Python model that dbt runs in this thread."""

from __future__ import annotations

import re
from typing import Any

from dbt.adapters.factory import get_adapter_by_type
from dbt_common.events.contextvars import get_node_info
from dbt_common.exceptions import DbtRuntimeError

#: What dbt gives for an upstream under `--empty` and `--sample`.
_LIMITED = re.compile(r"^\(select \* from (.+?) where .*$", re.DOTALL)


def running_model(reader: str) -> str:
    """The unique_id of the model that dbt runs; `reader`: the function that needs one."""
    node = get_node_info()
    if not node:
        raise DbtRuntimeError(f"dbt_cdc.{reader} reads for a model that dbt runs, and dbt runs none here")
    return str(node["unique_id"])


def upstream_of(dbt: Any, name: tuple[str, ...], v: Any, reader: str) -> str:
    """The upstream's `schema.table`, from the functions that dbt adds to a compiled model."""
    if not name or not all(isinstance(part, str) for part in name):
        raise DbtRuntimeError(
            f"dbt_cdc: {running_model(reader)}: {reader} takes the names that dbt.ref or dbt.source takes, such as "
            f"{reader}(dbt, spark, 'orders'), got {', '.join(type(part).__name__ for part in name) or 'none'}"
        )
    generated = dbt.ref.__globals__
    version = {} if v is None else {"v": v}
    for kind in ("ref", "source"):
        try:
            found = str(generated[kind](*name, **version, dbt_load_df_function=str))
            return _LIMITED.sub(r"\1", found)
        except (KeyError, TypeError):
            continue
    call = ", ".join([*map(repr, name), *(f"v={v!r}" for _ in version)])
    raise DbtRuntimeError(
        f"dbt_cdc: {running_model(reader)} reads {call} by {reader}, but dbt knows no such upstream of it, and so "
        f"would not build that first. Add the line `dbt.ref({call})` to the model (a source takes both its names, here "
        "and there: `dbt.source('raw', 'orders')`)"
    )


def run_macro(name: str, arguments: dict[str, Any]) -> Any:
    """What a macro of the package returns."""
    return get_adapter_by_type("spark").execute_macro(name, project="dbt_cdc", kwargs=arguments)

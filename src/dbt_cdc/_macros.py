"""The dbt package's macros, called for the Python model that dbt runs in this thread."""

from __future__ import annotations

import re
from contextlib import suppress
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
    """The upstream as dbt gives it, `schema.table` or a query, from the functions that dbt adds to a compiled model."""
    if not name or not all(isinstance(part, str) for part in name):
        raise DbtRuntimeError(
            f"dbt_cdc: {running_model(reader)}: {reader} takes the names that dbt.ref or dbt.source takes, such as "
            f"{reader}(dbt, spark, 'orders'), and all else by keyword, got "
            f"{', '.join(type(part).__name__ for part in name) or 'none'}"
        )
    generated = dbt.ref.__globals__
    version = {} if v is None else {"v": v}
    found = []
    for kind in ("ref", "source"):
        with suppress(KeyError, TypeError):
            found.append(str(generated[kind](*name, **version, dbt_load_df_function=str)))
    if len(found) == 1:
        return found[0]
    call = ", ".join([*map(repr, name), *(f"v={v!r}" for _ in version)])
    if found:
        raise DbtRuntimeError(
            f"dbt_cdc: {running_model(reader)} reads {call} by {reader}, which is both a model in a package and a"
            f" source ({', '.join(found)}): read one of them by a model of its own"
        )
    raise DbtRuntimeError(
        f"dbt_cdc: {running_model(reader)} reads {call} by {reader}, but dbt knows no such upstream of it, and so "
        f"would not build that first. Add the line `dbt.ref({call})` to the model (a source takes both its names, here "
        "and there: `dbt.source('raw', 'orders')`; all else, such as `begin`, is given by keyword)"
    )


def table_of(upstream: str) -> str:
    """The `schema.table` in what dbt gives for an upstream, which is a query over it under `--empty` and `--sample`."""
    return _LIMITED.sub(r"\1", upstream)


def run_macro(name: str, arguments: dict[str, Any]) -> Any:
    """What a macro of the package returns."""
    return get_adapter_by_type("spark").execute_macro(name, project="dbt_cdc", kwargs=arguments)

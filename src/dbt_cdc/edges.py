"""Reading only what changed, in Python models: the same edges and watermarks as ``dbt_cdc.ref_changes`` in SQL.

What to read is decided by the dbt package's own macros, which this module calls, so both forms share every rule.
A SQL model moves its watermarks by a post-hook. dbt lets no Python model register one, so here dbt's event that a node
has finished moves them, in the node's own thread and before anything downstream starts.
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from threading import Lock
from typing import TYPE_CHECKING, Any

from dbt.adapters.factory import get_adapter_by_type
from dbt_common.events.event_manager_client import add_callback_to_manager, get_event_manager

from dbt_cdc._macros import run_macro, running_model, table_of, upstream_of

if TYPE_CHECKING:  # pragma: no cover
    from pyspark.sql import DataFrame, SparkSession

_adding_end = Lock()
#: ids of the models of this process that have read by `ref_changes`
_readers: set[str] = set()


def ref_changes(
    dbt: Any,
    spark: SparkSession,
    *names: str,
    name: str | None = None,
    v: Any = None,
    version: Any = None,
    by: str | None = None,
    column: str | None = None,
    unique_key: str | list[str] | None = None,
) -> DataFrame:
    """The rows of an upstream that this Python model has not processed yet.

    The columns are the upstream's; by version there is one more, ``_op`` (string: ``i``, ``u`` or ``d``). The model is
    an ``incremental`` one with ``unique_key`` and ``incremental_strategy`` ``merge``, or an ``apply_changes`` one. Its
    watermark moves when its write has committed. Stamps are compared as instants, in no time zone.

    Args:
        dbt: The first argument of ``model``.
        spark: The second argument of ``model``.
        names: What ``dbt.ref`` takes (``'orders'``, or ``'package', 'orders'``) or ``dbt.source`` takes. The model
            also has that call, as ``dbt.ref('orders')``: dbt reads a Python model's upstreams from such calls.
        name: The same by keyword, where it is one name.
        v: The version of a versioned model; ``version`` is the same, as in ``dbt.ref``.
        by: ``column`` or ``version``; without it what the model's option ``ref_changes_by`` says, else ``column``.
        column: The column that stamps the rows; without it what the option ``ref_changes_column`` says, else
            ``cdc_datetime_updated``.
        unique_key: By version: the upstream's key; without it that of the upstream's own node, or else the reader's.

    Raises:
        DbtRuntimeError: The model lacks the ``dbt.ref`` line, or runs outside dbt.
        CompilationError: The model can't read by ``ref_changes``; the message lists every reason.
    """
    unique_id = running_model("ref_changes")
    names = names if name is None else (*names, name)
    given = upstream_of(dbt, names, version if v is None else v, "ref_changes")
    how = {"by": by, "column": column, "unique_key": unique_key}
    asked = {"unique_id": unique_id, "upstream": table_of(given), "given": given, **how}
    _readers.add(unique_id)
    read = run_macro("_ref_changes_of_python", asked)
    with _adding_end:  # models of other threads may ask in the same moment
        if _end not in get_event_manager().callbacks:
            add_callback_to_manager(_end)
    for statement in read["before"]:
        spark.sql(statement)
    return spark.sql(f"select * from {read['rows']}")


def _end(message: Any) -> None:
    """Called by dbt for each of its events; an error here fails the node."""
    if message.info.name != "NodeFinished" or message.data.node_info.unique_id not in _readers:
        return
    node, succeeded = message.data.node_info, message.data.run_result.status == "success"
    # what a failed model leaves behind is cleared away if that can be done; its own error is the one to tell
    with (
        nullcontext() if succeeded else suppress(Exception),
        get_adapter_by_type("spark").connection_named(f"{node.unique_id}_edges"),
    ):
        run_macro("_end_of_python", {"unique_id": node.unique_id, "succeeded": succeeded})

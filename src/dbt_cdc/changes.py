"""Row changes of a table, in Python models: the same query as ``dbt_cdc.table_changes`` in SQL.

The dbt package's own macros write the query, in the dbt process that runs the model, so both forms share every rule.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from dbt_cdc._macros import run_macro, running_model, table_of, upstream_of

if TYPE_CHECKING:  # pragma: no cover
    from pyspark.sql import DataFrame, SparkSession


def table_changes(
    dbt: Any,
    spark: SparkSession,
    *names: str,
    name: str | None = None,
    v: Any = None,
    version: Any = None,
    begin: str | int | date | None = None,
    end: str | int | date | None = None,
    format: str = "cdc",
    unique_key: str | list[str] | None = None,
) -> DataFrame:
    """The row changes of a table in a range of its versions.

    The columns are ``op`` (string: ``i``, ``u`` or ``d``), ``ts`` (timestamp of the commit), ``version`` (string, the
    commit's id), ``source`` (string, ``schema.table``), ``before`` and ``after`` (structs of the table's own columns;
    NULL before an insert and after a delete).

    Args:
        dbt: The first argument of ``model``.
        spark: The second argument of ``model``.
        names: What ``dbt.ref`` or ``dbt.source`` takes; the model also has that call, as ``dbt.ref('orders')``, since
            dbt reads a Python model's upstreams from such calls. ``'schema.table'`` (or ``'catalog.schema.table'``)
            names a table unknown to dbt.
        name: The same by keyword, where it is one name.
        v: The version of a versioned model; ``version`` is the same, as in ``dbt.ref``.
        begin: Where the range begins, exclusive: a version, a timestamp or ``'earliest'``, the default. Without a zone
            a ``datetime`` is in the process's, as ``collect()`` gives it, all else (pandas', too) in the session's.
        end: Where the range ends, inclusive, given like ``begin``; by default the latest commit.
        format: ``cdc`` (every change), ``latest_state`` (the newest of each key) or ``net`` (one change per key).
        unique_key: The key columns; by default those of the table's model or, in an ``apply_changes`` model, of that
            one. An empty list: none.

    Raises:
        DbtRuntimeError: The model lacks the ``dbt.ref`` line, or runs outside dbt.
        CompilationError: The range or the format can't be had; the message says what can.
    """
    unique_id = running_model("table_changes")
    names = names if name is None else (*names, name)
    v = version if v is None else v
    outside = len(names) == 1 and v is None and isinstance(names[0], str) and "." in names[0]
    arguments = {
        "unique_id": unique_id,
        "upstream": names[0] if outside else table_of(upstream_of(dbt, names, v, "table_changes")),
        "begin": _bound(begin),
        "end": _bound(end),
        "format": format,
        "unique_key": unique_key,
    }
    return spark.sql(f"select * from {run_macro('_table_changes_of_python', arguments)}")


def _bound(bound: str | int | date | None) -> str | int | None:
    if type(bound) is datetime and bound.tzinfo is None:  # not of pandas, which toPandas() gives in the session's zone
        bound = bound.astimezone()
    return bound.isoformat() if isinstance(bound, date) else bound

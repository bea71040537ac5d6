"""What a Python model may return, as a Spark DataFrame."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from dbt_common.exceptions import DbtRuntimeError

if TYPE_CHECKING:  # pragma: no cover
    from pyspark.sql import DataFrame, SparkSession


def to_spark(frame: Any, spark: SparkSession, *, typed: bool = True) -> Any:
    """A Spark (classic or Connect), pandas-on-Spark or pandas frame as a Spark DataFrame.

    `typed`: what pandas has no type for, as it has no values, is text, as tables keep it; else it has Spark's `void`.
    Told apart by the classes' names: none of the libraries need be installed for the others to work.
    """
    if _is_frame_of(frame, "pyspark.sql"):
        if frame.isStreaming:
            raise DbtRuntimeError(
                "model() returned a streaming DataFrame; expected one of rows at hand: read them with spark.read,"
                " or what is new since the last run with dbt_cdc.ref_changes(dbt, spark, 'orders')."
            )
        return _of_session(frame, spark)
    if _is_frame_of(frame, "pyspark.pandas"):
        # a table has no index, and the model's author can't say so here
        warnings.filterwarnings("ignore", message="If `index_col` is not specified for `to_spark`")
        return _of_session(frame.to_spark(), spark)
    if _is_frame_of(frame, "pandas"):
        return _from_pandas(frame, spark, typed=typed)
    kind = type(frame)
    raise DbtRuntimeError(
        f"model() returned {'None' if frame is None else f'a {kind.__module__}.{kind.__qualname__}'};"
        " expected a Spark, pandas-on-Spark or pandas DataFrame."
    )


def _of_session(frame: DataFrame, spark: SparkSession) -> DataFrame:
    """The frame, if it is one of this session: classic sessions are told apart by Java's, others by their id."""
    for name in ("_jsparkSession", "_session_id"):
        if getattr(frame.sparkSession, name, None) != getattr(spark, name, None):
            raise DbtRuntimeError(
                "model() returned a DataFrame of another Spark session, whose tables and views may be others; expected"
                " one that is made with the `spark` that model() is given."
            )
    return frame


def _is_frame_of(frame: Any, package: str) -> bool:
    return any(
        base.__name__ == "DataFrame" and f"{base.__module__}.".startswith(f"{package}.") for base in type(frame).__mro__
    )


def _from_pandas(frame: Any, spark: SparkSession, *, typed: bool) -> DataFrame:
    """By way of Arrow: pyspark's own conversion makes a missing string 'nan', and decimals wider than they are.

    Missing values become NULL, whatever pandas keeps them as; the index is dropped.
    """
    try:
        import pyarrow
    except ImportError as error:
        raise DbtRuntimeError(
            "dbt_cdc: a model that returns a pandas DataFrame needs pyarrow:\n  pip install pyarrow"
        ) from error
    try:
        table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
        # Arrow's first sentence shows a value, which may be sensitive
        raise DbtRuntimeError(
            f"model() returned a pandas DataFrame with values that Arrow makes no column of ({error.args[-1]});"
            " expected values of one type that Spark has: convert the column in the model."
        ) from None
    null = pyarrow.string() if typed else pyarrow.null()
    table = table.cast(pyarrow.schema([field.with_type(_spark_type(field.type, null)) for field in table.schema]))
    ntz = spark.conf.get("spark.sql.timestampType") == "TIMESTAMP_NTZ"
    if not ntz:
        zone = str(spark.conf.get("spark.sql.session.timeZone"))
        table = pyarrow.table([_in_zone(column, zone) for column in table.columns], names=table.column_names)
    # pyspark 3.5 takes no table; over Connect, an empty one needs its schema said
    takes_it = table.num_rows and not _is_pyspark_3()
    return spark.createDataFrame(table) if takes_it else _by_rows(table, spark, ntz)


def _by_rows(table: Any, spark: SparkSession, ntz: bool) -> DataFrame:
    """An Arrow table as Python rows and a schema; `ntz`: timestamps without a zone stay so."""
    from pyspark.sql.pandas.types import from_arrow_schema

    columns = [column.to_pylist() for column in table.columns]
    return spark.createDataFrame(list(zip(*columns, strict=True)), from_arrow_schema(table.schema, ntz))


def _in_zone(column: Any, zone: str) -> Any:
    """Timestamps as instants; one without a zone is in the session's.

    Where clocks are put back it is the earlier of two, where they are put forward the end of the missing hour.
    """
    from pyarrow import ArrowInvalid, compute, timestamp, types

    if not types.is_timestamp(column.type):
        return column
    column = column.cast(timestamp("us", column.type.tz), safe=False)
    if column.type.tz is not None:
        return column
    try:
        return compute.assume_timezone(column, _as_arrow_has_it(zone), ambiguous="earliest", nonexistent="latest")
    except ArrowInvalid:
        raise DbtRuntimeError(
            "model() returned a pandas DataFrame with times without a zone, which are in the session's, and Arrow does"
            f" not know spark.sql.session.timeZone {zone}: give it a whole name, such as Asia/Tokyo."
        ) from None


def _as_arrow_has_it(zone: str) -> str:
    """Spark's other spellings of a zone: ``Z``, and an offset such as ``+2``, ``GMT+2`` or ``UTC-05:30``."""
    if zone == "Z":
        return "UTC"
    offset = re.fullmatch(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?", zone)
    return "{}{:0>2}:{}".format(offset[1], offset[2], offset[3] or "00") if offset else zone


def _spark_type(kind: Any, null: Any) -> Any:
    """Spark has no unsigned integers and half floats: the next wider type holds their values.

    `null`: for columns without a type, such as pandas 2 makes of a text column without rows. The same holds for what is
    in lists, structs, maps and categories.
    """
    import pyarrow
    from pyarrow import types

    if types.is_dictionary(kind):
        return _spark_type(kind.value_type, null)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pyarrow.list_(_spark_type(kind.value_type, null))
    if types.is_map(kind):
        return pyarrow.map_(_spark_type(kind.key_type, null), _spark_type(kind.item_type, null))
    if types.is_struct(kind):
        return pyarrow.struct([field.with_type(_spark_type(field.type, null)) for field in kind])
    replaced = {
        pyarrow.null(): null,
        pyarrow.uint8(): pyarrow.int16(),
        pyarrow.uint16(): pyarrow.int32(),
        pyarrow.uint32(): pyarrow.int64(),
        pyarrow.uint64(): pyarrow.decimal128(20, 0),
        pyarrow.float16(): pyarrow.float32(),
    }
    return replaced.get(kind, kind)


@contextmanager
def viewed(frame: DataFrame) -> Iterator[str]:
    """The name of a temporary view of the frame, this thread's own.

    It is emptied in the end and not dropped: where a view goes while dbt-spark lists a schema, Spark gives an error,
    which dbt-spark takes for a schema without tables.
    """
    name = f"dbt_cdc_{threading.get_ident()}"
    frame.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        with suppress(Exception):  # of a session that is gone: why it went is the error to tell
            frame.sparkSession.range(0).createOrReplaceTempView(name)


def kept_on_disk(frame: DataFrame) -> DataFrame:
    """The frame's rows on the executors' disks, from the first action that needs them.

    `persist`, which pyspark 3.5 is left with, has frames planned anew whenever a table that they read is written, or a
    frame that they come from is let go. An executor that is lost takes its rows along, and so fails the run.
    """
    from pyspark import StorageLevel

    if _is_pyspark_3():
        return frame.persist(StorageLevel.DISK_ONLY)
    return frame.localCheckpoint(eager=False, storageLevel=StorageLevel.DISK_ONLY)


def release(kept: DataFrame) -> None:
    """Free the disk at once; over Spark Connect the server does so when the frame is no longer referred to.

    It can fail where the session is gone, and is then no failure of the load, nor hides why that failed.
    """
    with suppress(Exception):
        if _is_pyspark_3():
            kept.unpersist()
        elif hasattr(kept, "_jdf"):
            kept._jdf.queryExecution().analyzed().rdd().unpersist(False)


def _is_pyspark_3() -> bool:
    import pyspark

    return bool(pyspark.__version__.startswith("3."))

"""What a Python model may return, as a Spark DataFrame."""

from __future__ import annotations

from typing import Any

from dbt_common.exceptions import DbtRuntimeError


def to_spark(frame: Any, spark: Any) -> Any:
    """A Spark (classic or Connect), pandas-on-Spark or pandas frame as a Spark DataFrame.

    Told apart by the classes' names: none of the libraries need be installed for the others to work.
    """
    if _is_frame_of(frame, "pyspark.sql"):
        return frame
    if _is_frame_of(frame, "pyspark.pandas"):
        return frame.to_spark()
    if _is_frame_of(frame, "pandas"):
        return _from_pandas(frame, spark)
    kind = type(frame)
    raise DbtRuntimeError(
        f"model() returned {'None' if frame is None else f'a {kind.__module__}.{kind.__qualname__}'};"
        " expected a Spark, pandas-on-Spark or pandas DataFrame."
    )


def _is_frame_of(frame: Any, package: str) -> bool:
    return any(
        base.__name__ == "DataFrame" and f"{base.__module__}.".startswith(f"{package}.") for base in type(frame).__mro__
    )


def _from_pandas(frame: Any, spark: Any) -> Any:
    """By way of Arrow: pyspark's own conversion makes a missing string 'nan', and decimals wider than they are.

    Missing values become NULL, whatever pandas keeps them as; the index is dropped.
    """
    import pyspark

    if int(pyspark.__version__.split(".")[0]) < 4:  # takes no Arrow tables
        return spark.createDataFrame(frame)
    try:
        import pyarrow
    except ImportError as error:
        raise DbtRuntimeError(
            "dbt_cdc: a model that returns a pandas DataFrame needs pyarrow:\n  pip install pyarrow"
        ) from error
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    table = table.cast(pyarrow.schema([_with_sign(field, pyarrow) for field in table.schema]))
    if table.num_rows:
        return spark.createDataFrame(table)
    from pyspark.sql.pandas.types import from_arrow_schema

    # Over Connect, an empty table needs its schema said.
    return spark.createDataFrame([], from_arrow_schema(table.schema))


def _with_sign(field: Any, pyarrow: Any) -> Any:
    """Spark has no unsigned integers: the next wider type with a sign holds their values."""
    wider = {
        pyarrow.uint8(): pyarrow.int16(),
        pyarrow.uint16(): pyarrow.int32(),
        pyarrow.uint32(): pyarrow.int64(),
        pyarrow.uint64(): pyarrow.decimal128(20, 0),
    }
    return field.with_type(wider.get(field.type, field.type))

"""The command ``python -m dbt_cdc.synthetic``: an initial and an incremental load as files or tables.

Session settings (master, jars, ``SPARK_REMOTE``) come from the environment or from ``spark-submit``.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt_cdc import synthetic
from dbt_cdc.synthetic._checks import raise_faults
from dbt_cdc.synthetic._loads import incremental_faults, shape_of
from dbt_cdc.synthetic._series import Series

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMATS = ("csv", "parquet", "orc", "json", "delta", "iceberg")
_SHARES = ("pct_del", "pct_upd", "pct_unchanged")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write both loads; 0 when they are written, 2 when the arguments do not fit."""
    options = _parser().parse_args(arguments)
    series = {name: getattr(options, name) for name in ("no_init_recs", "no_incr_recs", *_SHARES)}
    columns = synthetic.Columns(tuple(options.type or ("double",)), options.null_share, options.skew)
    same = {"no_keys": options.no_keys, "no_nonkeys": options.no_nonkeys, "seed": options.seed, "columns": columns}
    try:
        shape = shape_of(options.no_keys, options.no_nonkeys, options.seed)
        faults = incremental_faults(Series(*series.values()), options.load, shape, columns)
        if options.header and options.format != "csv":
            faults = [*faults, f"--header is for csv, got --format {options.format}"]
        if options.format == "iceberg":
            outputs = (options.initial_output, options.incremental_output)
            faults += [f"--format iceberg takes names of tables, got {name}" for name in outputs if "/" in name]
        raise_faults("the command", [*faults, *_folder_faults(options.initial_output, options.incremental_output)])
        _write_both(options, series, same)
    except synthetic.SyntheticError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _folder_faults(*outputs: str) -> list[str]:
    """Outputs of which one would overwrite the other: the same folder or name, or a folder in the other."""
    first, later = (Path(output.removeprefix("file:")).resolve() for output in outputs)
    return [_same(outputs)] if first.is_relative_to(later) or later.is_relative_to(first) else []


def _table_faults(spark: SparkSession, *outputs: str) -> list[str]:
    """Two names of one table, which may lack their catalog and schema."""
    place = [spark.catalog.currentCatalog(), spark.catalog.currentDatabase()]
    first, later = ([*place[: 2 - output.count(".")], *output.split(".")] for output in outputs)
    same = [part.lower() for part in first] == [part.lower() for part in later]
    return [_same(outputs)] if same else []


def _same(outputs: tuple[str, ...]) -> str:
    return f"initial_output and incremental_output must differ, neither in the other, got {' and '.join(outputs)}"


def _write_both(options: argparse.Namespace, series: dict[str, Any], same: dict[str, Any]) -> None:
    from pyspark.sql import SparkSession

    ours, outputs = SparkSession.getActiveSession() is None, (options.initial_output, options.incremental_output)
    builder = SparkSession.builder.appName("dbt_cdc.synthetic")
    are_tables = any(_is_table(output, options.format) for output in outputs)
    # a table outlives the command in a catalog that does
    spark = (builder.enableHiveSupport() if are_tables else builder).getOrCreate()
    try:
        raise_faults("the command", _table_faults(spark, *outputs) if are_tables else [])
        first = synthetic.initial(spark, no_init_recs=options.no_init_recs, **same)
        _write(first, options.initial_output, options)
        print(f"{options.initial_output}: {options.no_init_recs} rows")
        later = synthetic.incremental(spark, **series, **same, load=options.load)
        _write(later, options.incremental_output, options)
        done = synthetic.counts(**series, load=options.load)
        print(
            f"{options.incremental_output}: {options.no_incr_recs} rows: {done.inserted} new, {done.updated} updated, "
            f"{done.unchanged} unchanged ({done.deleted} deleted)"
            + (f" beside load {options.load - 1}, which is not written" if options.load > 1 else "")
        )
    finally:
        if ours:
            spark.stop()


def _write(frame: DataFrame, output: str, options: argparse.Namespace) -> None:
    """A folder or table; raises if Spark lacks the format's jars."""
    try:
        _write_as(frame, output, options)
    except Exception as problem:
        if not re.search(r"DATA_SOURCE_NOT_FOUND|ClassNotFound", str(problem).partition("JVM stacktrace")[0]):
            raise
        lacking = "this Spark has no such data source, give it the format's jars (spark.jars.packages)"
        raise synthetic.SyntheticError("the command", [f"--format {options.format}: {lacking}"]) from problem


def _write_as(frame: DataFrame, output: str, options: argparse.Namespace) -> None:
    """A folder; for `iceberg`, and for a `delta` output `schema.table`, a table. What is there is replaced."""
    if _is_table(output, options.format):
        frame.writeTo(output).using(options.format).createOrReplace()
        return
    writer = frame.write.mode("overwrite").format(options.format)
    if options.format == "csv":
        writer = writer.option("header", options.header)
    if options.format == "delta":
        writer = writer.option("overwriteSchema", "true")
    writer.save(output)


def _is_table(output: str, format_: str) -> bool:
    return format_ == "iceberg" or (format_ == "delta" and "." in output and "/" not in output)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m dbt_cdc.synthetic",
        description="Write an initial load and the load after it, with exact numbers of changes between them. "
        "Outputs that exist are replaced.",
    )
    parser.add_argument("no_init_recs", type=int, help="rows of the initial load")
    parser.add_argument("no_incr_recs", type=int, help="rows of the incremental load")
    parser.add_argument("no_keys", type=int, help="key columns (UUIDs)")
    parser.add_argument("no_nonkeys", type=int, help="non-key columns (random numbers)")
    parser.add_argument("pct_del", help="share of the initial rows that are missing later, 0 to 1")
    parser.add_argument("pct_upd", help="share whose non-keys all change")
    parser.add_argument("pct_unchanged", help="share that stays as it is; the three add up to 1")
    parser.add_argument("initial_output", help="folder; for --format iceberg a table, for delta also schema.table")
    parser.add_argument("incremental_output", help="the same, for the later load")
    parser.add_argument("--format", choices=FORMATS, default="csv", help="default: csv")
    parser.add_argument("--header", action="store_true", help="CSV files begin with the column names")
    parser.add_argument("--seed", type=int, default=0, help="other rows for another seed; default: 0")
    parser.add_argument("--load", type=int, default=1, help="which later load to write; default: 1")
    parser.add_argument("--type", action="append", help="type of the non-keys; given several times, by turns")
    parser.add_argument("--null-share", type=float, default=0.0, help="share of NULLs among the non-keys, up to 0.5")
    parser.add_argument("--skew", type=float, default=0.0, help="above 0, small values come more often")
    return parser


if __name__ == "__main__":
    sys.exit(main())

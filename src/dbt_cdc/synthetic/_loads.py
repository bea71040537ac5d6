"""Loads: an initial one and any number of later ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt_cdc.synthetic._checks import integer_faults, object_faults, raise_faults
from dbt_cdc.synthetic._columns import Columns, drawn, keys
from dbt_cdc.synthetic._series import MAX_LOAD, MAX_ROWS, Counts, Series, Share, mixed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Above this many rows, and unless told otherwise, a load is made in tasks of about `_ROWS_PER_TASK` rows.
_MANY_ROWS = 10_000_000
_ROWS_PER_TASK = 1_000_000

#: Least and most of the numbers that say how large a load is.
BOUNDS = {"no_init_recs": (1, MAX_ROWS), "no_incr_recs": (0, MAX_ROWS), "load": (1, MAX_LOAD)}

#: Bounds of whole numbers: name to (value, least, most).
Shape = dict[str, tuple[int, int, int | None]]


def initial(
    spark: SparkSession,
    *,
    no_init_recs: int,
    no_keys: int,
    no_nonkeys: int,
    seed: int = 0,
    columns: Columns = Columns(),  # noqa: B008 (frozen)
    num_partitions: int | None = None,
) -> DataFrame:
    """The first load: `no_init_recs` rows.

    Columns: ``keycol1 …`` (string, UUIDs), ``nonkeycol1 …`` (double from 0 to 1, or what `columns` says).

    Args:
        spark: The session.
        no_init_recs: Rows, 1 to 4,000,000,000.
        no_keys: Key columns, 1 to 10,000.
        no_nonkeys: Other columns, 0 to 10,000.
        seed: Another seed gives other rows.
        columns: What the non-keys hold.
        num_partitions: Tasks; without it Spark's own number, above 10 million rows one for each million. No row depends
            on it.

    Raises:
        SyntheticError: An argument is out of its bounds. The message lists all faults.
    """
    numbers: Shape = {"no_init_recs": (no_init_recs, *BOUNDS["no_init_recs"])}
    numbers |= shape_of(no_keys, no_nonkeys, seed, num_partitions)
    raise_faults("initial", [*integer_faults(numbers), *object_faults("columns", columns, Columns)])
    rows = range_of(spark, no_init_recs, num_partitions)
    numbered = rows.selectExpr(f"{mixed('id', no_init_recs, drawn(seed, 'order', 0))} as row", "0L as version")
    return numbered.selectExpr(*keys(no_keys, seed), *columns.nonkeys(no_nonkeys, seed))


def incremental(
    spark: SparkSession,
    *,
    no_init_recs: int,
    no_incr_recs: int,
    no_keys: int,
    no_nonkeys: int,
    pct_del: Share,
    pct_upd: Share,
    pct_unchanged: Share,
    seed: int = 0,
    load: int = 1,
    columns: Columns = Columns(),  # noqa: B008 (frozen)
    num_partitions: int | None = None,
) -> DataFrame:
    """The full extract after the `load`-th day of changes: `no_incr_recs` rows.

    Of the n rows of the load before (load 1: `no_init_recs`, later: `no_incr_recs`), floor(n * pct_del) keys are
    missing, floor(n * pct_upd) have other values in every non-key, the rest is as it was, and new keys fill up to
    `no_incr_recs`. Shares are taken as written (0.1 is one tenth) and must add up to exactly 1. A key that went does
    not come back. All loads of one series, the initial one included, take the same arguments but for `load` and
    `num_partitions`.

    Columns, and the arguments that are not named here, as in :func:`initial`.

    Raises:
        SyntheticError: An argument is out of its bounds, or counts and shares do not fit. The message lists all faults.
    """
    series = Series(no_init_recs, no_incr_recs, pct_del, pct_upd, pct_unchanged)
    shape = shape_of(no_keys, no_nonkeys, seed, num_partitions)
    raise_faults("incremental", incremental_faults(series, load, shape, columns))
    row = f"{series.start(load)}L + {mixed('id', no_incr_recs, drawn(seed, 'order', load))}"
    numbered = range_of(spark, no_incr_recs, num_partitions).selectExpr(f"{row} as row")
    versioned = numbered.selectExpr("row", f"{series.version(load, 'row')} as version")
    return versioned.selectExpr(*keys(no_keys, seed), *columns.nonkeys(no_nonkeys, seed))


def counts(
    *, no_init_recs: int, no_incr_recs: int, pct_del: Share, pct_upd: Share, pct_unchanged: Share, load: int = 1
) -> Counts:
    """How many rows :func:`incremental` inserts, updates, deletes and leaves, with the same arguments.

    Raises SyntheticError as :func:`incremental` does.
    """
    series = Series(no_init_recs, no_incr_recs, pct_del, pct_upd, pct_unchanged)
    raise_faults("incremental", incremental_faults(series, load, {"no_nonkeys": (1, 0, None)}, Columns()))
    return series.counts(load)


def incremental_faults(series: Series, load: int, shape: Shape, columns: Columns) -> list[str]:
    """Why a later load can't be made, one sentence each."""
    numbers = {
        "no_init_recs": (series.first, *BOUNDS["no_init_recs"]),
        "no_incr_recs": (series.later, *BOUNDS["no_incr_recs"]),
        **shape,
        "load": (load, *BOUNDS["load"]),
    }
    faults = [*integer_faults(numbers), *series.share_faults()]
    return [
        *faults,
        *([] if faults else series.misfits(shape["no_nonkeys"][0])),
        *object_faults("columns", columns, Columns),
    ]


def shape_of(no_keys: int, no_nonkeys: int, seed: int, num_partitions: int | None = None) -> Shape:
    """Bounds of what every load has."""
    return {
        "no_keys": (no_keys, 1, 10_000),
        "no_nonkeys": (no_nonkeys, 0, 10_000),
        "seed": (seed, -(2**63), 2**63 - 1),
        **({} if num_partitions is None else {"num_partitions": (num_partitions, 1, None)}),
    }


def range_of(spark: SparkSession, size: int, num_partitions: int | None) -> DataFrame:
    """`size` numbers as `id`."""
    if num_partitions is None and size > _MANY_ROWS:
        num_partitions = -(-size // _ROWS_PER_TASK)
    return spark.range(0, size, 1, num_partitions)

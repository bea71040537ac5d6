"""What hash_diff finds wrong in the data of a load, told in one error before the load is committed, and its counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dbt_cdc import _hash_diff_compare as comparison
from dbt_cdc._hash_diff_incoming import (
    CAST,
    FAULT,
    IS_BAD_CAST,
    IS_NULL_KEY,
    NULL_KEY,
    fault_text,
    kept_rows,
    key_text,
    row_text,
)
from dbt_cdc._hash_diff_layout import Layout, Settings, fail

if TYPE_CHECKING:  # pragma: no cover
    from pyspark.sql import DataFrame, SparkSession

#: A row that can be taken.
_IS_SOUND = f"{FAULT} is null"
#: A row that can be taken by itself, and has the key of another such row.
_IS_COPY = f"{_IS_SOUND} and {comparison.COPIES} > 1"


def check_first(rows: DataFrame, layout: Layout, settings: Settings) -> int:
    """The number of rows of a first load (keyhash, the data columns, FAULT); raises what is wrong with them."""
    from pyspark.sql.functions import expr

    kept = rows.where(kept_rows(settings))
    keys = kept.groupBy("keyhash").agg(
        expr("count(*)").alias("supplied"),
        expr(f"count_if({IS_NULL_KEY})").alias("nulls"),
        expr(f"count_if({IS_BAD_CAST})").alias("casts"),
        expr(f"count_if({_IS_SOUND})").alias("sound"),
    )
    totals = ("supplied", "nulls", "casts", "case when sound > 1 then sound end")
    supplied, nulls, casts, copies = keys.selectExpr(*[f"coalesce(sum({each}), 0)" for each in totals]).collect()[0]
    counted = kept.selectExpr("*", f"{comparison.SOUND_COPIES} as {comparison.COPIES}")
    _raise_bad_rows(counted, layout, settings, nulls=nulls, casts=casts, copies=copies)
    return int(supplied)


class Counts(NamedTuple):
    """What a load comes to: keys by operation, rows that are only removed, rows to write in all."""

    operations: dict[str, int]
    purged: int
    rows: int


def count_operations(rows: DataFrame, known: int, layout: Layout, settings: Settings) -> Counts:
    """Counts what a load writes; raises what is wrong with its rows.

    `rows`: what `changes` gives. `known`: the number of current rows before the load.
    """
    found = rows.selectExpr(
        *[f"count_if(operation = '{name}') as {name}" for name in ("I", "U", "D", "N", "P")],
        f"count_if({IS_NULL_KEY}) as nulls",
        f"count_if({IS_BAD_CAST}) as casts",
        f"count_if({_IS_COPY}) as copies",
        "count(*) as rows",
    ).collect()[0]
    _raise_bad_rows(rows, layout, settings, nulls=found.nulls, casts=found.casts, copies=found.copies)
    counts = {"I": found.I, "U": found.U, "D": found.D, "X": 0, "N": found.N}
    if settings.extract_type == "full":
        counts["N"] = known - counts["U"] - counts["D"]
    else:
        counts["X"] = known - counts["U"] - counts["N"]
    return Counts(counts, found.P, found.rows)


def check_deletes(deleted: int, known: int, again: DataFrame | None, settings: Settings) -> None:
    """Refuse a load that takes away more of the current rows than max_delete_fraction allows.

    `again`: what a load of a date that the tables have passed writes: current rows are those that they show by then.
    """
    limit = settings.max_delete_fraction
    if limit is None:
        return
    if again is not None:
        deleted, known = comparison.taken_away(again, settings)
    if deleted and deleted / known > limit:
        guarded = (
            f"the extract lacks {deleted} of {known} current rows ({deleted / known:.3f}), more than "
            f"max_delete_fraction ({limit}) allows. Check the extract, or raise max_delete_fraction for this run"
        )
        fail(settings.node, [guarded])


def check_past(spark: SparkSession, settings: Settings) -> None:
    """Refuse to take back loads where the history has lost what was there before them."""
    if comparison.has_lost_its_past(spark, settings):
        lost = (
            f"{settings.history} does not have what some keys were before {settings.effective_date}: its older "
            "partitions were removed, so that this date can't be loaded again. Load a later date, or start anew with "
            "--full-refresh"
        )
        fail(settings.node, [lost])


def _raise_bad_rows(rows: DataFrame, layout: Layout, settings: Settings, **counts: int) -> None:
    """One error for all rows that can't be taken, some of each kind shown; `rows` has keyhash, FAULT and COPIES."""
    null_key = f"concat({fault_text(NULL_KEY)}, ' in ', {row_text(layout)})"
    copied = f"concat({key_text(layout)}, ' ', {comparison.COPIES}, ' times')"
    once = "" if settings.deduplicate else "; deduplicate: true counts identical rows once"
    # kind: which rows, how one is shown, what is wrong, what to do
    kinds = {
        "nulls": (
            IS_NULL_KEY,
            null_key,
            "{} row(s) have NULL in a key part",
            "Give every row a whole key, or filter these out in the model",
        ),
        "casts": (
            IS_BAD_CAST,
            fault_text(CAST),
            "{} row(s) have a value that does not cast",
            "Mend the data or the data_type, or set on_cast_error: rejects",
        ),
        "copies": (
            _IS_COPY,
            copied,
            "{} rows share their key with another row",
            f"Supply each key once{once}",
        ),
    }
    faults = []
    for kind, (where, shown, problem, remedy) in kinds.items():
        if counts[kind]:
            some = rows.where(where).selectExpr(f"{shown} as shown").distinct().orderBy("shown").limit(5).collect()
            faults.append(f"{problem.format(counts[kind])}: {'; '.join(row.shown for row in some)}. {remedy}")
    fail(settings.node, faults)

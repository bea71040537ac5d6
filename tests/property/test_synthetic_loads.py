"""Successive loads have exactly the changes that were asked for, whatever the numbers."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from dbt_cdc import synthetic

pytestmark = pytest.mark.one_format("delta")

COLUMNS = synthetic.Columns(types=("double", "boolean", "string"), null_share=0.5, skew=1.5)


@st.composite
def series(draw: st.DrawFn) -> dict[str, Any]:
    """Arguments that fit: shares in thousandths that add up to one, as a person would write them."""
    deleted = draw(st.integers(0, 1000))
    updated = draw(st.integers(0, 1000 - deleted))
    first = draw(st.integers(1, 60))
    least = first - first * deleted // 1000
    shares = (deleted, updated, 1000 - deleted - updated)
    pct_del, pct_upd, pct_unchanged = (draw(st.sampled_from([float, str]))(share / 1000) for share in shares)
    return {
        "no_init_recs": first,
        "no_incr_recs": draw(st.integers(least, least + 60)),
        "pct_del": pct_del,
        "pct_upd": pct_upd,
        "pct_unchanged": pct_unchanged,
        "no_keys": draw(st.integers(1, 2)),
        "no_nonkeys": draw(st.integers(1, 3)),
        "seed": draw(st.integers(-3, 3)),
        "columns": draw(st.sampled_from([synthetic.Columns(), COLUMNS])),
    }


@settings(max_examples=60, deadline=None, derandomize=True)
@given(arguments=series(), partitions=st.integers(1, 5))
def test_every_load_deletes_updates_keeps_and_inserts_exactly_its_share_of_the_load_before(
    spark: SparkSession, arguments: dict[str, Any], partitions: int
) -> None:
    first = {name: arguments[name] for name in ("no_init_recs", "no_keys", "no_nonkeys", "seed", "columns")}
    frames = [synthetic.initial(spark, **first, num_partitions=partitions)]
    frames += [synthetic.incremental(spark, **arguments, load=load) for load in (1, 2, 3)]
    loads = rows(frames, arguments["no_keys"])
    gone: set[tuple[Any, ...]] = set()
    for before, after in pairwise(loads):
        total = len(before)
        deleted = total * Fraction(str(arguments["pct_del"])) // 1
        updated = total * Fraction(str(arguments["pct_upd"])) // 1
        assert len(after) == arguments["no_incr_recs"]
        assert len(before.keys() - after.keys()) == deleted
        kept = before.keys() & after.keys()
        changed = {key for key in kept if all(a != b for a, b in zip(before[key], after[key], strict=True))}
        assert len(changed) == updated
        assert all(before[key] == after[key] for key in kept - changed)
        gone |= before.keys() - after.keys()
        assert not gone & after.keys()


def rows(frames: list[DataFrame], no_keys: int) -> list[dict[tuple[Any, ...], tuple[Any, ...]]]:
    """The rows of each frame by their keys, of which there are no two alike."""
    numbered = [frame.selectExpr(f"{number} as frame", "*") for number, frame in enumerate(frames)]
    by_key: list[dict[tuple[Any, ...], tuple[Any, ...]]] = [{} for _ in frames]
    for number, *row in reduce(DataFrame.unionByName, numbered).collect():
        assert tuple(row[:no_keys]) not in by_key[number]
        by_key[number][tuple(row[:no_keys])] = tuple(row[no_keys:])
    return by_key

"""A change feed is well formed, as disorderly as asked, and its truth is what plain Python makes of its events."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from dbt_cdc.synthetic import Columns, Disorder, Feed, SyntheticError, _feed, change_feed

SIZES: dict[str, Any] = {"no_recs": 40, "no_events": 600, "no_keys": 2, "no_nonkeys": 3, "batches": 5}
MESSY = Disorder(late="0.05", duplicates=0.1, out_of_order=0.2, deletes=0.2)


def by_key(events: list[Row]) -> dict[tuple[str, str], list[Row]]:
    """Events of each key by sequence; an event that was delivered twice counts once."""
    grouped: dict[tuple[str, str], dict[int, Row]] = defaultdict(dict)
    for event in events:
        grouped[(event.keycol1, event.keycol2)][event.sequence] = event
    return {key: [found[sequence] for sequence in sorted(found)] for key, found in grouped.items()}


@pytest.mark.parametrize("hot", [0, 2.5])
@pytest.mark.parametrize("seed", [0, 7])
def test_the_truth_is_what_the_events_leave_behind(spark: SparkSession, hot: float, seed: int) -> None:
    disorder = Disorder(late=0.05, duplicates=0.1, out_of_order=0.2, deletes=0.2, hot=hot)
    columns = Columns(types=("int", "string", "boolean"), null_share=0.3)
    feed = change_feed(spark, **SIZES, seed=seed, disorder=disorder, columns=columns)
    grouped = by_key(feed.events.collect())
    state, history = set(), set()
    for key, events in grouped.items():
        assert events[0].op == "I"
        for event, following in zip(events, [*events[1:], None], strict=True):
            assert following is None or (event.op == "D") == (following.op == "I")
            values = (*key, event.nonkeycol1, event.nonkeycol2, event.nonkeycol3)
            if event.op == "D":
                assert values[2:] == (None, None, None)
                continue
            history.add((*values, event.sequence, following.sequence if following else None))
            if following is None:
                state.add(values)
    assert {tuple(row) for row in feed.state.collect()} == state
    assert {tuple(row) for row in feed.history.collect()} == history
    assert 0 < len(state) < len(grouped) <= 40
    if hot:
        assert max(map(len, grouped.values())) > 5 * 600 / 40
    else:
        assert {len(events) for events in grouped.values()} == {15}


def test_columns_have_the_documented_names_and_types(spark: SparkSession) -> None:
    feed = change_feed(spark, no_recs=3, no_events=9, no_keys=1, no_nonkeys=1)
    row = [("keycol1", "string"), ("nonkeycol1", "double")]
    meta = [("op", "string"), ("sequence", "bigint"), ("batch", "int"), ("arrival", "bigint")]
    assert feed.events.dtypes == meta + row
    assert feed.state.dtypes == row
    assert feed.history.dtypes == [*row, ("start_at", "bigint"), ("end_at", "bigint")]


def test_as_many_events_are_late_and_twice_as_asked_and_the_rest_is_in_order(spark: SparkSession) -> None:
    events = change_feed(spark, **SIZES, disorder=MESSY).events.collect()
    width = 2**50 // 5
    assert len(events) == 660
    delivered = Counter((event.keycol1, event.sequence) for event in events)
    assert Counter(delivered.values()) == {1: 540, 2: 60}
    first: dict[tuple[str, int], Row] = {}
    for event in sorted(events, key=lambda e: e.arrival):
        first.setdefault((event.keycol1, event.sequence), event)
    # of 600 first deliveries 30 are late and 120 others out of order
    assert sum(event.arrival == event.sequence for event in events) == 450
    assert {event.batch for event in events} == {1, 2, 3, 4, 5}
    assert all(event.batch == min(5, 1 + (event.arrival - 1) // width) for event in events)
    assert any(event.batch > 1 + (event.sequence - 1) // width for event in first.values())
    once = change_feed(spark, **SIZES, disorder=Disorder(late="0.05", out_of_order=0.2)).events.collect()
    delays = [event.arrival - event.sequence for event in once]
    assert len(delays) == 600
    assert sum(width <= delay < 3 * width for delay in delays) == 30
    assert sum(0 < delay <= width // 2 for delay in delays) == 120


def test_an_orderly_feed_arrives_as_it_happened(spark: SparkSession) -> None:
    events = change_feed(spark, **SIZES, disorder=Disorder(deletes=0)).events.collect()
    assert len(events) == 600
    assert all(event.arrival == event.sequence for event in events)
    assert {event.op for event in events} == {"I", "U"}


def collected(feed: Feed) -> list[list[tuple[Any, ...]]]:
    """Sorted rows of events, state and history."""
    frames = (feed.events, feed.state, feed.history)
    return [sorted((tuple(row) for row in frame.collect()), key=repr) for frame in frames]


def test_the_same_feed_for_the_same_seed_only_whatever_the_partitioning(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns, found = Columns(types=("double", "int", "string"), null_share=0.3), {}
    for partitions, seed in ((1, 1), (2, 1), (7, 1), (1, 2)):
        monkeypatch.setattr(_feed, "range_of", lambda spark, size, _, tasks=partitions: spark.range(0, size, 1, tasks))
        feed = change_feed(spark, **SIZES, seed=seed, disorder=replace(MESSY, hot=1), columns=columns)
        assert feed.events.rdd.getNumPartitions() == partitions
        found[partitions, seed] = collected(feed)
    assert found[1, 1] == found[2, 1] == found[7, 1]
    assert not set(found[1, 1][0]) & set(found[1, 2][0])


def test_whoever_keeps_the_greatest_sequence_has_the_state_after_the_last_batch_in_any_order_of_batches(
    spark: SparkSession,
) -> None:
    feed = change_feed(spark, **SIZES, seed=3, disorder=replace(MESSY, late=0.2, hot=1))
    events, state = feed.events.collect(), sorted(tuple(row) for row in feed.state.collect())
    for batches in ((1, 2, 3, 4, 5), (5, 4, 3, 2, 1), (3, 1, 5, 2, 4, 3)):
        kept: dict[tuple[str, str], Row] = {}
        for batch in batches:
            for event in sorted((e for e in events if e.batch == batch), key=lambda e: e.arrival):
                key = (event.keycol1, event.keycol2)
                if key not in kept or event.sequence > kept[key].sequence:
                    kept[key] = event
        rows = [(*key, e.nonkeycol1, e.nonkeycol2, e.nonkeycol3) for key, e in kept.items() if e.op != "D"]
        assert sorted(rows) == state
    # what came last is not always what happened last
    last = {(e.keycol1, e.keycol2): e for e in sorted(events, key=lambda e: e.arrival)}
    assert sum(last[key].sequence < event.sequence for key, event in kept.items()) > 3


def test_arguments_that_do_not_fit_are_refused_all_at_once() -> None:
    no_session: Any = None
    with pytest.raises(SyntheticError) as error:
        change_feed(
            no_session,
            no_recs=0,
            no_events=5,
            no_nonkeys=0,
            batches=0,
            disorder=Disorder(late=2, duplicates=-1, out_of_order="x", deletes=0.3, hot=11),
        )
    assert [line.split()[1] for line in str(error.value).splitlines()[1:]] == [
        "no_recs",
        "batches",
        "no_nonkeys",
        "late",
        "duplicates",
        "out_of_order",
        "deletes",
        "hot",
    ]
    assert list(Disorder(late=0.5, out_of_order="0.6").faults()) == [
        "late + out_of_order must be at most 1, got 0.5 + 0.6"
    ]

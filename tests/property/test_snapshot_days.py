"""Any series of days gives the records that an oracle writes down: strategies, deletes, returns, keys of two columns.

Hypothesis draws what the source holds of a few keys, day by day; all of it lies in one table, each history under its own
number. Every snapshot reads that table in one run a day.

    DBT_CDC_DAYS=3000 pytest tests/property/test_snapshot_days.py --table-format iceberg

(default 100 histories; new ones on each such run)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pytest
import yaml
from hypothesis import strategies as st

from tests.support.drawn import asked_for, carried, draw
from tests.support.project import Project
from tests.support.snapshots import SOURCES, check_times, snapshot

VARIABLE = "DBT_CDC_DAYS"
HISTORIES = asked_for(VARIABLE, 100)
DAYS = 4
#: the day from which on the source has the column `w`
WIDENED = 3
ON = {"dbt_cdc": {"operational_metadata": True}}
UPDATED = datetime(2024, 1, 1)

State = dict[Hashable, tuple[Any, ...]]

#: v, w, and hours from UPDATED: 20 years on, the source's clock is ahead of the run's
rows = st.tuples(
    st.sampled_from([None, "", "a", "b"]),
    st.sampled_from([None, 1]),
    st.sampled_from([1, 2, 3, 4, 200_000, 200_001]),
)
days = st.lists(st.dictionaries(st.sampled_from(["", "a"]), st.one_of(rows, st.none())), min_size=DAYS, max_size=DAYS)


class Rules(NamedTuple):
    """What a snapshot is told."""

    strategy: str
    hard_deletes: str
    check: tuple[int, ...] | None = None  # places of the checked columns; None: all
    high: bool = False


SNAPSHOTS = {
    "check_ignore": Rules("check", "ignore", check=(0,)),
    "check_invalidate": Rules("check", "invalidate"),
    "check_new_record": Rules("check", "new_record", high=True),
    "time_ignore": Rules("timestamp", "ignore", high=True),
    "time_invalidate": Rules("timestamp", "invalidate"),
    "time_new_record": Rules("timestamp", "new_record"),
}


class Record(NamedTuple):
    """What one record of a key must be; `hours` is the updated_at that it carries."""

    values: tuple[Any, ...]
    hours: int
    written: int
    closed: int | None = None
    deleted: bool = False


def records(states: list[State], rules: Rules) -> Iterator[tuple[Hashable, Record]]:
    """All records of all keys, as they are written down day by day."""
    for key in {key for state in states for key in state}:
        kept: list[Record] = []
        for day, state in enumerate(states, 1):
            one_day(kept, state.get(key), day, rules)
        yield from ((key, record) for record in kept)


def one_day(kept: list[Record], row: tuple[Any, ...] | None, day: int, rules: Rules) -> None:
    is_open = bool(kept) and kept[-1].closed is None
    if row is None:
        if is_open and not kept[-1].deleted and rules.hard_deletes != "ignore":
            kept[-1] = kept[-1]._replace(closed=day)
            if rules.hard_deletes == "new_record":
                kept.append(kept[-1]._replace(written=day, closed=None, deleted=True))
        return
    values, hours = row[:2], row[2]
    if is_open:
        if not kept[-1].deleted and not has_changed(kept[-1], values, hours, day, rules):
            return
        kept[-1] = kept[-1]._replace(closed=day)
    kept.append(Record(values, hours, day))


def has_changed(record: Record, values: tuple[Any, ...], hours: int, day: int, rules: Rules) -> bool:
    if rules.strategy == "timestamp":
        return hours > record.hours
    if rules.check is None:
        # dbt: a column that all columns did not have before is a change of every row
        return day == WIDENED or (*record.values, record.hours) != (*values, hours)
    return any(record.values[place] != values[place] for place in rules.check)


def draw_days() -> list[State]:
    """The source's rows day by day."""
    drawn = [list(supplied(number, history)) for number, history in enumerate(draw(days, VARIABLE, HISTORIES))]
    return [{key: row for states in drawn for key, row in states[day].items()} for day in range(DAYS)]


def supplied(number: int, history: list[dict[str, Any]]) -> Iterator[State]:
    """The rows of one history."""
    for day, rows in enumerate(carried(history), 1):
        yield {(number, part): (v, w if day >= WIDENED else None, hours) for part, (v, w, hours) in rows.items()}


@pytest.mark.one_format("iceberg")
def test_snapshots_hold_the_records_that_the_days_ask_for(project: Project) -> None:
    project.write({"models/sources.yml": SOURCES, "snapshots/s.yml": yaml.safe_dump({"snapshots": list(entries())})})
    states = draw_days()
    runs: dict[str | None, int | None] = {None: None}
    times = {}
    for day, state in enumerate(states, 1):
        supply(project, state, day)
        began = datetime.now()
        run = snapshot(project)
        runs[run], times[run] = day, (began, datetime.now())
        if day == DAYS:  # the last day again
            snapshot(project)
    for name, rules in SNAPSHOTS.items():
        expected = [(*key, *record) for key, record in records(states, rules)]  # type: ignore[misc]
        got = list(found(project, name, rules, runs))
        wrong = {row[0] for row in set(got) ^ set(expected)}
        first = min(wrong, default=None)
        assert first is None, f"{name}: {[{k: r for k, r in state.items() if k[0] == first} for state in states]}"  # type: ignore[index]
        assert len(got) == len(expected) > HISTORIES
        check_times(project, name, times, datetime(9999, 1, 1) if rules.high else None)
    project.dbt("test")


def entries() -> Iterator[dict[str, Any]]:
    for name, rules in SNAPSHOTS.items():
        config: dict[str, Any] = {"unique_key": ["number", "part"], "hard_deletes": rules.hard_deletes, "meta": ON}
        if rules.strategy == "timestamp":
            config |= {"strategy": "timestamp", "updated_at": "updated_at"}
        else:
            config |= {"strategy": "check", "check_cols": ["v"] if rules.check else "all"}
        if rules.high:
            config["dbt_valid_to_current"] = "to_timestamp('9999-01-01')"
        tests = [{"dbt_cdc.no_overlapping_versions": {"arguments": {"unique_key": config["unique_key"]}}}]
        yield {"name": name, "relation": "source('raw', 'things')", "config": config, "data_tests": tests}


def supply(project: Project, state: State, day: int) -> None:
    rows = [(*key, v, w, UPDATED + timedelta(hours=hours)) for key, (v, w, hours) in sorted(state.items())]  # type: ignore[misc]
    frame = project.spark.createDataFrame(rows, "number int, part string, v string, w int, updated_at timestamp")
    frame = (frame if day >= WIDENED else frame.drop("w")).coalesce(1)
    frame.writeTo(f"{project.schema}.things").using(project.file_format).createOrReplace()


def found(project: Project, name: str, rules: Rules, runs: dict[str | None, int | None]) -> Iterator[tuple[Any, ...]]:
    """The snapshot's records as the oracle writes them: runs by their day."""
    deleted = "dbt_is_deleted = 'True'" if rules.hard_deletes == "new_record" else "false"
    query = (
        f"select number, part, v, w, updated_at, insert_process_id, update_process_id, {deleted} from {{schema}}.{name}"
    )
    for number, part, v, w, updated_at, written, closed, is_deleted in project.rows(query):
        hours = (updated_at - UPDATED) // timedelta(hours=1)
        yield number, part, (v, w), hours, runs[written], runs[closed], is_deleted

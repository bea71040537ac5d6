"""Any series of loads gives the tables that an oracle replays: full and delta, dates again, older dates, runs that were killed.

Hypothesis draws what each load supplies of a few keys; all those histories lie in one table, each under its own number, so
that one load is one of every history. Dates and extracts of the series are drawn, too; every second run is killed, each at another step.

    DBT_CDC_LOAD_HISTORIES=5000 pytest tests/property/test_hash_diff_loads.py --table-format iceberg

(default 100; the series follows from the number, the histories are new on each such run)
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st

import dbt_cdc
from dbt_cdc import _hash_diff_checks as checks
from dbt_cdc._hash_diff_history import History
from dbt_cdc._hash_diff_load import Load
from dbt_cdc._hash_diff_tables import Tables
from tests.support.drawn import asked_for, carried, draw
from tests.support.hash_diff import Killed, Model, kill
from tests.support.loads_oracle import Given, Kept, Row, in_effect, replay
from tests.support.project import Project

VARIABLE = "DBT_CDC_LOAD_HISTORIES"
HISTORIES = asked_for(VARIABLE, 100)
COLUMNS = ["v string", "d double", "s struct<x: int, y: array<string>>", "secret string", "seen int", "extra string"]
NAMES = [column.split()[0] for column in COLUMNS]
#: the load from which on the data have `extra`, and one that lacks it again
WIDENED, NARROW = 3, 6
#: Where load 1, 3, 5 … dies, before it or right after it; until it has merged, the tables are those of the loads before it.
STEPS: list[tuple[type | ModuleType, str]] = [
    (checks, "count_operations"),
    (Tables, "remember"),  # of the load that has a new column
    (Load, "_write_sensitive"),
    (Load, "_merge"),
    (Load, "_create_model"),
    (History, "_write"),
]
#: one undisturbed load before and one after each that is killed
LOADS = 2 * len(STEPS) + 1

values = st.tuples(
    st.sampled_from([None, "", "NULL", '"']),
    st.sampled_from([None, 0.0, -0.0, float("nan")]),
    st.sampled_from([None, (None, None), (1, ()), (1, (None,))]),
    st.sampled_from([None, "p", "q"]),
    st.sampled_from([None, 1, 2]),
    st.sampled_from([None, "", "x"]),
)
#: often what the load before supplied (None), so that rows stay as they are
supplies = st.dictionaries(st.sampled_from(["", "a", "NULL"]), st.one_of(values, st.none(), st.none()))
series = st.lists(supplies, min_size=LOADS, max_size=LOADS)

#: table: what its model says of the columns
MODELS: dict[str, dict[str, Any]] = {
    "compared": {},
    "apart": {
        "ignore_columns": ["seen"],
        "sensitive_columns": ["secret"],
        "hash_algorithm": "xxhash64",
        "deduplicate": True,
    },
}


class Step(NamedTuple):
    """One load of the series, and where its run is killed, if it is."""

    day: int
    extract: str
    kill: tuple[type | ModuleType, str, bool] | None


def draw_series(table: str) -> Iterator[Step]:
    """The first load is whole; after it dates come again and go back. What kills one table's run before a step, kills the other's after it."""
    chance = random.Random(HISTORIES)
    last = 1
    yield Step(last, "full", None)
    for number in range(1, LOADS):
        day = max(2, last + chance.choice([-1, 0, 1, 1, 2]))
        step, killed = divmod(number, 2)
        after = (step + list(MODELS).index(table)) % 2 == 1
        yield Step(day, chance.choice(["full", "delta"]), (*STEPS[step], after) if killed else None)
        last = max(last, day)


def has_extra(number: int) -> bool:
    return number >= WIDENED and number != NARROW


def draw_histories() -> list[list[dict[str, Any]]]:
    """For each history and load, the rows that are supplied, by the key's part."""
    return [list(supplied(history)) for history in draw(series, VARIABLE, HISTORIES)]


def supplied(history: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for number, rows in enumerate(carried(history)):
        yield rows if has_extra(number) else {part: (*row[:-1], None) for part, row in rows.items()}


def given_rows(histories: list[list[dict[str, Any]]], number: int) -> list[tuple[Any, ...]]:
    """Load `number` of all histories; an empty part of a key is '', which is a key like any other."""
    return [
        (history, part, *row) for history, loads in enumerate(histories) for part, row in sorted(loads[number].items())
    ]


@pytest.mark.parametrize(
    "table",
    [
        pytest.param("compared", marks=pytest.mark.one_format("iceberg")),
        pytest.param("apart", marks=pytest.mark.one_format("delta")),
    ],
)
def test_tables_are_those_of_the_loads_in_effect(project: Project, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"unique_key": ["history", "part"], **MODELS[table]}
    model = Model(project.spark, project.schema, project.file_format, table=table, **options)
    histories, done, killed, classified = draw_histories(), list[Given](), False, 0
    for number, step in enumerate(draw_series(table)):
        rows = given_rows(histories, number)
        load = as_oracle(rows, table, step)
        frame = frame_of(project, rows, number)
        if number and not killed and table == "compared":
            classified += check_function(project, frame, [*in_effect(done), load])
        if model.options.get("deduplicate"):
            frame = frame.union(frame)
        run = Load(project.spark, model.settings(load.day, load.extract, allow_older_effective_date=True))
        if step.kill is None:
            counts = run.run(frame).operations
            done.append(load)
            assert {name: n for name, n in counts.items() if n} == replay(done).counts
        else:
            with monkeypatch.context() as patched, pytest.raises(Killed):
                place, name, after = step.kill
                kill(patched, place, name, after=after)
                run.run(frame)
            if run.tables.marker().load == run.id:
                done.append(load)
        killed = step.kill is not None
        check_current(project, table, done, f"load {number} ({step})")
        if step.kill is None:
            assert not has_extra(number) or "extra" in dict(project.columns(table))
            check_history(project, table, done, f"load {number} ({step})")
    assert classified >= 3 or table != "compared"


def as_oracle(rows: list[tuple[Any, ...]], table: str, step: Step) -> Given:
    ignored = [NAMES.index(name) for name in MODELS[table].get("ignore_columns", [])]
    supplied = {}
    for history, part, *row in rows:
        compared = tuple(value for place, value in enumerate(row) if place not in ignored)
        supplied[history, part] = Row(compared, tuple(row[place] for place in ignored))
    return Given(f"2020-01-{step.day:02}", step.extract, supplied)


def frame_of(project: Project, rows: list[tuple[Any, ...]], number: int) -> Any:
    columns = ", ".join(["history int", "part string", *COLUMNS])
    frame = project.spark.createDataFrame(rows, columns).coalesce(1)
    return frame if has_extra(number) else frame.drop("extra")


def written(kept: Kept, table: str, *, narrow: bool = False) -> tuple[Any, ...]:
    """A row of the oracle with its columns in the order of NAMES; `narrow`: where there is no `extra` to be read."""
    ignored = MODELS[table].get("ignore_columns", [])
    compared, others = iter(kept.row.compared), iter(kept.row.ignored)
    row = [next(others) if name in ignored else next(compared) for name in NAMES]
    return (*kept.key, *row[:-1], None if narrow else row[-1], kept.operation, kept.day)  # type: ignore[misc]


def select(project: Project, table: str, shown: str, joined: str) -> list[tuple[Any, ...]]:
    """All rows of a table of the model with their sensitive values, as the oracle writes them."""
    has = {name for name, _ in project.columns(shown)}
    apart = MODELS[table].get("sensitive_columns", [])
    columns = [f"s.{name}" if name in apart else f"t.{name}" if name in has else "null" for name in NAMES]
    query = f"select t.history, t.part, {', '.join(columns)}, t.operation, cast(t.eff_start_date as string) from {{schema}}.{shown} t"
    return [plain(row) for row in project.rows(f"{query} {joined if apart else ''}")]


def plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    place = 2 + NAMES.index("s")
    nested = row[place] and (row[place]["x"], None if row[place]["y"] is None else tuple(row[place]["y"]))
    return (*row[:place], nested, *row[place + 1 :])


def same(got: list[tuple[Any, ...]], expected: list[tuple[Any, ...]], where: str) -> None:
    got_text, expected_text = sorted(map(repr, got)), sorted(map(repr, expected))
    assert got_text == expected_text, f"{where}: {sorted(set(got_text) ^ set(expected_text))[:6]}"


def check_current(project: Project, table: str, done: list[Given], where: str) -> None:
    joined = f"left join {{schema}}.{table}__sensitive s on t.keyhash = s.keyhash"
    # the view of a run that died before it could make it anew does not have the new column yet
    narrow = "extra" not in dict(project.columns(table))
    expected = [written(kept, table, narrow=narrow) for kept in replay(done).current.values()]
    same(select(project, table, table, joined), expected, where)


def check_history(project: Project, table: str, done: list[Given], where: str) -> None:
    joined = f"left join {{schema}}.{table}__sensitive_base s on t.keyhash = s.keyhash and t.nonkeyhash = s.nonkeyhash"
    expected = [written(kept, table) for kept in replay(done).history]
    same(select(project, table, f"{table}__history", joined), expected, f"history, {where}")


def check_function(project: Project, frame: Any, loads: list[Given]) -> bool:
    """`dbt_cdc.hash_diff` classifies as the oracle does, where the load takes none back; whether it was asked."""
    load = loads[-1]
    if in_effect(loads) != loads:
        return False
    current = project.spark.table(f"{project.schema}.compared")
    found = dbt_cdc.hash_diff(
        current, frame, keys=["history", "part"], extract_type=load.extract, effective_date=load.day
    )
    columns = ["history", "part", *[name if name in found.columns else "null" for name in NAMES], "operation"]
    got = found.selectExpr(*columns, "cast(eff_start_date as string)").collect()
    after = replay(loads)
    expected = [*after.current.values(), *[kept for kept in after.history if kept[2:] == ("D", load.day)]]
    same([plain(tuple(row)) for row in got], [written(kept, "compared") for kept in expected], f"function, {load.day}")
    return True

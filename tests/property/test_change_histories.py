"""One answer, wherever it is read from: random histories, told by the formats' feeds, by comparison and by logs of all modes.

Hypothesis draws histories of a few keys; all of them live in one table, each under its own number, so that one statement
is a commit of every history. The same statements write tables that keep their past in different ways; an oracle in plain
Python says what each must answer.

    DBT_CDC_HISTORIES=2000 pytest tests/property/test_change_histories.py      (default 120; new ones on each such run)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.property.history_oracle import Change, State, cdc, compared, latest_state, net
from tests.support.changes import COMPACT, LOG_HOOKS, MERGE_ON_READ, Changes
from tests.support.drawn import asked_for, draw
from tests.support.project import Project

VARIABLE = "DBT_CDC_HISTORIES"
HISTORIES = asked_for(VARIABLE, 120)
KEYS = (None, "", "a", "b")
COLUMNS = "number int, part string, v string, s struct<x: int, y: array<string>>, m map<string, int>"
LOGS = ("key_op", "data_before", "data_before_after")

#: What each commit does: `drawn` changes by MERGE or INSERT OVERWRITE, or the same to all histories.
COMMITS = ("insert", "merge", "overwrite", "delete", "merge", "update", "compact", "add column", "merge")
#: Commits after which the logs are brought up to their tables.
RUNS = (-1, 3, 6)
BEGIN, END = 1, 5

values = st.tuples(
    st.sampled_from([None, "", "p", "q"]),
    st.sampled_from([None, (None, None), (1, (None,)), (1, ("p",))]),
    st.sampled_from([None, (), (("k", 1),), (("k", None),), (("k", 1), ("l", 2))]),
    st.sampled_from([None, 1, 2]),
)
changes_of_a_commit = st.dictionaries(st.sampled_from(KEYS), st.one_of(values, values, st.none()), max_size=3)
histories = st.lists(changes_of_a_commit, min_size=len(COMMITS), max_size=len(COMMITS))

ANSWERS = """
    {{ config(materialized='table') }}
    {% set table = TABLE %}
    {% for name, range in {'all': {}, 'part': {'begin': 'BEGIN', 'end': 'END'}}.items() %}
    {% for form in FORMS %}
    {{ 'union all' if not (loop.first and name == 'all') }}
    select '{{ form }} {{ name }}' as question, *
    from {{ dbt_cdc.table_changes(table, format=form, unique_key=['number', 'part'], **range) }}
    {% endfor %}
    {% endfor %}
"""
LOGGED = (
    "{{ config(materialized='incremental', incremental_strategy='merge', unique_key=['number', 'part'],"
    + LOG_HOOKS
    + ") }} select * from {% if is_incremental() %} {{ this }} where false {% else %} {{ target.schema }}.nothing {% endif %}"
)


def draw_histories() -> list[list[State]]:
    """States of each history, commit by commit."""
    return [list(states_of(number, history)) for number, history in enumerate(draw(histories, VARIABLE, HISTORIES))]


def states_of(number: int, history: list[dict[Any, Any]]) -> Iterator[State]:
    """The table's rows of one history after each commit."""
    state: State = {}
    widened = COMMITS.index("add column")
    for commit, (kind, drawn) in enumerate(zip(COMMITS, history, strict=True)):
        state = dict(state)
        if kind in ("insert", "merge", "overwrite"):
            for part, row in drawn.items():
                if row is not None:
                    width = len(row) if commit > widened else len(row) - 1
                    state[number, part] = (number, part, *row[:width], *[None] * (len(row) - width))
                elif kind != "insert":
                    state.pop((number, part), None)
        elif kind == "delete" and number % 3 == 0:
            state.pop((number, "b"), None)
        elif kind == "update" and number % 2 == 0 and (number, None) in state:
            row = state[number, None]
            state[number, None] = (*row[:2], "z", *row[3:])
        yield state


def statement(commit: int, table_format: str) -> str:
    """The SQL of a commit; drawn rows come from `given`, which holds every state."""
    kind = COMMITS[commit]
    names = "number, part, v, s, m" + (", w" if commit > COMMITS.index("add column") else "")
    given, before = (f"select {names} from {{schema}}.given where commit = {which}" for which in (commit, commit - 1))
    if kind == "delete":
        return "delete from {t} where part = 'b' and number % 3 = 0"
    if kind == "update":
        return "update {t} set v = 'z' where part is null and number % 2 = 0"
    if kind == "compact":
        return COMPACT[table_format]
    if kind == "add column":
        return "alter table {t} add column w int"
    if kind == "insert":
        return "insert into {t} " + given
    if kind == "overwrite":
        return "insert overwrite {t} " + given
    same = "a.number = b.number and a.part <=> b.part"
    gone = f"({before}) a where not exists (select 1 from ({given}) b where {same})"
    source = f"select *, false as gone from ({given}) union all select *, true from {gone}"
    rest = names.removeprefix("number, part, ").split(", ")
    return (
        f"merge into {{t}} a using ({source}) b on {same} when matched and b.gone then delete"
        f" when matched then update set {', '.join(f'{name} = b.{name}' for name in rest)}"
        f" when not matched then insert ({names}) values (b.{names.replace(', ', ', b.')})"
    )


def write_states(project: Project, drawn: list[list[State]]) -> None:
    rows = [
        (commit, *row[:4], dict(row[4]) if row[4] is not None else None, *row[5:])
        for states in drawn
        for commit, state in enumerate(states)
        for row in state.values()
    ]
    frame = project.spark.createDataFrame(rows, f"commit int, {COLUMNS}, w int").coalesce(1)
    frame.writeTo(f"{project.schema}.given").using(project.file_format).create()
    project.sql(f"create table {{schema}}.nothing ({COLUMNS}) using {project.file_format}")


@pytest.mark.one_format("delta")
def test_every_way_to_tell_the_changes_of_a_table_gives_the_same_rows(project: Project) -> None:
    changes, drawn = Changes(project), draw_histories()
    write_states(project, drawn)
    told = {"fed": "'{schema}.fed'", "noted": "'{schema}.noted'", **{mode: f"ref('{mode}')" for mode in LOGS}}
    changes.create("fed", COLUMNS)
    changes.create("noted", COLUMNS, properties=MERGE_ON_READ[changes.format])
    if changes.format == "delta":
        changes.create("bare", COLUMNS, feed=False)
        told["bare"] = "'{schema}.bare'"
    project.write({f"models/{mode}.sql": LOGGED.replace("MODE", repr(mode)) for mode in LOGS})

    versions: dict[str, list[str]] = {table: [] for table in told}
    for commit in range(-1, len(COMMITS)):
        for table in told if commit >= 0 else ():
            changes.write(table, statement(commit, changes.format))
            versions[table].append(changes.versions(table)[-1])
        if commit in RUNS:
            project.dbt("run", "--select", *LOGS)
    for table, call in told.items():
        forms = ["net"] if table == "bare" else ["cdc", "net", "latest_state"]
        body = ANSWERS.replace("TABLE", call.replace("{schema}", project.schema)).replace("FORMS", repr(forms))
        for name, commit in {"BEGIN": BEGIN, "END": END}.items():
            body = body.replace(name, versions[table][commit])
        project.write({f"models/of_{table}.sql": body})
    project.dbt("run", "--exclude", *LOGS)

    for table in told:
        rows = project.rows(f"select question, op, version, before, after from {{schema}}.of_{table}")
        check(table, drawn, rows, versions[table])


def check(table: str, drawn: list[list[State]], rows: list[tuple[Any, ...]], versions: list[str]) -> None:
    last = len(COMMITS) - 1
    got: dict[tuple[str, int], list[Change]] = {}
    for question, op, version, before, after in rows:
        change = Change(op, versions.index(version), plain(before), plain(after))
        got.setdefault((question, (before or after)["number"]), []).append(change)
    asked = 0
    for name, (begin, end) in {"all": (-1, last), "part": (BEGIN, END)}.items():
        for number, states in enumerate(drawn):
            expected: dict[str, Iterable[Change]] = {
                "cdc": [change for of_key in cdc(states, begin, end).values() for change in of_key],
                "net": net(states, begin, end),
                "latest_state": latest_state(states, begin, end),
            }
            if table == "bare":
                expected = {"net": compared(states, begin, end)}
            for form, answer in expected.items():
                found = got.pop((f"{form} {name}", number), [])
                asked += len(found)
                assert sorted(found, key=repr) == sorted(answer, key=repr), f"{table}, {form} {name}: {states}"
    assert not got and asked > HISTORIES


def plain(image: Any) -> tuple[Any, ...] | None:
    """An image as the oracle writes it."""
    if image is None:
        return None
    number, part, v, s, m, *w = image
    nested = None if s is None else (s["x"], None if s["y"] is None else tuple(s["y"]))
    return (number, part, v, nested, None if m is None else tuple(sorted(m.items())), *w)

"""Readers by ref_changes hold what their upstream asks for, whenever they run and whether or not a run of theirs fails.

Hypothesis draws commits to a table of a few keys; all those histories lie in one table, each under its own number. Readers
of several kinds run after some of the commits; some of the runs fail between their write and their watermark.

    DBT_CDC_COMMITS=3000 pytest tests/property/test_edges_runs.py --table-format iceberg

(default 100 histories; the plan of runs follows from the number, the commits are new on each such run)
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.support.drawn import asked_for, draw
from tests.support.project import Project

VARIABLE = "DBT_CDC_COMMITS"
HISTORIES = asked_for(VARIABLE, 100)
#: how each commit is written, and what comes after it: no run, one, or one that fails between its write and its watermark
PLAN = (
    ("merge", "run"),
    ("merge", "fail"),
    ("overwrite", "fail"),
    ("merge", "run"),
    ("overwrite", None),
    ("merge", "fail"),
    ("merge", "run"),
)
COMMITS = len(PLAN)

State = dict[Hashable, tuple[Any, ...]]

#: a commit: the value that a key has from then on, or None: it is deleted, if it is there
commits = st.dictionaries(st.sampled_from(["", "a"]), st.one_of(st.sampled_from(["x", "y", ""]), st.none()))
histories = st.lists(commits, min_size=COMMITS, max_size=COMMITS)

BY_VERSION = "{{ dbt_cdc.ref_changes(source('raw', 'things'), by='version', unique_key=['number', 'part']) }}"
MERGED = "{{ config(materialized='incremental', incremental_strategy='merge', unique_key=['number', 'part']) }} "
APPLIED = (
    "{{ config(materialized='apply_changes', unique_key=['number', 'part'], meta={'dbt_cdc': {"
    "'sequence_by': 'stamp', 'apply_as_deletes': \"_op = 'd'\", 'except_column_list': ['_op']}}) }} "
)
PYTHON = """
import dbt_cdc

def model(dbt, spark):
    dbt.config(materialized="incremental", incremental_strategy="merge", unique_key=["number", "part"])
    dbt.source("raw", "things")
    return dbt_cdc.ref_changes(dbt, spark, "raw", "things", by="version", unique_key=["number", "part"])
"""
MODELS = {
    "by_version.sql": MERGED + "select number, part, v, stamp, _op as passed_on from " + BY_VERSION,
    "by_version_python.py": PYTHON,
    "by_column.sql": MERGED + "select * from {{ dbt_cdc.ref_changes(source('raw', 'things'), column='stamp') }}",
    "applied.sql": APPLIED + "select * from " + BY_VERSION,
    # a reader of a reader: what is deleted above is a row below that changes
    "second.sql": MERGED
    + "select number, part, v, stamp, passed_on from {{ dbt_cdc.ref_changes('by_version', by='version') }}",
}
YAML = """
sources: [{name: raw, schema: "{{ target.schema }}", tables: [{name: things}]}]
models:
"""
#: a statement that fails after the model's write and before its watermark
FAILS = "{{ 'select * from nowhere' if var('fails', false) else '' }}"
FAILING = ("by_version", "by_version_python", "by_column", "applied")


@dataclass
class Reader:
    """What a reader holds, and the last commit (by column: the last stamp) that its watermark knows."""

    rows: dict[Hashable, tuple[Any, ...]] = field(default_factory=dict)
    seen: int = -1

    def by_version(self, states: list[State], now: int, *, fails: bool) -> None:
        """The newest change of each key that changed; the first run gets what is there."""
        if self.seen < 0:
            self.rows = {key: (*row, "i") for key, row in states[now].items()}
        for at in range(self.seen + 1, now + 1) if self.seen >= 0 else ():
            before = states[at - 1]
            for key in changed(before, states[at]):
                op = "i" if key not in before else "u" if key in states[at] else "d"
                self.rows[key] = (*(before if op == "d" else states[at])[key], op)
        if not fails:
            self.seen = now

    def by_column(self, states: list[State], now: int, *, fails: bool) -> None:
        self.rows |= {key: row for key, row in states[now].items() if row[1] > self.seen}
        if not fails:
            self.seen = max([self.seen, *(stamp for _, stamp in states[now].values())])


def changed(before: State, after: State) -> set[Hashable]:
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def draw_commits() -> list[dict[Hashable, str | None]]:
    """What each commit does to the keys of all histories."""
    drawn = draw(histories, VARIABLE, HISTORIES)
    return [
        {(number, part): v for number, history in enumerate(drawn) for part, v in history[commit].items()}
        for commit in range(COMMITS)
    ]


def state_after(before: State, commit: dict[Hashable, str | None], number: int) -> State:
    """Each key that is written is stamped with the number of the commit, also where its value stays."""
    kept = {key: row for key, row in before.items() if key not in commit}
    return kept | {key: (v, number) for key, v in commit.items() if v is not None}


@pytest.mark.one_format("iceberg")
def test_readers_hold_what_the_upstream_asks_for(project: Project) -> None:
    project.configure(models={"consumer": {"+tblproperties": {"delta.enableChangeDataFeed": "true"}}})
    failing = "".join(f'  - {{name: {name}, config: {{post_hook: "{FAILS}"}}}}\n' for name in FAILING)
    project.write({"models/models.yml": YAML + failing, **{f"models/{name}": text for name, text in MODELS.items()}})
    create(project)
    states: list[State] = []
    readers = {name.split(".")[0]: Reader() for name in MODELS}
    for number, (commit, (written, then)) in enumerate(zip(draw_commits(), PLAN, strict=True)):
        states.append(state_after(states[-1] if states else {}, commit, number))
        write(project, states[-1], commit, number, overwrite=written == "overwrite")
        if then is None:
            continue
        fails = then == "fail"
        run(project, fails=fails)
        for name, reader in readers.items():
            if name == "by_column":
                reader.by_column(states, number, fails=fails)
            elif name != "second":
                reader.by_version(states, number, fails=fails)
        check(project, states[-1], readers, f"commit {number}, {fails=}", second=not fails)


def create(project: Project) -> None:
    properties = "tblproperties (delta.enableChangeDataFeed = 'true')" if project.file_format == "delta" else ""
    columns = "number int, part string, v string, stamp int"
    project.sql(f"create table {{schema}}.things ({columns}) using {project.file_format} {properties}")


def write(project: Project, state: State, commit: dict[Hashable, str | None], number: int, *, overwrite: bool) -> None:
    """One commit: a MERGE of what changes, or the whole table anew."""
    columns = "number int, part string, v string, stamp int"
    if overwrite:
        rows = [(*key, *row) for key, row in state.items()]  # type: ignore[misc]
        frame = project.spark.createDataFrame(rows, columns)
    else:
        frame = project.spark.createDataFrame([(*key, v, number) for key, v in commit.items()], columns)  # type: ignore[misc]
    frame.coalesce(1).createOrReplaceTempView("given")
    if overwrite:
        project.sql("insert overwrite {schema}.things select * from given")
    else:
        project.sql(
            "merge into {schema}.things as t using given as g on t.number = g.number and t.part = g.part "
            "when matched and g.v is null then delete when matched then update set * "
            "when not matched and g.v is not null then insert *"
        )


def run(project: Project, *, fails: bool) -> None:
    if fails:
        assert "nowhere" in project.error("run", "--vars", "{fails: true}")
    else:
        project.dbt("run")


def check(project: Project, state: State, readers: dict[str, Reader], where: str, *, second: bool) -> None:
    def same(name: str, columns: str, expected: list[tuple[Any, ...]]) -> None:
        got = project.rows(f"select number, part, v, stamp{columns} from {{schema}}.{name}")
        differ = sorted(set(got) ^ set(expected), key=repr)
        assert not differ and len(got) == len(expected), f"{name}, {where}: {differ[:8]}"

    def rows(name: str) -> list[tuple[Any, ...]]:
        return [(*key, *row) for key, row in readers[name].rows.items()]  # type: ignore[misc]

    same("by_version", ", passed_on", rows("by_version"))
    same("by_version_python", ", _op", rows("by_version_python"))
    same("by_column", "", rows("by_column"))
    same("applied", "", [(*key, *row) for key, row in state.items()])  # type: ignore[misc]
    if second:
        same("second", ", passed_on", rows("by_version"))

"""Readers by ref_changes in graphs: diamonds, every kind of upstream, a part of the graph, --defer, two runs at once."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
from dbt.adapters import factory
from dbt_common import invocation

from tests.support.project import Project
from tests.support.statements import watch

READER = "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='%s') }}\n"
RUN = "{{ var('run') }} as run"
STAMP = "timestamp '2024-01-%02d'"
APPLY = "{{ config(materialized='apply_changes', unique_key='id', meta={'dbt_cdc': %s}) }}\n"

MODELS = {
    # a diamond: two consumers of one model, joined again below with a static input
    "top.sql": READER % "id" + "select * from {{ dbt_cdc.ref_changes(source('raw', 'orders')) }}",
    "left_side.sql": READER % "id"
    + f"select id, amount * 2 as doubled, {RUN}, cdc_datetime_updated from {{{{ dbt_cdc.ref_changes('top') }}}}",
    "right_side.sql": READER % "id"
    + f"select id, customer, {RUN}, cdc_datetime_updated from {{{{ dbt_cdc.ref_changes('top') }}}}",
    "names.sql": "{{ config(materialized='table') }} select * from values (1, 'one'), (2, 'two') as t (customer, name)",
    "bottom.sql": READER % "id"
    + f"""
        with touched as (
            select id from {{{{ dbt_cdc.ref_changes('left_side') }}}}
            union
            select id from {{{{ dbt_cdc.ref_changes('right_side') }}}}
        )
        select l.id, l.doubled, n.name, {RUN}
        from {{{{ ref('left_side') }}}} as l
        join {{{{ ref('right_side') }}}} as r using (id)
        join {{{{ ref('names') }}}} as n using (customer)
        where l.id in (select id from touched)
    """,
    # what the package itself writes, as upstream
    "people_reader.sql": READER % "dbt_scd_id"
    + f"""
        select dbt_scd_id, id, name, dbt_valid_to is null as is_open, _op, {RUN}
        from {{{{ dbt_cdc.ref_changes('people_history', by='version') }}}}
    """,
    "accounts.py": """
        def model(dbt, spark):
            dbt.config(materialized="hash_diff", unique_key="id")
            return dbt.source("raw", "extract")
    """,
    "accounts_reader.sql": READER % "id"
    + f"select id, v, _op, {RUN} from {{{{ dbt_cdc.ref_changes('accounts', by='version') }}}}",
    "live.sql": APPLY % {"sequence_by": "seq", "apply_as_deletes": "op = 'D'", "except_column_list": ["op"]}
    + "select * from {{ dbt_cdc.ref_changes(source('raw', 'feed'), column='seq') }}",
    "mirror.sql": APPLY % {"sequence_by": "seq", "apply_as_deletes": "_op = 'd'", "except_column_list": ["_op"]}
    + "select * from {{ dbt_cdc.ref_changes('live', by='version') }}",
}
YAML = """
    sources:
      - name: raw
        schema: %s
        tables: [{name: orders}, {name: people}, {name: extract}, {name: feed}]
    models:
      - name: accounts
        config: {meta: {dbt_cdc: {effective_date: "2024-01-0{{ var('run') }}"}}}
"""
SNAPSHOT = """
    snapshots:
      - name: people_history
        relation: source('raw', 'people')
        config: {unique_key: id, strategy: check, check_cols: all, hard_deletes: invalidate}
"""


def write(project: Project, sources: str) -> None:
    project.write({f"models/{name}": text for name, text in MODELS.items()})
    project.write({"models/models.yml": YAML % sources, "snapshots/people.yml": SNAPSHOT})


@pytest.mark.one_format("iceberg")
def test_a_graph_of_readers_ends_complete_and_reads_each_change_once(
    project: Project, make_project: Callable[[], Project]
) -> None:
    def table(name: str, columns: str) -> None:
        project.sql(f"create table {{schema}}.{name} ({columns}) using {project.file_format}")

    def build(number: int, *arguments: str) -> None:
        project.dbt("build", "--threads", "4", "--vars", f"{{run: {number}}}", *arguments)

    table("orders", "id int, customer int, amount int, cdc_datetime_updated timestamp")
    table("people", "id int, name string")
    table("extract", "id int, v string")
    table("feed", "id int, name string, seq int, op string")
    write(project, project.schema)
    # nothing is built yet
    project.dbt("docs", "generate", "--vars", "{run: 0}")
    project.dbt("compile", "--empty", "--vars", "{run: 0}")
    assert project.tables() == {"orders", "people", "extract", "feed"}

    project.sql(f"insert into {{schema}}.orders values (1, 1, 10, {STAMP % 1}), (2, 2, 20, {STAMP % 1})")
    project.sql("insert into {schema}.people values (1, 'Ann'), (2, 'Bo')")
    project.sql("insert into {schema}.extract values (1, 'a'), (2, 'b'), (3, 'c')")
    project.sql("insert into {schema}.feed values (1, 'Ann', 1, 'U'), (2, 'Bo', 2, 'U')")
    build(1)
    bottom = "select id, doubled, name, run from {schema}.bottom order by id"
    people = "select id, name, is_open, _op, run from {schema}.people_reader order by id, is_open"
    accounts = "select id, v, _op, run from {schema}.accounts_reader order by id"
    mirror = "select id, name, seq from {schema}.mirror order by id"
    assert project.rows(bottom) == [(1, 20, "one", 1), (2, 40, "two", 1)]
    assert project.rows(people) == [(1, "Ann", True, "i", 1), (2, "Bo", True, "i", 1)]
    assert project.rows(accounts) == [(1, "a", "i", 1), (2, "b", "i", 1), (3, "c", "i", 1)]
    assert project.rows(mirror) == [(1, "Ann", 1), (2, "Bo", 2)]

    project.sql(f"update {{schema}}.orders set amount = 11, cdc_datetime_updated = {STAMP % 2} where id = 1")
    project.sql(f"insert into {{schema}}.orders values (3, 1, 30, {STAMP % 2})")
    project.sql("update {schema}.people set name = 'Anne' where id = 1")
    project.sql("delete from {schema}.people where id = 2")
    project.sql("insert into {schema}.people values (3, 'Cy')")
    project.sql("insert overwrite {schema}.extract values (1, 'A'), (3, 'c'), (4, 'd')")
    project.sql("insert into {schema}.feed values (2, null, 3, 'D'), (1, 'Anne', 4, 'U'), (3, 'Cy', 5, 'U')")
    build(2)
    assert project.rows(bottom) == [(1, 22, "one", 2), (2, 40, "two", 1), (3, 60, "one", 2)]
    assert project.rows(people) == [
        (1, "Ann", False, "u", 2),
        (1, "Anne", True, "i", 2),
        (2, "Bo", False, "u", 2),
        (3, "Cy", True, "i", 2),
    ]
    assert project.rows(accounts) == [(1, "A", "u", 2), (2, "b", "d", 2), (3, "c", "i", 1), (4, "d", "i", 2)]
    assert project.rows(mirror) == project.rows("select id, name, seq from {schema}.live order by id")
    assert project.rows(mirror) == [(1, "Anne", 4), (3, "Cy", 5)]

    # one branch of the diamond runs ahead; what comes by the other one later is read then
    project.sql(f"insert into {{schema}}.orders values (4, 2, 40, {STAMP % 3})")
    build(3, "--select", "top", "left_side", "bottom")
    assert project.rows(bottom) == [(1, 22, "one", 2), (2, 40, "two", 1), (3, 60, "one", 2)]
    build(4, "--select", "+bottom")
    assert project.rows(bottom) == [(1, 22, "one", 2), (2, 40, "two", 1), (3, 60, "one", 2), (4, 80, "two", 4)]
    for side, last in (("left_side", 3), ("right_side", 4)):
        read = project.rows(f"select id, run from {{schema}}.{side} order by id")
        assert read == [(1, 2), (2, 1), (3, 2), (4, last)], side

    # another target reads what it has not built from where --defer finds it, and has edges of its own
    other = make_project()
    write(other, project.schema)
    project.dbt("parse", "--vars", "{run: 5}").result.write(str(other.folder / "state/manifest.json"))
    moves = project.rows("select count(*) from {schema}.cdc_metadata")
    readers = ["left_side", "people_reader", "accounts_reader", "mirror"]
    deferred = ("--defer", "--state", str(other.folder / "state"), "--vars", "{run: 5}")
    other.dbt("run", "--select", *readers, *deferred)
    assert other.tables() == {*readers, "mirror__events", "cdc_metadata"}
    assert other.rows(accounts) == [(1, "A", "i", 5), (3, "c", "i", 5), (4, "d", "i", 5)]
    assert other.rows(mirror) == project.rows(mirror)
    assert other.rows("select id, run from {schema}.left_side order by id") == [(1, 5), (2, 5), (3, 5), (4, 5)]
    upstreams = {
        "accounts": "accounts_reader",
        "live": "mirror",
        "people_history": "people_reader",
        "top": "left_side",
    }
    edges = [(f"{project.schema}.{source}", f"{other.schema}.{reader}") for source, reader in upstreams.items()]
    assert other.rows("select source, destination from {schema}.cdc_metadata order by source") == edges
    assert project.rows("select count(*) from {schema}.cdc_metadata") == moves


class Race:
    """Lets a whole other run of the project happen right before the first statement that matches."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._before: tuple[str, Callable[[], Any]] | None = None
        watch(monkeypatch, self.look)

    def before(self, pattern: str, other: Callable[[], Any]) -> None:
        self._before = (pattern, other)

    def look(self, sql: str) -> None:
        if self._before is None or not re.search(self._before[0], sql, re.DOTALL):
            return
        other, self._before = self._before[1], None
        # dbt keeps one of each for the process, as two runs have two processes
        mine, factory.FACTORY = (invocation._INVOCATION_ID, factory.FACTORY), factory.AdapterContainer()
        failed: list[BaseException] = []

        def run() -> None:
            try:
                other()
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        invocation._INVOCATION_ID, factory.FACTORY = mine
        assert not failed, failed


def test_of_two_runs_at_once_no_older_row_stays_over_a_newer_one(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.sql(
        f"create table {{schema}}.orders (id int, amount int, cdc_datetime_updated timestamp) using {project.file_format}"
    )
    source = f"sources: [{{name: raw, schema: {project.schema}, tables: [{{name: orders}}]}}]"
    by = "select %s from {{ dbt_cdc.ref_changes(source('raw', 'orders'), by=%s) }}"
    names = {"raced_column": "'column'", "raced_version": "'version', unique_key='id'"}
    ordered = APPLY % {"sequence_by": "seq", "except_column_list": ["seq"]}
    columns = "id, amount, cdc_datetime_updated as seq"
    project.write({"models/sources.yml": source})
    project.write({f"models/{name}.sql": READER % "id" + by % ("id, amount", way) for name, way in names.items()})
    project.write({"models/raced_ordered.sql": ordered + by % (columns, names["raced_version"])})
    project.sql(f"insert into {{schema}}.orders values (1, 10, {STAMP % 1}), (2, 20, {STAMP % 1})")
    race = Race(monkeypatch)

    def set_amount(amount: int, day: int) -> None:
        project.sql(
            f"update {{schema}}.orders set amount = {amount}, cdc_datetime_updated = {STAMP % day} where id = 1"
        )

    def rows(name: str) -> list[tuple[Any, ...]]:
        return project.rows(f"select id, amount from {{schema}}.{name} order by id")

    # two first runs on an empty database
    race.before("create table if not exists .*cdc_metadata", lambda: project.dbt("run", "--select", "raced_column"))
    project.dbt("run", "--threads", "1")
    assert rows("raced_column") == rows("raced_version") == [(1, 10), (2, 20)]
    moves = "select destination, sequence from {schema}.cdc_metadata order by destination, sequence"
    schema = project.schema
    assert project.rows(moves) == [
        (f"{schema}.raced_column", 1),
        (f"{schema}.raced_column", 2),
        (f"{schema}.raced_ordered", 1),
        (f"{schema}.raced_version", 1),
    ]

    for name, amount in (("raced_column", 11), ("raced_version", 13), ("raced_ordered", 15)):
        set_amount(amount, amount)

        def overtake(name: str = name, amount: int = amount) -> None:
            set_amount(amount + 1, amount + 1)
            project.dbt("run", "--select", name)

        race.before(rf"(merge|insert) into.*{name}", overtake)
        if name == "raced_version":
            said = project.error("run", "--select", name)
            assert "another run of this model has written changes of" in said
        else:
            project.dbt("run", "--select", name)
        if name == "raced_ordered":  # its sequence decides, and the older row has not come over the newer one
            assert rows(name) == [(1, amount + 1), (2, 20)]
        project.dbt("run", "--select", name)
        assert rows(name) == [(1, amount + 1), (2, 20)], name
    set_amount(17, 17)
    project.dbt("run", "--threads", "2")
    assert rows("raced_column") == rows("raced_version") == rows("raced_ordered") == [(1, 17), (2, 20)]


@pytest.mark.one_format("iceberg")
def test_of_two_runs_at_once_the_lower_watermark_holds_whatever_was_made_anew(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.sql(f"create table {{schema}}.events (id int, seq int) using {project.file_format}")
    project.write(
        {
            "models/sources.yml": f"sources: [{{name: raw, schema: {project.schema}, tables: [{{name: events}}]}}]",
            "models/raced.sql": READER % "id"
            + f"select id, {RUN} from {{{{ dbt_cdc.ref_changes(source('raw', 'events'), column='seq') }}}}",
        }
    )
    race = Race(monkeypatch)

    def arrive(number: int) -> None:
        project.sql(f"insert into {{schema}}.events values ({number}, {number})")

    def run(number: int, *arguments: str) -> list[tuple[Any, ...]]:
        """The run in which each row was last read."""
        project.dbt("run", "--vars", f"{{run: {number}}}", *arguments)
        return project.rows("select id, run from {schema}.raced order by id")

    arrive(1)
    assert run(1) == [(1, 1)]

    # both move the same edge: what one of them may not have is read once more, though 10 comes before 9 as text
    arrive(9)

    def another_run() -> None:
        arrive(10)
        assert run(20) == [(1, 1), (9, 20), (10, 20)]

    race.before(r"insert into.*cdc_metadata", another_run)
    assert run(2) == [(1, 1), (9, 20), (10, 20)]
    assert run(3) == [(1, 1), (9, 20), (10, 3)]

    # a full refresh that two whole runs have passed takes out what they brought
    def two_runs() -> None:
        for number in (11, 12):
            arrive(number)
            assert (number, number) in run(number)

    race.before(r"create or replace table.*\braced\b", two_runs)
    assert run(4, "--full-refresh") == [(1, 4), (9, 4), (10, 4)]
    assert run(5) == [(1, 4), (9, 4), (10, 4), (11, 5), (12, 5)]
    assert run(6) == [(1, 4), (9, 4), (10, 4), (11, 5), (12, 5)]

    # a part takes the place of the table that another run writes to, whether the edge was reset before or not known yet
    for known in (True, False):
        assert run(7, "--full-refresh", "--empty") == []
        if not known:
            project.sql("delete from {schema}.cdc_metadata")
        race.before(r"insert into.*cdc_metadata", lambda: run(8, "--full-refresh", "--empty"))
        assert run(9) == [], known
        assert run(10) == [(number, 10) for number in (1, 9, 10, 11, 12)], known

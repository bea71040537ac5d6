"""A run killed between any two of its statements, or racing another, loses and doubles nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.project import Project
from tests.support.shared import shared_project
from tests.support.statements import finds, killed_at, meanwhile, watch

pytestmark = pytest.mark.one_format("iceberg")

OPTIONS = {
    "sequence_by": "seq",
    "stored_as_scd_type": 2,
    "apply_as_deletes": "v is null",
    "except_column_list": ["seq"],
}
BATCHES = [
    "values (1, 'a', 10), (2, 'x', 1), (3, 'k', 1)",
    "values (1, 'b', 5), (1, 'c', 20), (2, null, 4), (4, 'n', 1)",
    "values (1, 'b', 7), (2, 'y', 2), (5, 'o', 1)",
]
BATCHES.append(f"{BATCHES[1]}, {BATCHES[2].removeprefix('values ')}")
EXPECTED = [
    (1, "b", 5, 10),
    (1, "a", 10, 20),
    (1, "c", 20, None),
    (2, "x", 1, 2),
    (2, "y", 2, 4),
    (3, "k", 1, None),
    (4, "n", 1, None),
    (5, "o", 1, None),
]


def header(options: dict[str, Any] = OPTIONS, config: str = "") -> str:
    text = f"materialized='apply_changes', unique_key='id', {config} meta={{'dbt_cdc': {options!r}}}"
    return f"{{{{ config({text}) }}}}\n"


def of_batches(batches: Sequence[str], options: dict[str, Any] = OPTIONS) -> str:
    """A model that gives one of the batches in each run."""
    return header(options) + f"select * from {{{{ {batches!r}[var('run')] }}}} as t(id, v, seq)"


LEDGER = "id, _dbt_cdc_sequence, _dbt_cdc_kind, _dbt_cdc_hash, _dbt_cdc_batch, v"


def marker(kind: str, batch: str = "other") -> str:
    return f"(null, null, '{kind}', null, '{batch}', null)"


def record(model: str, *rows: str) -> str:
    """The statement by which a run records rows in a model's ledger."""
    return f"insert into {{schema}}.{model}__events ({LEDGER}) values {', '.join(rows)}"


MARKERS = [marker("begun"), marker("applied")]


class Killer:
    """Fails the n-th writing statement of each armed model `killed_n`; counts those of every model."""

    def __init__(self) -> None:
        self.armed: set[str] = set()
        self.seen: Counter[str] = Counter()
        self.killed: set[str] = set()

    def arm(self, models: set[str]) -> None:
        self.armed = models
        self.seen.clear()
        self.killed.clear()

    def look(self, statement: str) -> None:
        named = re.search(r"\b((?:killed|control)_(\d+))(?:__|\b)", statement)
        writes = re.match(r"(/\*.*?\*/)?\s*(create|insert|merge|drop|alter)\b", statement, re.S)
        if named is None or writes is None:
            return
        self.seen[named[1]] += 1
        if named[1] in self.armed and self.seen[named[1]] == int(named[2]):
            self.killed.add(named[1])
            raise RuntimeError("killed")


@pytest.fixture
def killer(monkeypatch: pytest.MonkeyPatch) -> Killer:
    killer = Killer()
    watch(monkeypatch, killer.look)
    return killer


def test_killed_before_any_statement_and_started_again_it_ends_as_if_undisturbed(
    project: Project, killer: Killer
) -> None:
    # a first run writes 6 times, and on Iceberg to the properties of the ledger
    first = {f"killed_{n}" for n in range(1, 8 if project.file_format == "iceberg" else 7)}
    later = {f"killed_{n}" for n in range(1, 14)}  # and a later one, which also forgets old deletes, 13 times
    unrecorded = {f"killed_{n}" for n in range(1, 8)}
    batches = [BATCHES[n] for n in (0, 0, 1, 2, 3, 0, 1)]
    text = of_batches(batches, {**OPTIONS, "tombstone_retention": "0 seconds"})
    project.write({f"models/{name}.sql": text for name in {*later, "control_0"}})
    killer.arm(first)
    project.invoke("run", "--vars", "{run: 0}")
    assert killer.killed == first
    assert killer.seen["control_0"] == len(first)
    killer.arm(set())
    project.dbt("run", "--vars", "{run: 1}", "--select", *first)
    killer.arm(later)
    project.invoke("run", "--vars", "{run: 2}")
    assert killer.killed == later
    assert killer.seen["control_0"] == len(later)
    killer.arm(set())
    recorded = {"control_0", *(later - unrecorded)}
    # another batch comes; what was recorded is shown with it
    project.dbt("run", "--vars", "{run: 3}", "--select", *recorded)
    for name in recorded:
        assert project.rows(f"select * from {{schema}}.{name} order by 1, 3") == EXPECTED, name
    # temporary tables may belong to a run that is still at work, until they are a day old
    aged = [re.fullmatch(r"(killed_[1-7]__dbt_tmp_)(\d{8})(.*)", table) for table in sorted(project.tables())]
    for found in filter(None, aged):
        project.sql(f"alter table {{schema}}.{found[0]} rename to {{schema}}.{found[1]}20200101{found[3]}")
    assert any(aged)
    project.dbt("run", "--vars", "{run: 4}", "--select", *unrecorded)  # the killed batch again, and the next
    for name in sorted({*later, "control_0"}):
        assert project.rows(f"select * from {{schema}}.{name} order by 1, 3") == EXPECTED, name
    temporary = {table for table in project.tables() if "__dbt_tmp_" in table}
    assert {table.split("__")[0] for table in temporary} <= later - unrecorded
    expected = {table for name in {*later, "control_0"} for table in (name, f"{name}__events")}
    assert project.tables() - temporary == expected
    if project.file_format == "iceberg":  # which keeps a file of metadata of each commit
        for name in first:
            kept = dict(project.rows(f"show tblproperties {{schema}}.{name}__events"))
            assert kept["write.metadata.delete-after-commit.enabled"] == "true", name

    refreshed = {"killed_3", "killed_4"}  # a full refresh, killed before and after it writes the table
    killer.arm(refreshed)
    project.invoke("run", "--full-refresh", "--vars", "{run: 5}", "--select", *refreshed)
    assert killer.killed == refreshed
    killer.arm(set())
    project.dbt("run", "--vars", "{run: 6}", "--select", *refreshed)
    for name in sorted(refreshed):
        assert project.rows(f"select * from {{schema}}.{name} order by 1, 3") == [
            (1, "b", 5, 10),
            (1, "a", 10, 20),
            (1, "c", 20, None),
            (2, "x", 1, 4),
            (3, "k", 1, None),
            (4, "n", 1, None),
        ], name


TRUNCATES = [
    "values (1, 'a', 1), (2, 'b', 1), (3, 'c', 9)",
    "values (null, 'T', 5), (1, 'late', 4), (4, 'd', 6)",
    "values (2, 'late', 3), (5, 'e', 7)",
]
PICTURES = [
    "values (1, 'a', 1), (2, 'b', 1)",
    "values (1, 'z', 2), (3, 'c', 2)",
    "values (1, 'z', 3), (2, 'again', 3), (3, 'c', 3)",
]
PYTHON = """
    def model(dbt, spark):
        dbt.config(materialized="apply_changes", unique_key="id", meta={{"dbt_cdc": {options}}})
        return spark.sql({query!r})
"""


def test_every_kind_of_model_is_brought_up_to_what_a_killed_run_recorded(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before the MERGE, and between it and the mark that it was done; then another batch comes."""
    truncating = {**OPTIONS, "stored_as_scd_type": 1, "apply_as_truncates": "id is null"}
    pictured = {"sequence_by": "seq", "stored_as_scd_type": 2, "source_kind": "snapshot", "except_column_list": ["seq"]}
    known = {**OPTIONS, "stored_as_scd_type": "bitemporal", "system_sequence_by": "seq * 10"}
    kinds = {"truncating": (truncating, TRUNCATES), "pictured": (pictured, PICTURES), "known": (known, BATCHES)}
    for kind, (options, batches) in kinds.items():
        text = of_batches(batches, options)
        project.write({f"models/{kind}_{place}.sql": text for place in ("merge", "mark")})
    killed = set()

    def look(sql: str) -> None:
        found = finds(r"merge into \S+\.(\w+_merge) ", sql)
        found = found or finds(r"insert into \S+\.(\w+_mark)__events .*'applied'", sql)
        if found and armed:
            killed.add(found[1])
            raise RuntimeError("killed")

    watch(monkeypatch, look)
    for run, armed in enumerate((False, True, False)):
        python = PYTHON.format(options=OPTIONS, query=f"select * from {BATCHES[run]} as t(id, v, seq)")
        project.write({f"models/python_{place}.py": python for place in ("merge", "mark")})
        project.invoke("run", "--vars", f"{{run: {run}}}")
        if armed:
            assert killed == {f"{kind}_{place}" for kind in [*kinds, "python"] for place in ("merge", "mark")}
    # the run that shows what a killed one recorded counts it, too
    told = {name: result["message"] for name, result in project.run_results().items()}
    assert told["truncating_merge"] == "APPLY CHANGES (2 events: 2 inserted, 0 updated, 2 deleted)"
    assert told["truncating_mark"] == "APPLY CHANGES (2 events: 1 inserted, 0 updated, 0 deleted)"
    assert told["pictured_merge"] == "APPLY CHANGES (1 events: 3 inserted, 2 updated, 0 deleted)"
    assert told["pictured_mark"] == "APPLY CHANGES (1 events: 1 inserted, 0 updated, 0 deleted)"
    for place in ("merge", "mark"):
        rows = project.rows(f"select * from {{schema}}.truncating_{place} order by 1")
        assert rows == [(3, "c"), (4, "d"), (5, "e")], place
        assert project.rows(f"select * from {{schema}}.pictured_{place} order by 1, 3") == [
            (1, "a", 1, 2),
            (1, "z", 2, None),
            (2, "b", 1, 2),
            (2, "again", 3, None),
            (3, "c", 2, None),
        ], place
        assert project.rows(f"select * from {{schema}}.python_{place} order by 1, 3") == EXPECTED, place
        # (1, b) of 5 and 7 was known before (1, a) of 10
        assert project.rows(f"select * from {{schema}}.known_{place} order by 1, 5, 3") == [
            (1, "b", 5, None, 50, 100),
            (1, "b", 5, 10, 100, None),
            (1, "a", 10, None, 100, 200),
            (1, "a", 10, 20, 200, None),
            (1, "c", 20, None, 200, None),
            (2, "x", 1, None, 10, 20),
            (2, "x", 1, 2, 20, None),
            (2, "y", 2, None, 20, 40),
            (2, "y", 2, 4, 40, None),
            (3, "k", 1, None, 10, None),
            (4, "n", 1, None, 10, None),
            (5, "o", 1, None, 10, None),
        ], place


OTHERS = [
    "(1, 7, 'upsert', 11L, 'other', 'b'), (2, 2, 'upsert', 12L, 'other', 'y'), (5, 1, 'upsert', 13L, 'other', 'o')",
    marker("begun"),
]
IMAGES = """
    {{ config(materialized='apply_changes', unique_key='id', meta={'dbt_cdc': {
        'sequence_by': 'ver', 'source_kind': 'snapshot', 'except_column_list': ['ver']}}) }}
    {% if var('run') == 0 %} select * from values (1, 'a', 1), (2, 'b', 1) as t(id, v, ver)
    {% else %} select * from values (1, 'z', 3), (2, 'b', 3) as t(id, v, ver) {% endif %}
"""


class OtherRun:
    """Another run of a model, at one moment of ours: what it writes in one of our statements' place or after it."""

    def __init__(self, project: Project) -> None:
        self.project, self.met, self.killing, self.recorded = project, set[str](), True, 0

    def before(self, statement: str) -> None:
        if self.meets("second", r"create table \S+\.second__dbt_tmp", statement):
            self.project.sql(f"create table {{schema}}.second__events (id int) using {self.project.file_format}")
        if self.meets("raced", r"merge into \S+\.raced ", statement):
            self.record("raced")
        if self.meets("overtaken", r"merge into \S+\.overtaken ", statement):
            self.record("overtaken")
            self.show("overtaken")
            self.project.sql("insert into {schema}.overtaken values (5, 'o', 1, null)")

        if finds(r"merge into \S+\.restless ", statement) and self.killing:  # others keep coming
            self.recorded += 1
            batch = f"other_{self.recorded}"
            event = f"(6, {self.recorded}, 'upsert', 11L, '{batch}', '{self.recorded}')"
            self.record("restless", event, marker("begun", batch))
        if self.meets("halfway", r"insert into \S+\.halfway__events .* 'begun' ", statement):
            event = "(2, 2, 'upsert', 11L, 'other', 'B')"  # an image of version 2
            self.record("halfway", event, "(null, 2, 'begun', null, 'other', null)", marker("applied"))
            self.project.sql("update {schema}.halfway set v = 'B' where id = 2")
        self.meets("unmarked, recorded", r"insert into \S+\.unmarked__events .* 'begun' ", statement)
        marks = r"insert into \S+\.unmarked__events .*'applied'"
        if "unmarked, recorded" in self.met and self.meets("unmarked", marks, statement):
            self.take_back("unmarked")  # after its last look at what others have recorded
        if "stale" in self.met and re.search(r"purge_due.*\bstale__events", statement, re.S) and self.killing:
            raise RuntimeError("killed")  # before it looks whether another run has come in between

    def after(self, statement: str) -> None:
        if self.meets("stale", r"create table \S+\.stale__dbt_tmp_\w+_changes ", statement):
            self.record("stale")
            self.show("stale")
            self.project.sql("delete from {schema}.stale")
            self.project.sql(
                f"insert into {{schema}}.stale values {', '.join(map(str, EXPECTED)).replace('None', 'null')}"
            )
        if self.meets("early", r"create or replace table \S+\.early ", statement):
            self.record("early")  # and showed it, in a table that ours has just replaced
            self.show("early")
        if self.meets("undone", r"create or replace table \S+\.undone ", statement):
            self.record("undone")
            self.show("undone")
            raise RuntimeError("killed")
        for name in ("outdone", "finished"):
            if self.meets(name, rf"create or replace table \S+\.{name} ", statement):
                self.record(name)
                self.show(name)
                # in the place of ours there is another's, not done yet, or done
                of_ledger = f"show tblproperties {{schema}}.{name}__events ('dbt_cdc.generation')"
                done = self.project.rows(of_ledger)[0][1] if name == "finished" else " ".join("not done: other")
                self.project.sql(f"alter table {{schema}}.{name} set tblproperties ('dbt_cdc.generation' = '{done}')")
        if self.meets("wider", r"create or replace table \S+\.wider ", statement):
            self.project.sql("alter table {schema}.wider__events add columns (w string)")
            self.record("wider")
            self.project.sql("update {schema}.wider__events set w = 'wide' where id = 5")
            self.show("wider")
        if self.meets("taken", r"create table \S+\.taken__dbt_tmp_\w+_changes ", statement):
            self.take_back("taken")
        if self.meets("pictures", r"insert into \S+\.pictures__events .* 'begun' ", statement):
            columns = "id, _dbt_cdc_sequence, _dbt_cdc_kind, _dbt_cdc_batch"
            markers = "(null, 2, 'begun', 'other'), (null, null, 'applied', 'other')"
            self.project.sql(f"insert into {{schema}}.pictures__events ({columns}) values {markers}")
            self.project.sql("update {schema}.pictures set v = 'z' where id = 1")  # our event, shown by the other run
        if "halfway" in self.met and self.killing and re.search(r"insert into \S+halfway__events", statement):
            raise RuntimeError("killed")  # before it looks whether another run has come in between

    def take_back(self, model: str) -> None:
        """A third run, to which ours looks like one that was killed: another has recorded an image beside it."""
        events, marker = f"{{schema}}.{model}__events", "_dbt_cdc_kind = 'begun' and _dbt_cdc_sequence = 3"
        own = self.project.rows(f"select _dbt_cdc_batch from {events} where {marker}")[0][0]
        self.project.sql(f"delete from {events} where _dbt_cdc_batch = '{own}' and _dbt_cdc_kind <> 'begun'")
        self.project.sql(
            f"update {events} set _dbt_cdc_batch = '{own}-all-keys', _dbt_cdc_sequence = null, _dbt_cdc_columns = null"
            f" where _dbt_cdc_batch = '{own}'"
        )
        self.project.sql(f"update {{schema}}.{model} set v = 'a' where id = 1")
        self.show(model)

    def meets(self, model: str, pattern: str, statement: str) -> bool:
        if model in self.met or not finds(pattern, statement):
            return False
        self.met.add(model)
        return True

    def record(self, model: str, *rows: str) -> None:
        self.project.sql(record(model, *(rows or OTHERS)))

    def show(self, model: str) -> None:
        """It marks all that is recorded, ours as well, as a run does that finishes what it finds."""
        begun = (
            f"select distinct 'applied', _dbt_cdc_batch from {{schema}}.{model}__events where _dbt_cdc_kind = 'begun'"
        )
        self.project.sql(f"insert into {{schema}}.{model}__events (_dbt_cdc_kind, _dbt_cdc_batch) {begun}")


def test_what_another_run_records_meanwhile_is_shown_as_well(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("raced", "overtaken", "early", "undone", "outdone", "finished")
    text = of_batches([BATCHES[n] for n in (0, 1, 0)])
    project.write(
        {f"models/{name}.sql": text for name in (*names, "wider", "second", "stale", "restless")}
        | {f"models/{name}.sql": IMAGES for name in ("pictures", "halfway", "taken", "unmarked")}
    )
    other = OtherRun(project)
    watch(monkeypatch, other.before, other.after)
    said = project.error("run", "--vars", "{run: 0}")
    assert "another run of this model made its tables at the same time and was first: run it again" in said
    assert project.tables() & {"second", "second__events"} == {"second__events"}
    project.remove("models/second.sql")
    results = project.run_results()
    assert {name for name in (*names, "wider", "pictures") if results[name]["status"] == "error"} == {
        "undone",
        "outdone",
        "wider",
    }
    assert "made its tables at the same time and was first: run it again" in results["outdone"]["message"]
    assert "has added the column(s) w at the same time: run it again" in results["wider"]["message"]
    assert "its table does not count" in results["wider"]["message"]
    assert project.rows("select * from {schema}.early order by 1, 3") == [
        (1, "b", 7, 10),
        (1, "a", 10, None),
        (2, "x", 1, 2),
        (2, "y", 2, None),
        (3, "k", 1, None),
        (5, "o", 1, None),
    ]
    message = project.error("run", "--vars", "{run: 1}")
    assert "another run of this model has recorded an image at the same time: run it again" in message
    results = project.run_results()
    failed = ("pictures", "halfway", "taken", "unmarked", "stale", "restless")
    assert {name: results[name]["status"] for name in (*names, "wider", *failed)} == {
        **dict.fromkeys((*names, "wider"), "success"),
        **dict.fromkeys(failed, "error"),
    }
    for name in ("taken", "unmarked"):
        assert "its image was taken back by that run" in results[name]["message"]
    assert "other runs of this model keep recording events while this one writes" in results["restless"]["message"]
    assert "its events are kept in" in results["restless"]["message"]
    assert other.recorded == 3
    assert other.met | {"restless"} == {*names, *failed, "wider", "second", "unmarked, recorded"}
    for name in names:
        assert project.rows(f"select * from {{schema}}.{name} order by 1, 3") == EXPECTED, name
    wide = [(*row[:2], "wide" if row[0] == 5 else None, *row[2:]) for row in EXPECTED]
    assert project.rows("select id, v, w, __START_AT, __END_AT from {schema}.wider order by 1, 4") == wide
    assert project.rows("select * from {schema}.pictures order by 1") == [(1, "a"), (2, "b")]
    assert project.rows("select * from {schema}.halfway order by 1") == [(1, "a"), (2, "B")]
    for name in ("taken", "unmarked"):
        assert project.rows(f"select * from {{schema}}.{name} order by 1") == [(1, "a"), (2, "b")]

    # its own events and what others had recorded by its third look
    own = [(1, "b", 5, 10), (1, "a", 10, 20), (1, "c", 20, None), (2, "x", 1, 4), (3, "k", 1, None), (4, "n", 1, None)]
    assert project.rows("select * from {schema}.restless order by 1, 3") == [*own, (6, "1", 1, 2), (6, "2", 2, None)]

    other.killing = False
    project.dbt("run", "--vars", "{run: 2}", "--select", "raced", *failed)
    for name in ("raced", "stale"):
        assert project.rows(f"select * from {{schema}}.{name} order by 1, 3") == EXPECTED, name
    late = [(6, "1", 1, 2), (6, "2", 2, 3), (6, "3", 3, None)]
    assert project.rows("select * from {schema}.restless order by 1, 3") == [*own, *late]
    assert project.rows("select * from {schema}.pictures order by 1") == [(1, "z"), (2, "b")]
    for name in ("taken", "unmarked"):
        assert project.rows(f"select * from {{schema}}.{name} order by 1") == [(1, "z"), (2, "b")]
    # its image was compared with one older than the other's, so that it had no event of 2: taken back, and given again
    assert project.rows("select * from {schema}.halfway order by 1") == [(1, "z"), (2, "b")]
    events = (
        "select id, _dbt_cdc_sequence, v from {schema}.halfway__events where _dbt_cdc_kind = 'upsert' order by 1, 2"
    )
    assert project.rows(events) == [(1, 1, "a"), (1, 3, "z"), (2, 1, "b"), (2, 2, "B"), (2, 3, "b")]
    applied = "select count(*) from {schema}.raced__events where _dbt_cdc_batch = 'other' and _dbt_cdc_kind = 'applied'"
    assert project.rows(applied) == [(1,)]


@pytest.mark.one_format("iceberg")
def test_an_image_stays_that_another_run_has_taken_for_killed_and_built_on(project: Project) -> None:
    project.write({"models/built_on.sql": IMAGES})
    project.dbt("run", "--vars", "{run: 0}")
    ledger = "{schema}.built_on__events"
    began = f"from {ledger} where _dbt_cdc_kind = 'begun' and _dbt_cdc_sequence = 3"
    others = [
        "update {schema}.built_on set v = 'z' where id = 1",
        f"insert into {ledger} (_dbt_cdc_kind, _dbt_cdc_batch, _dbt_cdc_processed_at)"
        f" select 'applied', _dbt_cdc_batch, now() {began}",
        # its own image, of version 4, is as that of version 3
        f"insert into {ledger} (_dbt_cdc_sequence, _dbt_cdc_kind, _dbt_cdc_batch) values"
        " (4, 'begun', 'other'), (null, 'applied', 'other')",
    ]
    with meanwhile(project.sql, {"built_on": (RECORDS, others)}, after=True):
        project.dbt("run", "--vars", "{run: 1}")
    assert project.rows("select * from {schema}.built_on order by id") == [(1, "z"), (2, "b")]
    if project.file_format == "delta":  # beside a blind append another run could take the image back
        commits = project.spark.sql(f"describe history {project.schema}.built_on__events limit 1")
        assert [row["isBlindAppend"] for row in commits.collect()] == [False]
    events = f"select id, _dbt_cdc_sequence, v from {ledger} where _dbt_cdc_kind = 'upsert' order by 1, 2"
    assert project.rows(events) == [(1, 1, "a"), (1, 3, "z"), (2, 1, "b")]
    versions = f"select _dbt_cdc_sequence from {ledger} where _dbt_cdc_kind = 'begun' order by 1"
    assert project.rows(versions) == [(1,), (3,), (4,)]
    older = 'version {"version":3} is older than the last one applied, {"version":4}'
    assert older in project.error("run", "--vars", "{run: 1}")


def test_what_a_killed_run_recorded_is_shown_also_where_the_next_batch_has_a_new_column(project: Project) -> None:
    growing = header(config="on_schema_change='append_new_columns',")
    project.write({"models/grown.sql": growing + f"select * from {BATCHES[0]} as t(id, v, seq)"})
    project.dbt("run")
    project.sql(record("grown", "(4, 1, 'upsert', 11L, 'killed', 'n')", marker("begun", "killed")))
    project.write({"models/grown.sql": growing + "select 5 as id, 'o' as v, 'new' as more, 1 as seq"})
    with killed_at(r"alter table \S+\.grown__events add columns"):
        project.error("run")
    # the ledger is the last to get it: a run that knows the column there knows it of the table, too
    wider = {name for name in ("grown", "grown__events") if "more" in dict(project.columns(name))}
    assert wider == {"grown"}
    project.dbt("run")
    assert project.rows("select * from {schema}.grown order by id") == [
        (1, "a", 10, None, None),
        (2, "x", 1, None, None),
        (3, "k", 1, None, None),
        (4, "n", 1, None, None),
        (5, "o", 1, None, "new"),
    ]


#: As OPTIONS, without history.
LATEST = {**OPTIONS, "stored_as_scd_type": 1}


def test_what_a_purge_takes_from_under_another_run_is_mended_by_the_next(project: Project) -> None:
    batches = ["values (1, null, 10), (2, 'b', 1)", "values (3, 'c', 1)"]
    project.write({"models/purged.sql": of_batches(batches, LATEST)})
    project.dbt("run", "--vars", "{run: 0}")
    # a late event, of a run that has seen the delete of 10 and so leaves the table as it is
    recorded = record("purged", "(1, 5, 'upsert', 11L, 'other', 'late')", *MARKERS)
    forgets = "merge into {}__events as recorded using \\( with due"
    with meanwhile(project.sql, {"purged": (forgets, [recorded])}, after=True):
        project.dbt(
            "run-operation", "purge_tombstones", "--args", "{model: purged, retention: 0 seconds}", "--vars", "{run: 0}"
        )
    events = "select id, _dbt_cdc_sequence, v from {schema}.purged__events where _dbt_cdc_kind in ('upsert', 'delete')"
    assert sorted(project.rows(events)) == [(1, 5, "late"), (2, 1, "b")]
    assert project.rows("select * from {schema}.purged order by id") == [(2, "b")]
    project.dbt("run", "--vars", "{run: 1}")
    assert project.rows("select * from {schema}.purged order by id") == [(1, "late"), (2, "b"), (3, "c")]
    marks = "select _dbt_cdc_kind, count(*) from {schema}.purged__events where _dbt_cdc_batch like '%-all-keys' group by all"
    assert sorted(project.rows(marks)) == [("applied", 1), ("begun", 1)]


#: Where a run records its events, having read those of its keys.
RECORDS = "insert into {}__events "
#: What each model is given, run by run, while others are at work.
BESIDE_OTHERS = {
    "hidden": ("values (1, 'a', 1)", "values (1, 'mine', 15)"),
    # the delete that is given beside a late event is no longer known, either, by the time that event is recorded
    "taken": (
        "values (1, null, 10), (2, 'b', 1), (3, null, 10)",
        "values (1, 'late', 5), (3, 'late', 5), (3, null, 10)",
    ),
    # nor is the delete that wins over an upsert of its sequence, which an earlier purge has taken
    "taken1": (
        "values (1, 'x', 10), (1, null, 10), (2, 'b', 1)",
        "values (1, 'x', 10), (1, null, 10), (1, 'late', 5), (3, 'c', 1)",
    ),
    # from here on, the other run's configuration has truncates
    "cut": ("values (1, 'a', 1), (2, 'b', 1)", "values (1, 'mine', 20), (2, 'late', 5)"),
    "left_over": ("values (1, 'a', 1)", "values (cast(null as int), 'b', 2)"),
    "wider": ("values (1, 'a', 1), (2, 'b', 1)", "values (1, 'mine', 20)", "values (2, 'b', 1)"),
    "purging": ("values (1, 'a', 1), (2, 'b', 1)", "values (1, 'mine', 20)", "values (1, 'mine', 20)"),
}


def with_new_column(table: str) -> list[str]:
    """What a run does that brings the column `more`."""
    markers = "(null, null, 'begun', null, 'other', null, null), (null, null, 'applied', null, 'other', null, null)"
    return [
        f"alter table {{schema}}.{table} add columns (more string)",
        f"alter table {{schema}}.{table}__events add columns (more string)",
        f"insert into {{schema}}.{table}__events ({LEDGER}, more) values (1, 10, 'upsert', 11L, 'other', 'its', 'x'), {markers}",
        f"update {{schema}}.{table} set v = 'its', more = 'x' where id = 1",
    ]


@dataclass
class Seen:
    """The models of BESIDE_OTHERS after the run that met others, and what that said."""

    project: Project
    rows: dict[str, list[tuple[Any, ...]]]
    messages: dict[str, str]


@pytest.fixture(scope="module")
def seen(spark: SparkSession, target: dict[str, Any]) -> Iterator[Seen]:
    with shared_project(spark, target) as project:
        for name, batches in BESIDE_OTHERS.items():
            project.write({f"models/{name}.sql": of_batches(batches, OPTIONS if name == "taken" else LATEST)})
        project.dbt("run", "--vars", "{run: 0}")
        project.sql(record("hidden", marker("purged")))
        project.sql(record("left_over", "(2, 1, 'upsert', 11L, 'killed', 'its')", marker("begun", "killed")))
        project.sql("update {schema}.purging__events set _dbt_cdc_processed_at = now() - interval 3 days")
        first, *rest = with_new_column("purging")
        project.sql(first)
        recorded = record("hidden", "(1, 20, 'upsert', 11L, 'other', 'newer')", *MARKERS)
        purged = "(_dbt_cdc_kind, _dbt_cdc_batch, _dbt_cdc_processed_at) values ('purged', 'other', now())"
        project.sql("delete from {schema}.taken1__events where v = 'x'")
        purge = "delete from {schema}.%s__events where _dbt_cdc_kind = 'delete'"
        others = {
            "hidden": (RECORDS, [recorded, "update {schema}.hidden set v = 'newer' where id = 1"]),
            **{
                name: (RECORDS, [purge % name, f"insert into {{schema}}.{name}__events {purged}"])
                for name in ("taken", "taken1")
            },
            "wider": (RECORDS, with_new_column("wider")),
            "cut": (
                RECORDS,
                [record("cut", "(null, 15, 'truncate', null, 'other', null)", *MARKERS), "delete from {schema}.cut"],
            ),
            "purging": ("merge into {}__events as recorded", rest),
        }
        with meanwhile(project.sql, others):
            project.error("run", "--vars", "{run: 1}")
        rows = {name: project.rows(f"select * from {{schema}}.{name} order by id") for name in BESIDE_OTHERS}
        results = project.run_results()
        failed = {name: results[name]["message"] for name in BESIDE_OTHERS if results[name]["status"] == "error"}
        project.dbt("run", "--vars", "{run: 2}", "--select", "wider", "purging")
        yield Seen(project, rows, failed)


def test_a_run_sees_what_another_records_after_its_purge(seen: Seen) -> None:
    assert seen.rows["hidden"] == [(1, "newer")]
    assert seen.rows["cut"] == [(1, "mine")]


def test_a_run_that_records_after_a_purge_has_ended_looks_again_at_what_it_took(seen: Seen) -> None:
    assert seen.rows["taken"] == [(1, "late", 5, None), (2, "b", 1, None), (3, "late", 5, 10)]
    assert seen.rows["taken1"] == [(2, "b"), (3, "c")]
    deletes = "select count(*) from {schema}.taken__events where _dbt_cdc_kind = 'delete'"
    purge = ("run-operation", "purge_tombstones", "--args", "{model: taken, retention: 0 seconds}")
    seen.project.dbt(*purge, "--vars", "{run: 1}")
    marked = (
        "select count(*) from {schema}.taken__events where _dbt_cdc_kind = 'purged' and _dbt_cdc_batch like 'purge-%'"
    )
    assert [seen.project.rows(deletes), seen.project.rows(marked)] == [[(1,)], [(1,)]]


def test_a_refused_batch_says_that_an_interrupted_run_was_finished_before_it(seen: Seen) -> None:
    error = seen.messages["left_over"]
    assert "can't run, what an interrupted run had recorded is shown now, nothing of this batch was written:" in error
    assert "1 row(s) have NULL in the key id" in error
    assert seen.rows["left_over"] == [(1, "a"), (2, "its")]


@pytest.mark.parametrize("table", ["wider", "purging"])
def test_a_run_that_meets_a_new_column_of_another_leaves_its_events_to_the_next(seen: Seen, table: str) -> None:
    """While it records its own events; or before that, while it forgets old deletes, and with one table of two wider when it began."""
    assert seen.messages.keys() == {"left_over", "wider", "purging"}
    error = "another run of this model has added the column(s) more at the same time: run it again"
    assert error in seen.messages[table]
    assert seen.rows[table] == [(1, "its", "x"), (2, "b", None)]
    assert seen.project.rows(f"select * from {{schema}}.{table} order by id") == [(1, "mine", None), (2, "b", None)]


def test_a_run_whose_tables_another_makes_anew_meanwhile_leaves_them_alone(project: Project) -> None:
    batches = ["values (1, 'z', 0), (1, 'a', 1)", "values (1, 'b', 2)"]
    project.write({"models/anew.sql": of_batches(batches, LATEST)})
    project.dbt("run", "--vars", "{run: 0}")

    def made_anew(by: str) -> list[str]:
        # by a full refresh that gave the same
        markers = ", ".join(f"('{kind}', '{by}')" for kind in ("begun", "applied"))
        generation = f"set tblproperties ('dbt_cdc.generation' = '{by}')"
        return [
            *(f"alter table {{schema}}.{table} {generation}" for table in ("anew__events", "anew")),
            f"insert into {{schema}}.anew__events (_dbt_cdc_kind, _dbt_cdc_batch) values {markers}",
        ]

    recorded = "select _dbt_cdc_sequence from {schema}.anew__events where _dbt_cdc_kind = 'upsert' order by 1"
    # while it makes its batch, before a purge that is due, and before it records its events
    for number, (moment, written, events) in enumerate(
        [
            ("create table {}__dbt_tmp_", "nothing was written", [(0,), (1,)]),
            ("create table {}__dbt_tmp_\\w+_touched", "nothing was written", [(0,), (1,)]),
            (RECORDS, "its events are kept in", [(1,), (2,)]),
        ]
    ):
        with meanwhile(project.sql, {"anew": (moment, made_anew(f"run {number}"))}):
            error = project.error("run", "--vars", "{run: 1}")
        assert "another run of this model made its tables at the same time and was first: run it again" in error
        assert written in error
        assert project.rows("select * from {schema}.anew") == [(1, "a")]
        assert project.rows(recorded) == events
        project.sql("update {schema}.anew__events set _dbt_cdc_processed_at = now() - interval 3 days")
    project.dbt("run", "--vars", "{run: 1}")
    assert project.rows("select * from {schema}.anew") == [(1, "b")]


@pytest.mark.only_format("delta")  # which makes a table's folder first, and then tells the catalog
def test_folders_left_by_a_kill_while_tables_were_made_are_in_nobodys_way(project: Project) -> None:
    logged = "'change_log': 'key_op'"
    project.write(
        {
            "models/staff.sql": f"""
                {{{{ config(materialized='apply_changes', unique_key='id', meta={{'dbt_cdc': {{'sequence_by': 'seq', {logged}}}}}) }}}}
                select 1 as id, 5 as seq
            """,
            "models/extract.py": f"""
                def model(dbt, spark):
                    dbt.config(materialized="hash_diff", unique_key="id", meta={{'dbt_cdc': {{{logged}}}}})
                    return spark.sql("select 2 as id, 'a' as v")
            """,
            "models/reader.sql": """
                {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
                select id, seq, _op from {{ dbt_cdc.ref_changes('staff', by='version') }}
            """,
        }
    )
    folder = project.rows("describe schema {schema}")
    location = next(value for name, value in folder if name == "Location")
    logs = {"staff__changes", "extract__changes"}
    made = {"cdc_metadata", "staff", "staff__events", "extract__base", "extract__history", *logs}
    for name in made:
        project.sql(f"create table {{schema}}.left_over (a int) using delta location '{location}/{name}'")
        project.sql("drop table {schema}.left_over")
    assert project.tables() == set()
    for _ in range(2):
        project.dbt("run")
        assert project.tables() == {*made, "extract", "reader"}
        assert project.rows("select * from {schema}.staff") == [(1, 5)]
        assert project.rows("select id, v from {schema}.extract") == [(2, "a")]
        assert project.rows("select * from {schema}.reader") == [(1, 5, "i")]
        assert [project.rows(f"select op from {{schema}}.{log}") for log in logs] == [[("i",)], [("i",)]]


def test_a_killed_full_refresh_with_another_key_of_its_log_is_finished_by_the_next_run(project: Project) -> None:
    batches = ["values (1, 'a', 1), (2, 'b', 1)", "values (1, 'a2', 2)", "values (3, 'c', 3)"]
    logged = {**OPTIONS, "change_log": "data_before_after"}
    project.write({"models/m.sql": of_batches(batches, {**logged, "stored_as_scd_type": 1})})
    project.dbt("run", "--vars", "{run: 0}")
    project.write({"models/m.sql": of_batches(batches, logged)})
    with killed_at(r"create (or replace )?table \S+\.m "):
        project.error("run", "--full-refresh", "--vars", "{run: 1}")
    assert project.rows("select * from {schema}.m order by id") == [(1, "a"), (2, "b")]
    project.dbt("run", "--vars", "{run: 2}")
    assert project.rows("select * from {schema}.m order by id") == [(1, "a2", 2, None), (3, "c", 3, None)]
    assert project.rows("select op, before, after.id from {schema}.m__changes order by 3") == [
        ("i", None, 1),
        ("i", None, 3),
    ]

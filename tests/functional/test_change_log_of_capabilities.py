"""The log of apply_changes models, hash_diff models and snapshots: written with its change, streamed, replayed."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from dbt_cdc._hash_diff_history import History
from dbt_cdc._hash_diff_tables import Tables
from tests.support.changes import Changes
from tests.support.project import Project, words_of
from tests.support.statements import finds, meanwhile, watch

APPLIED = """
    {{ config(materialized='apply_changes', unique_key='id',
              meta={'dbt_cdc': {'sequence_by': 'seq', 'apply_as_deletes': "op = 'd'", 'except_column_list': ['op', 'seq'],
                                'change_log': 'data_before_after'}}) }}
    select * from {{ source('given', 'events') }} where batch <= {{ var('batch') }}
"""
#: SCD 2: the second batch brings an event late, between the two of the first.
VERSIONS = """
    {{ config(materialized='apply_changes', unique_key='id', alias='dated',
              meta={'dbt_cdc': {'sequence_by': 'seq', 'stored_as_scd_type': 2, 'except_column_list': ['seq', 'batch'],
                                'change_log': 'data_before'}}) }}
    select * from values (1, 'a', 1, 1), (1, 'c', 10, 1), (1, 'b', 5, 2) as events (id, v, seq, batch)
    where batch <= {{ var('batch') }}
"""
REPLAYED = """
    {{ config(materialized='apply_changes', unique_key='id',
              meta={'dbt_cdc': {'sequence_by': 'ts', 'apply_as_deletes': "op = 'd'", 'except_column_list': ['op', 'ts']}}) }}
    select image.*, op, ts
    from (select if(op = 'd', before, after) as image, op, ts from {{ dbt_cdc.companion(ref('applied'), 'changes') }})
"""
HASHED = """
    def model(dbt, spark):
        dbt.config(materialized="hash_diff")
        return dbt.source("given", "rows")
"""
HASHED_SETTINGS = """
    models:
      - name: applied
        description: Who's who
        config: {grants: {select: [reader]}, persist_docs: {relation: true}}
      - name: hashed
        config:
          unique_key: id
          meta: {dbt_cdc: {change_log: key_op, effective_date: "2024-01-0{{ var('batch') }}", ref_changes_column: seen}}
"""
SNAPSHOT = """
    snapshots:
      - name: snapped
        relation: source('given', 'rows')
        config: {unique_key: id, strategy: check, check_cols: [v], hard_deletes: invalidate,
                 meta: {dbt_cdc: {change_log: data_before}}}
"""
SOURCES = "sources: [{name: given, schema: '%s', tables: [{name: events}, {name: rows}]}]\n"


def stream(project: Project, checkpoint: Path) -> list[tuple[Any, ...]]:
    """Append what the log has gained to `streamed`; all that is there now."""
    name = f"{project.schema}.applied__changes"
    frame = project.spark.readStream.table(name)
    writer = frame.selectExpr("op", "version", "key.id as id").writeStream.format(project.file_format)
    options = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    options.toTable(f"{project.schema}.streamed").awaitTermination()
    return sorted(project.rows("select op, id from {schema}.streamed"))


class LogWrites:
    """Keeps the statements that append to logs; while told to, fails all that write one, as a kill would."""

    def __init__(self) -> None:
        self.failing = False
        self.grants: list[str] = []
        self.statements: dict[str, str] = {}

    def grant(self, statement: str) -> str | None:
        """Keep a statement about grants, which Spark without an authorizer does not know; another to send for it."""
        words = words_of(statement)
        if words.lower().startswith("grant"):
            self.grants.append(words.replace("`", ""))
        return "select 1 limit 0" if re.match("grant|show grant", words.lower()) else None

    def look(self, statement: str) -> None:
        log = re.search(
            r"(merge into|create (?:or replace )?table|drop table if exists) \w+\.(\w+__changes)\b", statement
        )
        if log is None:
            return
        if log[1] == "merge into":
            self.statements[log[2]] = statement
        if self.failing:
            raise RuntimeError("killed")


@pytest.fixture
def log_writes(monkeypatch: pytest.MonkeyPatch) -> LogWrites:
    writes = LogWrites()
    watch(monkeypatch, lambda sql: writes.look(sql) or writes.grant(sql))
    return writes


@pytest.mark.one_format("iceberg")  # what is killed here is not the format's
def test_the_log_of_a_first_load_is_whole_after_empty_and_killed_runs(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = HASHED_SETTINGS.replace("key_op", "data_before_after")
    files = {"models/hashed.py": HASHED, "models/m.yml": settings, "models/s.yml": SOURCES % project.schema}
    project.write({**files, "models/applied.sql": "select 1 as id"})
    project.sql(f"create table {{schema}}.rows using {project.file_format} as select 1 as id, 'a' as v")

    def run(batch: int, *arguments: str) -> None:
        project.dbt("run", "--select", "hashed", *arguments, "--vars", f"{{batch: {batch}}}")

    def log() -> list[tuple[Any, ...]]:
        return project.rows("select op, before.v, after.v from {schema}.hashed__changes order by ts")

    def killed(*_: Any) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(Tables, "confirm", killed)
        assert "killed" in project.error("run", "--select", "hashed", "--vars", "{batch: 1}")
    assert "hashed__base" in project.tables() and "hashed__changes" not in project.tables()
    run(1)
    assert log() == [("i", None, "a")]
    for again in ([], ["--full-refresh"]):
        run(1, "--empty", *again)
        assert log() == ([] if again else [("i", None, "a")])
    for batch in (1, 2, 2):
        run(batch)
    assert log() == [("i", None, "a")]
    project.sql("update {schema}.rows set v = 'b'")
    run(3)
    assert log() == [("i", None, "a"), ("u", "a", "b")]
    assert project.rows("select id, v, operation from {schema}.hashed") == [(1, "b", "U")]

    # killed once the load was whole, before its history was: both loads are in the log
    for begun in (["--full-refresh"], []):
        with monkeypatch.context() as patched:
            patched.setattr(History, "_write", killed)
            assert "killed" in project.error("run", "--select", "hashed", *begun, "--vars", "{batch: 3}")
        project.sql("update {schema}.rows set v = 'c'")
        run(4)
        assert log() == [("i", None, "b"), ("u", "b", "c")]
        kept = log()
        for table in ("hashed__base", "hashed__history"):
            project.sql("drop table {schema}." + table)
        project.sql("drop view {schema}.hashed")
        # the log is all that is left of the loads: it is not begun anew unasked
        message = project.error("run", "--select", "hashed", "--vars", "{batch: 5}")
        assert f"{project.schema}.hashed__changes is the log of a table that is gone" in message
        assert log() == kept and "hashed__base" not in project.tables()
        project.sql("drop table {schema}.hashed__changes")
        project.sql("update {schema}.rows set v = 'b'")


@pytest.mark.only_format("iceberg")
def test_a_first_load_goes_on_with_the_log_that_the_next_run_has_begun(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write(
        {"models/hashed.py": HASHED, "models/m.yml": HASHED_SETTINGS, "models/s.yml": SOURCES % project.schema}
    )
    project.write({"models/applied.sql": "select 1 as id"})
    project.sql("create table {schema}.rows using iceberg as select * from values (1, 'a'), (2, 'a') as t(id, v)")
    stock, log = History._write, "{schema}.hashed__changes"
    newest = "select snapshot_id, committed_at from {schema}.hashed__base.snapshots order by 2 desc limit 1"

    def write(self: History, *arguments: Any, **options: Any) -> None:
        """The load is whole, its history comes; another run begins the log meanwhile, and deletes 2."""
        stock(self, *arguments, **options)
        held = "named_struct('keyhash', keyhash) as key from {schema}.hashed__base where id"
        logged = "select '%s' as op, timestamp'%s' as ts, '%s' as version, "
        version, at = project.rows(newest)[0]
        names = {"change_log": "key_op", "key": "keyhash", "from": version, "upto": version}
        names["from_micros"] = names["upto_micros"] = f"{round(at.timestamp() * 1e6)}"
        properties = ", ".join(f"'dbt_cdc.{name}' = '{' '.join(str(value))}'" for name, value in names.items())
        project.sql(
            f"create table {log} using iceberg tblproperties ({properties}) as "
            + logged % ("i", at, version)
            + held
            + " > 0"
        )
        project.sql("delete from {schema}.hashed__base where id = 2")
        deleted, then = project.rows(newest)[0]
        gone = f" from {log} where key.keyhash not in (select keyhash from {{schema}}.hashed__base)"
        project.sql(f"insert into {log} " + logged % ("d", then, deleted) + "key" + gone)

    with monkeypatch.context() as patched:
        patched.setattr(History, "_write", write)
        project.dbt("run", "--select", "hashed", "--vars", "{batch: 1}")
    ops = "select op, count(*) from {schema}.hashed__changes group by op order by op"
    assert project.rows(ops) == [("d", 1), ("i", 2)]
    assert project.rows("select id from {schema}.hashed") == [(1,)]


@pytest.mark.one_format("iceberg")
def test_the_log_of_a_table_that_is_made_anew_begins_anew_beside_another_run(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"sequence_by": "seq", "except_column_list": ["seq"], "change_log": "key_op"}
    config = f"materialized='apply_changes', unique_key='id', meta={{'dbt_cdc': {options!r}}}"
    rows = "select 1 as id, 'a' as v, 1 as seq union all select 2, '{{ var('v') }}', {{ var('seq') }}"
    project.write({"models/applied.sql": f"{{{{ config({config}) }}}} {rows}"})
    for seq, value in enumerate("bc"):
        project.dbt("run", "--vars", f"{{v: {value}, seq: {seq}}}")
    log = "select op, count(*) from {schema}.applied__changes group by op order by op"
    assert project.rows(log) == [("i", 2), ("u", 1)]
    restarts = "alter table {schema}.applied__changes set tblproperties ('dbt_cdc.restarts' = '%s')"
    noted = []

    def look(sql: str) -> None:
        """Another run goes on with the log while the table is being made, and so takes back that it begins anew."""
        if finds(r"create (or replace )?table \S+\.applied ", sql):
            noted.append(project.rows("show tblproperties {schema}.applied__changes ('dbt_cdc.restarts')"))
            project.sql(restarts % "f a l s e")

    watch(monkeypatch, look)
    # in a full refresh, and where one that was killed is finished
    for seq, full_refresh in enumerate((["--full-refresh"], []), 2):
        if not full_refresh:
            project.sql("alter table {schema}.applied__events set tblproperties ('dbt_cdc.generation' = 'n e w')")
        project.dbt("run", *full_refresh, "--vars", f"{{v: d, seq: {seq}}}")
        assert project.rows(log) == [("i", 2)]
        assert project.rows("select * from {schema}.applied order by id") == [(1, "a"), (2, "d")]
    assert [value for ((_, value),) in noted] == ["t r u e", "t r u e"]

    # a full refresh begins while a run merges: what it noted stays for it; the run that meets it, as that has ended
    # without a new table, goes on
    begins = {"applied": ("merge into {} ", [restarts % "t r u e"])}
    for seq, (others, expected) in enumerate(((begins, "t r u e"), ({}, "f a l s e")), 4):
        with meanwhile(project.sql, others):
            project.dbt("run", "--vars", f"{{v: e{seq}, seq: {seq}}}")
        kept = project.rows("show tblproperties {schema}.applied__changes ('dbt_cdc.restarts')")
        assert [value for _, value in kept] == [expected]
    assert project.rows(log) == [("i", 2), ("u", 2)]


def run_at_once(project: Project, statement: str, times: int) -> list[str]:
    """Run a statement several times at the same time; what those said that were refused."""

    def attempt(_: int) -> str:
        try:
            project.spark.sql(statement)
        except (PySparkException, Py4JJavaError) as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(times) as pool:
        refused = list(pool.map(attempt, range(times)))
    assert "" in refused
    return [message for message in refused if message]


def test_logs_of_all_capabilities_are_whole_stream_once_and_replay_exactly(
    project: Project, tmp_path: Path, log_writes: LogWrites, pytestconfig: pytest.Config
) -> None:
    # as above: of kills where tables are new one format is asked
    kills_first_runs = project.file_format == "iceberg" or pytestconfig.getoption("--every-test")
    changes = Changes(project)
    changes.create("events", "id int, v string, op string, seq int, batch int")
    changes.create("rows", "id int, v string")
    project.sql("create table {schema}.streamed (op string, version string, id int) using " + project.file_format)
    changes.write(
        "events",
        "insert into {t} values (1, 'a', 'u', 1, 1), (2, 'b', 'u', 1, 1), (1, 'c', 'u', 2, 2), (2, null, 'd', 2, 2),"
        " (3, 'e', 'u', 3, 2)",
    )
    project.write(
        {
            "models/applied.sql": APPLIED.replace("['op', 'seq']", "['op', 'seq', 'batch']"),
            "models/replayed.sql": REPLAYED,
            "models/versions.sql": VERSIONS,
            "models/hashed.py": HASHED,
            "models/hashed.yml": HASHED_SETTINGS,
            "models/sources.yml": SOURCES % project.schema,
            "snapshots/snapped.yml": SNAPSHOT,
        }
    )
    changes.write("rows", "insert overwrite {t} values (1, 'a'), (2, 'b')")
    if kills_first_runs:  # between the new tables and their logs
        log_writes.failing = True
        assert project.error("build", "--vars", "{batch: 1}").count("killed") == 4
        log_writes.failing = False
        assert {"applied", "hashed", "snapped", "dated"} <= project.tables()
        assert not {name for name in project.tables() if name.endswith("__changes")}
    project.dbt("build", "--vars", "{batch: 1}")
    assert f"grant select on {project.schema}.applied__changes to reader" in log_writes.grants
    described = project.rows("describe table extended {schema}.applied__changes")
    assert ("Comment", "Who's who", "") in [(name, value, note or "") for name, value, note in described]
    assert stream(project, tmp_path / "checkpoint") == [("i", 1), ("i", 2)]
    changes.write("rows", "insert overwrite {t} values (1, 'c'), (3, 'e')")

    # killed between the tables and their logs, then two who write one log at once
    log_writes.failing = True
    assert project.error("build", "--vars", "{batch: 2}").count("killed") == 4
    log_writes.failing = False
    assert sorted(project.rows("select id, v from {schema}.applied")) == [(1, "c"), (3, "e")]
    for model, logged in {"applied": 2, "hashed": 2, "snapped": 2, "dated": 2}.items():
        assert len(project.rows(f"select * from {{schema}}.{model}__changes")) == logged
    refused = run_at_once(project, log_writes.statements["applied__changes"], 3)
    assert all(re.search("(?i)concurrent|conflicting files", message) for message in refused), refused
    project.dbt("build", "--vars", "{batch: 2}")
    expected = [("d", 2), ("i", 1), ("i", 2), ("i", 3), ("u", 1)]
    assert stream(project, tmp_path / "checkpoint") == expected
    assert stream(project, tmp_path / "checkpoint") == expected

    assert sorted(project.rows("select id, v from {schema}.applied")) == [(1, "c"), (3, "e")]
    assert sorted(project.rows("select id, v from {schema}.replayed")) == [(1, "c"), (3, "e")]
    assert sorted(project.rows("select op, key.id from {schema}.applied__changes")) == expected

    ask = "{{ config(materialized='table') }} select op, before.v, after.v as w, %s as open from {{ dbt_cdc.table_changes(%s) }}"
    project.write(
        {
            "models/of_hashed.sql": ask % ("true", "ref('hashed')"),
            "models/of_versions.sql": ask.replace("%s as open", "before.__END_AT as old, after.__END_AT as new")
            % "ref('versions')",
            "models/of_snapped.sql": ask % ("after.dbt_valid_to is null", "ref('snapped')"),
        }
    )
    project.dbt("run", "--select", "of_hashed", "of_snapped", "of_versions", "--vars", "{batch: 2}")
    told = [("d", "b", None), ("i", None, "a"), ("i", None, "b"), ("i", None, "e"), ("u", "a", "c")]
    assert sorted(project.rows("select op, v, w from {schema}.of_hashed"), key=str) == told
    assert sorted(project.rows("select op, v, w, open from {schema}.of_snapped"), key=str) == [
        ("i", None, "a", True),
        ("i", None, "b", True),
        ("i", None, "c", True),
        ("i", None, "e", True),
        ("u", "a", "a", False),
        ("u", "b", "b", False),
    ]
    assert len(project.rows("select * from {schema}.hashed__changes")) == 5
    assert len(project.rows("select * from {schema}.snapped__changes")) == 6
    assert sorted(project.rows("select op, v, w, old, new from {schema}.of_versions"), key=str) == [
        ("i", None, "a", None, 10),
        ("i", None, "b", None, 10),
        ("i", None, "c", None, None),
        ("u", "a", "a", 10, 5),
    ]
    keys = "select op, key.id, key.__START_AT from {schema}.dated__changes order by ts, key.__START_AT"
    assert project.rows(keys) == [("i", 1, 1), ("i", 1, 10), ("u", 1, 1), ("i", 1, 5)]

    if not kills_first_runs:
        return
    # killed in a full refresh: new tables beside old logs
    log_writes.failing = True
    rebuilt = ("applied", "hashed", "versions")
    assert project.error("run", "--full-refresh", "--select", *rebuilt, "--vars", "{batch: 2}").count("killed") == 3
    log_writes.failing = False
    assert {"applied__changes", "hashed__changes", "dated__changes"} <= project.tables()
    project.dbt("run", "--select", *rebuilt, "--vars", "{batch: 2}")
    for model, key in {"applied": "id", "hashed": "keyhash", "dated": "__START_AT"}.items():
        alive = f"select key.{key} from {{schema}}.{model}__changes group by 1 having max_by(op, ts) != 'd'"
        assert sorted(project.rows(alive)) == sorted(project.rows(f"select {key} from {{schema}}.{model}")), model
        # begun anew, as the tables were
        assert project.rows(f"select distinct op from {{schema}}.{model}__changes") == [("i",)], model


@pytest.mark.one_format("iceberg")
def test_a_sample_takes_of_a_log_what_was_committed_in_its_time(project: Project) -> None:
    options = {"sequence_by": "seq", "except_column_list": ["at", "seq"], "change_log": "key_op"}
    config = f"materialized='apply_changes', unique_key='id', event_time='at', meta={{'dbt_cdc': {options!r}}}"
    project.write(
        {
            "models/applied.sql": f"{{{{ config({config}) }}}} select 1 as id, timestamp'2001-01-01' as at, 1 as seq",
            "models/logged.sql": "{{ config(materialized='table') }}"
            " select key.id, op from {{ dbt_cdc.companion(ref('applied'), 'changes') }}",
        }
    )
    project.dbt("run")
    for sample, rows in {"1 day": [(1, "i")], "{start: '2001-01-01', end: '2001-01-02'}": []}.items():
        project.dbt("run", "--select", "logged", "--sample", sample)
        assert project.rows("select * from {schema}.logged") == rows


LOGGED_BATCHES = """
    {{ config(materialized='apply_changes', unique_key='id',
              meta={'dbt_cdc': {'sequence_by': 'seq', 'apply_as_deletes': "op = 'd'",
                                'except_column_list': ['op', 'seq', 'batch'], 'change_log': 'data_before_after'}}) }}
    select * from values (1, 'a', 'u', 1, 1), (2, 'b', 'u', 1, 1), (1, 'c', 'u', 2, 2), (2, 'b', 'd', 2, 2)
        as events (id, v, op, seq, batch)
    where batch <= {{ var('batch') }}
"""
READER_OF_LOG = """
    {{ config(materialized='incremental', incremental_strategy='merge', unique_key=['id', 'op']) }}
    select log.key.id as id, log.op, log.after.v as v
    from {{ dbt_cdc.ref_changes(dbt_cdc.companion(ref('logged'), 'changes'), column='ts') }} as log
"""


@pytest.mark.one_format("iceberg")
def test_a_reader_takes_what_a_log_has_gained(project: Project) -> None:
    project.write({"models/logged.sql": LOGGED_BATCHES, "models/reader.sql": READER_OF_LOG})
    read = "select id, op, v from {schema}.reader order by id, op"
    project.dbt("run", "--vars", "{batch: 1}")
    assert project.rows(read) == [(1, "i", "a"), (2, "i", "b")]
    project.sql("delete from {schema}.reader")  # what was read is not read again
    project.dbt("run", "--vars", "{batch: 1}")
    assert project.rows(read) == []
    project.dbt("run", "--vars", "{batch: 2}")
    assert project.rows(read) == [(1, "u", "c"), (2, "d", None)]
    edges = project.rows("select source, destination from {schema}.cdc_metadata order by sequence")
    assert edges == [(f"{project.schema}.logged__changes", f"{project.schema}.reader")] * 2
    assert project.tables() == {"logged", "logged__events", "logged__changes", "reader", "cdc_metadata"}

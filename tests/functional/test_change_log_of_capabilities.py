"""The log of apply_changes models, hash_diff models and snapshots: written with its change, streamed, replayed."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.spark import session
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from tests.support.changes import Changes
from tests.support.project import Project

APPLIED = """
    {{ config(materialized='apply_changes', unique_key='id',
              meta={'dbt_cdc': {'sequence_by': 'seq', 'apply_as_deletes': "op = 'd'", 'except_column_list': ['op', 'seq'],
                                'change_log': 'data_before_after'}}) }}
    select * from {{ source('given', 'events') }} where batch <= {{ var('batch') }}
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
      - name: hashed
        config:
          unique_key: id
          meta: {dbt_cdc: {change_log: key_op, effective_date: "2024-01-0{{ var('batch') }}"}}
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
    """Keeps the statements that append to logs and, while told to, fails them as a kill would."""

    def __init__(self) -> None:
        self.failing = False
        self.statements: dict[str, str] = {}

    def look(self, statement: str) -> None:
        log = re.search(r"merge into \w+\.(\w+__changes) as", statement)
        if log is None:
            return
        self.statements[log[1]] = statement
        if self.failing:
            raise RuntimeError("killed")


@pytest.fixture
def log_writes(monkeypatch: pytest.MonkeyPatch) -> LogWrites:
    writes, stock = LogWrites(), session.Cursor.execute

    def execute(self: Any, sql: str, *parameters: Any) -> None:
        writes.look(sql)
        stock(self, sql, *parameters)

    monkeypatch.setattr(session.Cursor, "execute", execute)
    return writes


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
    project: Project, tmp_path: Path, log_writes: LogWrites
) -> None:
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
            "models/hashed.py": HASHED,
            "models/hashed.yml": HASHED_SETTINGS,
            "models/sources.yml": SOURCES % project.schema,
            "snapshots/snapped.yml": SNAPSHOT,
        }
    )
    changes.write("rows", "insert overwrite {t} values (1, 'a'), (2, 'b')")
    project.dbt("build", "--vars", "{batch: 1}")
    assert stream(project, tmp_path / "checkpoint") == [("i", 1), ("i", 2)]
    changes.write("rows", "insert overwrite {t} values (1, 'c'), (3, 'e')")

    # killed between the tables and their logs, then two who write one log at once
    log_writes.failing = True
    assert project.error("build", "--vars", "{batch: 2}").count("killed") == 3
    log_writes.failing = False
    assert sorted(project.rows("select id, v from {schema}.applied")) == [(1, "c"), (3, "e")]
    for model, logged in {"applied": 2, "hashed": 2, "snapped": 2}.items():
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
            "models/of_snapped.sql": ask % ("after.dbt_valid_to is null", "ref('snapped')"),
        }
    )
    project.dbt("run", "--select", "of_hashed", "of_snapped", "--vars", "{batch: 2}")
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

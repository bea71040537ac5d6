"""Readers by ref_changes whose process is really killed: before their write, between write and watermark, and after;
and beside them a table whose run is killed between its write and its change log.

This module is also the program that is killed: `python -m tests.functional.test_edges_killed FOLDER RUN`.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from dbt.cli.main import dbtRunner

from tests.support.processes import environment
from tests.support.project import Project
from tests.support.spark import settings_for_tests, target_of
from tests.support.statements import watch

INPUT = """
    {{ config(materialized='incremental', incremental_strategy='append') }}
    select {{ var('run') }} as id, timestamp_seconds({{ var('run') }}) as cdc_datetime_updated
"""
READER = """
    {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
    select id, {{ var('run') }} as run from {{ dbt_cdc.ref_changes('input') }}
"""
LOGGED = """
    {{ config(materialized='apply_changes', unique_key='id',
              meta={'dbt_cdc': {'sequence_by': 'run', 'change_log': 'data_before_after'}}) }}
    select 1 as id, {{ var('run') }} as run
"""
#: The statement at which each reader stands still, so that the kill meets it there; `after` goes through.
STOPS = {
    "before": r"merge into \S*\bbefore\b",
    "between": r"insert into .*\bcdc_metadata\b.*\.between\b",
    "logged": r"merge into \S*\blogged__changes\b",
}
PASSED = r"insert into .*\bcdc_metadata\b.*\.after\b"


@pytest.mark.long  # runs that end between any two of their writes are those of test_edges and tests/property
@pytest.mark.one_format("iceberg")  # what is killed here is dbt's process
@pytest.mark.timeout(1100)
def test_a_killed_process_loses_and_doubles_nothing(
    tmp_path: Path, table_format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBT_CDC_WAREHOUSE", str(tmp_path / "warehouse"))
    settings = settings_for_tests(table_format, tmp_path / "warehouse", "hive", short_lived=True)
    target = target_of(table_format, settings)
    target["output"]["threads"] = 4
    project = Project(tmp_path / "project", None, "killed", target)
    readers = ["before", "between", "after"]
    project.write({f"models/{name}.sql": READER for name in readers})
    project.write({"models/input.sql": INPUT, "models/logged.sql": LOGGED})

    command = [sys.executable, "-m", "tests.functional.test_edges_killed", str(project.folder)]
    child = subprocess.Popen(
        [*command, "killed"], cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    watchdog = threading.Timer(500, os.killpg, [child.pid, signal.SIGKILL])
    watchdog.start()
    assert child.stdout is not None
    reached: list[str] = []
    for line in child.stdout:
        reached += re.findall("^@@ (.*)$", line)
        if set(reached) == {"run 1", *readers, "logged"}:
            break
    os.killpg(child.pid, signal.SIGKILL)
    watchdog.cancel()
    assert child.wait() == -signal.SIGKILL
    assert set(reached) == {"run 1", *readers, "logged"}

    done = subprocess.run(
        [*command, "again"], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=500, check=True
    )
    told = re.findall("^@@ (.*)$", done.stdout, re.MULTILINE)
    # the row of the killed run is read once more where the watermark had not moved
    assert told == [
        "after [(1, 1), (2, 2), (3, 3)]",
        "before [(1, 1), (2, 3), (3, 3)]",
        "between [(1, 1), (2, 3), (3, 3)]",
        "moves [('after', 3), ('before', 2), ('between', 2)]",
        # what the killed run wrote and did not log is logged, once
        "logged [(1, 3)]",
        "log [('i', None, 1), ('u', 1, 2), ('u', 2, 3)]",
    ]


def _stop_where_told() -> None:
    """Make the readers of this process stand still at their statement of STOPS, and say so."""

    def stop(sql: str) -> None:
        for name, pattern in STOPS.items():
            if re.search(pattern, sql, re.DOTALL):
                print(f"\n@@ {name}", flush=True)
                threading.Event().wait()

    def pass_by(sql: str) -> None:
        if re.search(PASSED, sql, re.DOTALL):
            print("\n@@ after", flush=True)

    watch(pytest.MonkeyPatch(), stop, pass_by)


def _run(folder: str, number: int) -> None:
    command = ["run", "--vars", f"{{run: {number}}}", "--project-dir", folder, "--profiles-dir", folder]
    result = dbtRunner().invoke([*command, "--log-path", f"{folder}/logs", "--quiet"])
    assert result.success, Project.messages(result)


def _main(folder: str, what: str) -> None:
    if what == "killed":
        _run(folder, 1)
        print("\n@@ run 1", flush=True)
        _stop_where_told()
        _run(folder, 2)
    else:
        _run(folder, 3)
        from pyspark.sql import SparkSession

        spark = SparkSession.builder.getOrCreate()
        for name in ["after", "before", "between"]:
            rows = spark.sql(f"select id, run from killed.{name} order by id").collect()
            print(f"\n@@ {name} {[tuple(row) for row in rows]}")
        moves = spark.sql(
            "select substring_index(destination, '.', -1), count(*) from killed.cdc_metadata group by 1 order by 1"
        )
        print(f"\n@@ moves {[tuple(row) for row in moves.collect()]}")
        print(f"\n@@ logged {[tuple(row) for row in spark.table('killed.logged').collect()]}")
        log = spark.sql("select op, before.run, after.run from killed.logged__changes order by ts, op")
        print(f"\n@@ log {[tuple(row) for row in log.collect()]}")


if __name__ == "__main__":
    _main(*sys.argv[1:])

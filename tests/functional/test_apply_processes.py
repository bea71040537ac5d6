"""Two processes on one apply_changes model: at the same time, and one that is killed while a statement runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.support.processes import await_file, environment, put
from tests.support.project import Project

pytestmark = pytest.mark.only_format("delta")  # which lets two processes share tables by their location

MODEL = """
    {{ config(materialized='apply_changes', unique_key='id', meta={'dbt_cdc': {
        'sequence_by': 'seq', 'stored_as_scd_type': 2, 'apply_as_deletes': 'v is null', 'except_column_list': ['seq']}}) }}
    select * from values {{ var('batch') }} as t(id, v, seq)
"""
FIRST = "(1, 'a', 10), (2, 'x', 1), (3, 'k', 1)"
OURS = "(1, 'b', 5), (1, 'c', 20), (2, null, 4)"
THEIRS = "(1, 'b', 7), (2, 'y', 2), (5, 'o', 1)"
KILLED = "(3, 'm', 9), (5, null, 8), (6, 'q', 1)"
LAST = "(6, 'r', 2)"
EXPECTED = [
    (1, "b", 5, 10),
    (1, "a", 10, 20),
    (1, "c", 20, None),
    (2, "x", 1, 2),
    (2, "y", 2, 4),
    (3, "k", 1, 9),
    (3, "m", 9, None),
    (5, "o", 1, 8),
    (6, "q", 1, 2),
    (6, "r", 2, None),
]


def batch(values: str) -> list[str]:
    return ["run", "--vars", str({"batch": values})]


def timed_run(project: Project, values: str) -> tuple[float, float, str]:
    """When a run began, when it ended, and the error it ended with ('' for none)."""
    began = time.time()
    result = project.invoke(*batch(values))
    return began, time.time(), "" if result.success else Project.messages(result)


def test_two_processes_at_once_and_one_killed_in_a_merge_end_as_if_each_had_run_alone(
    project: Project, tmp_path: Path
) -> None:
    project.write({"models/staff.sql": MODEL})
    project.dbt(*batch(FIRST))
    paths = [str(project.place(table)) for table in ("staff", "staff__events")]
    command = [sys.executable, "-m", "tests.functional.test_apply_processes", str(tmp_path / "other"), *paths]
    with subprocess.Popen(command, env=environment()) as other:
        await_file(tmp_path / "other/ready", other)
        (tmp_path / "other/go").touch()
        ours = timed_run(project, OURS)
        await_file(tmp_path / "other/theirs", other)
        theirs = read_run((tmp_path / "other/theirs").read_text())
        (tmp_path / "other/go on").touch()
        assert other.wait(timeout=120) == -signal.SIGKILL
    assert (tmp_path / "other/killed").read_text() == "in a merge, with 1 job or more under way"
    assert max(ours[0], theirs[0]) < min(ours[1], theirs[1]), "the two runs did not meet"
    for values, (_, _, failure) in ((OURS, ours), (THEIRS, theirs)):
        if failure:  # the table format refused the one that came second: it says so, and is given again
            assert "Concurrent" in failure or "concurrent" in failure, failure
            project.dbt(*batch(values))
    assert "" in (ours[2], theirs[2])

    project.dbt(*batch(LAST))  # another batch: what the killed run had recorded is shown with it
    assert project.rows("select * from {schema}.staff order by 1, 3") == EXPECTED
    project.dbt(*batch(KILLED))
    assert project.rows("select * from {schema}.staff order by 1, 3") == EXPECTED


def read_run(text: str) -> tuple[float, float, str]:
    began, ended, failure = text.split("\n", 2)
    return float(began), float(ended), failure


def other_process(folder: Path, target_path: str, events_path: str) -> None:
    """A second project on the same two tables: runs when told to, then is killed in the middle of a MERGE."""
    from tests.support.shared import own_project
    from tests.support.spark import settings_for_tests
    from tests.support.statements import watch

    settings = settings_for_tests("delta", folder / "warehouse", short_lived=True)
    project = own_project(folder, "delta", settings, "other")
    project.sql(f"create table other.staff using delta location '{target_path}'")
    project.sql(f"create table other.staff__events using delta location '{events_path}'")
    project.write({"models/staff.sql": MODEL})
    project.dbt("parse")
    put(folder / "ready", "")
    await_file(folder / "go")
    put(folder / "theirs", "\n".join(map(str, timed_run(project, THEIRS))))
    await_file(folder / "go on")

    merging, context = threading.Event(), project.spark.sparkContext

    def kill() -> None:
        merging.wait()
        tracker = context.statusTracker()
        while not tracker.getActiveJobsIds():
            time.sleep(0.001)
        (folder / "killed").write_text("in a merge, with 1 job or more under way")
        os.kill(context._gateway.proc.pid, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    watch(pytest.MonkeyPatch(), lambda sql: merging.set() if "merge into" in sql else None)
    threading.Thread(target=kill, daemon=True).start()
    project.invoke(*batch(KILLED))


if __name__ == "__main__":
    other_process(Path(sys.argv[1]), *sys.argv[2:])

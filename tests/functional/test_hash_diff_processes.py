"""Two processes on one hash_diff model at the same time: one wins, the other says so, and no table is a mixture."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dbt_cdc._hash_diff_load import Load
from dbt_cdc._hash_diff_tables import Tables
from tests.support.hash_diff import OTHER_WON, Expected, Extract, Model
from tests.support.processes import await_file, environment, put
from tests.support.project import Project

MODEL = """
    def model(dbt, spark):
        dbt.config(materialized="hash_diff", unique_key="id")
        rows = dbt.config.meta_get("rows")
        return spark.sql(f"select * from values {rows} as (id, v, s)")
"""
YAML = """
    models:
      - name: t
        config:
          alias: "{{ var('table') }}"
          meta:
            rows: "{{ var('rows') }}"
            dbt_cdc: {effective_date: "{{ var('day') }}", extract_type: "{{ var('extract') }}", sensitive_columns: [s]}
"""
KINDS = ("base", "history", "sensitive_base")

FIRST: Extract = ("2020-01-01", {1: ("a", "p"), 2: ("b", "q"), 3: ("c", "r")}, "full")
OURS: Extract = ("2020-01-02", {1: ("A", "p"), 2: ("b", "Q"), 4: ("d", "s")}, "full")
THEIRS: Extract = ("2020-01-02", {1: ("a", "P"), 3: ("C", "r"), 5: ("e", "t")}, "full")
NEXT: Extract = ("2020-01-03", {2: ("b", "q"), 5: ("e", "t"), 6: ("f", "u")}, "delta")
LAST: Extract = ("2020-01-04", {1: ("a", "p"), 6: ("f", "U")}, "delta")
FIFTH: Extract = ("2020-01-05", {6: ("F", "U")}, "delta")


def run(project: Project, table: str, given: Extract) -> str:
    """Run the model; the error that it ends with ('' for none)."""
    day, rows, extract = given
    listed = ", ".join(str((key, *values)) for key, values in rows.items())
    variables = {"day": day, "rows": listed, "extract": extract, "table": table}
    result = project.invoke("run", "--vars", json.dumps(variables))
    return "" if result.success else Project.messages(result)


@contextmanager
def meeting(place: Any, name: str, folder: Path, me: str, other: str, *, after: bool = False) -> Iterator[None]:
    """While this lasts, the first of the named step waits, before or after it, until the other process is there, too."""
    step = getattr(place, name)

    def met(*arguments: Any, **options: Any) -> Any:
        setattr(place, name, step)
        done = step(*arguments, **options) if after else None
        put(folder / me, "")
        await_file(folder / other)
        return done if after else step(*arguments, **options)

    setattr(place, name, met)
    yield
    setattr(place, name, step)


class Other:
    """The other process: told what to load by a line, says by a file how it ended."""

    def __init__(self, folder: Path, settings: dict[str, str], schema: str, tables: dict[str, str]) -> None:
        self.folder, self.number = folder, 0
        folder.mkdir()
        command = [sys.executable, "-m", "tests.functional.test_hash_diff_processes", str(folder)]
        self.process = subprocess.Popen(command, env=environment(), stdin=subprocess.PIPE, text=True)
        self._tell({"settings": settings, "schema": schema, "tables": tables})

    def _tell(self, what: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def begin(self, table: str, *given: Extract, meet: str) -> None:
        self._tell({"table": table, "given": given, "meet": meet})

    def ended(self) -> str:
        self.number += 1
        done = self.folder / f"done_{self.number}"
        await_file(done, self.process)
        return done.read_text()


@pytest.mark.timeout(1200)
@pytest.mark.long  # of two runs in one process both formats are asked by test_hash_diff_repeats
@pytest.mark.one_format("iceberg")
def test_two_processes_at_once_end_as_if_one_had_run_after_the_other(
    project: Project, settings: dict[str, str], tmp_path: Path
) -> None:
    project.write({"models/t.py": MODEL, "models/t.yml": YAML})
    shared = project.file_format == "iceberg"  # one catalog for both; Delta's tables are shared by their location
    assert run(project, "t", FIRST) == ""
    paths = {}
    if not shared:
        for kind in KINDS:
            paths[f"t__{kind}"] = str(project.place(f"t__{kind}"))
    other = Other(tmp_path / "other", settings, project.schema if shared else "other", paths)
    folder = other.folder
    loaded = Model(project.spark, project.schema, project.file_format, sensitive_columns=["s"])

    def check(model: Model, *loads: Extract) -> None:
        for kind in KINDS:  # this session may show a table as it knew it
            project.sql(f"refresh table {{schema}}.{model.table}__{kind}")
        model.check(Expected.of([*loads]))

    try:
        # one date given twice: both have compared with the same load when they begin to write
        other.begin("t", THEIRS, meet="_write_sensitive")
        with meeting(Load, "_write_sensitive", folder, "we _write_sensitive", "they _write_sensitive"):
            ours = run(project, "t", OURS)
        theirs = other.ended()
        assert (ours == "") != (theirs == ""), (ours, theirs)
        assert OTHER_WON in ours + theirs
        winner, loser = (THEIRS, OURS) if ours else (OURS, THEIRS)
        check(loaded, FIRST, winner)
        assert run(project, "t", loser) == ""
        check(loaded, FIRST, loser)

        # the next two loads come while this one is about to write its history from an earlier version
        with meeting(Tables, "version", folder, "we are late", "they are through", after=True):
            other.begin("t", LAST, FIFTH, meet="after")
            ours = run(project, "t", NEXT)
        assert (ours, other.ended()) == ("", "")
        check(loaded, FIRST, loser, NEXT, LAST, FIFTH)

        if shared:  # two first loads
            other.begin("u", THEIRS, meet="create")
            with meeting(Tables, "create", folder, "we create", "they create"):
                ours = run(project, "u", OURS)
            theirs = other.ended()
            assert (ours == "") != (theirs == ""), (ours, theirs)
            assert OTHER_WON in ours + theirs
            fresh = Model(project.spark, project.schema, "iceberg", sensitive_columns=["s"], table="u")
            check(fresh, THEIRS if ours else OURS)
            assert run(project, "u", LAST) == ""
            check(fresh, THEIRS if ours else OURS, LAST)
    finally:
        assert other.process.stdin is not None
        other.process.stdin.close()
        other.process.wait(timeout=60)


def other_process(folder: Path) -> None:
    from tests.support.shared import own_project

    told = json.loads(sys.stdin.readline())
    settings, schema = told["settings"], told["schema"]
    table_format = "delta" if told["tables"] else "iceberg"
    project = own_project(folder, table_format, settings, schema)
    for table, path in told["tables"].items():
        project.sql(f"create table {{schema}}.{table} using delta location '{path}'")
    project.write({"models/t.py": MODEL, "models/t.yml": YAML})
    for number, line in enumerate(sys.stdin, 1):
        todo = json.loads(line)
        loads = [
            (day, {int(key): tuple(v) for key, v in rows.items()}, extract) for day, rows, extract in todo["given"]
        ]
        if todo["meet"] == "after":
            await_file(folder / "we are late")
            ended = "".join(run(project, todo["table"], given) for given in loads)
            put(folder / "they are through", "")
        else:
            place = Load if hasattr(Load, todo["meet"]) else Tables
            with meeting(place, todo["meet"], folder, f"they {todo['meet']}", f"we {todo['meet']}"):
                ended = run(project, todo["table"], *loads)
        put(folder / f"done_{number}", ended)
    project.spark.stop()


if __name__ == "__main__":
    other_process(Path(sys.argv[1]))

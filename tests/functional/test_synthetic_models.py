"""The shipped models and the command write what the functions give."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dbt_cdc import synthetic
from dbt_cdc.synthetic.__main__ import _is_table, main
from tests.support.project import Project
from tests.support.spark import ROOT

SIZES: dict[str, Any] = {
    "no_init_recs": 20,
    "no_incr_recs": 25,
    "no_keys": 2,
    "no_nonkeys": 3,
    "pct_del": 0.2,
    "pct_upd": 0.1,
    "pct_unchanged": 0.7,
}
COMMAND = ["20", "25", "2", "3", "0.2", "0.1", "0.7"]
NAMES = ["keycol1", "keycol2", "nonkeycol1", "nonkeycol2", "nonkeycol3"]
DIFFERENCE = """
    select coalesce(sum(int(a.keycol1 is null)), 0), coalesce(sum(int(b.keycol1 is null)), 0),
           sum(int(a.nonkeycol1 <> b.nonkeycol1)), sum(int(a.nonkeycol1 = b.nonkeycol1))
    from {before} a full join {after} b on a.keycol1 = b.keycol1 and a.keycol2 = b.keycol2
"""


@pytest.mark.one_format("delta")
def test_shipped_models_are_off_until_enabled_and_read_the_var(project: Project) -> None:
    project.dbt("run")
    assert project.tables() == set()
    enabled = {"dbt_cdc": {"synthetic": {"+enabled": True}}}
    project.configure(models=enabled, vars={"dbt_cdc": {"synthetic": SIZES}})
    project.dbt("run")
    assert project.tables() == {"synthetic_initial", "synthetic_incremental"}
    assert project.columns("synthetic_incremental") == [(n, "string") for n in NAMES[:2]] + [
        (n, "double") for n in NAMES[2:]
    ]
    tables = {"before": "{schema}.synthetic_initial", "after": "{schema}.synthetic_incremental"}
    assert project.rows(DIFFERENCE.format(**tables)) == [(9, 4, 2, 14)]
    project.dbt("run", "--vars", str({"dbt_cdc": {"synthetic": {**SIZES, "types": ["int"], "seed": 9}}}))
    assert [kind for _, kind in project.columns("synthetic_initial")] == ["string"] * 2 + ["int"] * 3


@pytest.mark.one_format("delta")
def test_shipped_models_name_every_fault_of_the_var_and_leave_the_schema_empty(project: Project) -> None:
    wrong: dict[str, Any] = {"no_init_rec": 20, "no_keys": 0, "skew": -1, "pct_del": 2}
    project.configure(models={"dbt_cdc": {"+enabled": True}}, vars={"dbt_cdc": {"synthetic": wrong}})
    message = project.error("run", "--select", "synthetic_initial")
    assert "unknown option 'no_init_rec', did you mean 'no_init_recs'?" in message
    assert "option 'no_init_recs' is required" in message
    assert "option 'no_nonkeys' is required" in message
    assert "skew must lie between 0 and 100, got -1" in message
    assert "no_keys must be a whole number from 1 to 10000, got 0" in message
    assert "pct_del must be a number from 0 to 1, got 2" in message
    wrong = {**SIZES, "null_share": "0.1", "types": 5, "no_keys": 0, "pct_upd": 0.2, "lod": 2}
    project.configure(models={"dbt_cdc": {"+enabled": True}}, vars={"dbt_cdc": {"synthetic": wrong}})
    message = project.error("run", "--select", "synthetic_initial")
    assert "null_share must be a number between 0 and 0.5, got '0.1'" in message
    assert "types must be the name of a type, or a list of names, got 5" in message
    assert "no_keys must be a whole number from 1 to 10000, got 0" in message
    assert "unknown option 'lod', did you mean 'load'?" in message
    later = project.error("run", "--select", "synthetic_incremental")
    assert "no_keys must be a whole number from 1 to 10000, got 0" in later
    assert "pct_del + pct_upd + pct_unchanged must be exactly 1, got 0.2 + 0.2 + 0.7 = 1.1" in later
    project.configure(models={"dbt_cdc": {"+enabled": True}})
    assert "the var dbt_cdc needs a mapping `synthetic`, got None" in project.error("run")
    assert project.tables() == set()


def files(folder: Path) -> list[list[str]]:
    return [row for part in sorted(folder.glob("*.csv")) for row in csv.reader(part.open())]


@pytest.mark.one_format("delta")
def test_the_command_writes_csv_folders_without_header_and_replaces_what_was_there(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, later = tmp_path / "day1", tmp_path / "day2"
    for _ in range(2):
        assert main([*COMMAND, str(first), str(later)]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        f"{first}: 20 rows",
        f"{later}: 25 rows: 9 new, 2 updated, 14 unchanged (4 deleted)",
    ]
    expected = synthetic.initial(spark, no_init_recs=20, no_keys=2, no_nonkeys=3).collect()
    assert sorted(files(first)) == sorted([*row[:2], *map(java_text, row[2:])] for row in expected)
    assert len(files(later)) == 25


def java_text(number: float) -> str:
    """The shortest text of a double as Java spells it: 1.2E-4 where Python says 0.00012."""
    if number >= 1e-3:
        return repr(number)
    shortest = next(t for n in range(1, 18) if float(t := f"{number:.{n}e}") == number)
    digits, _, exponent = shortest.partition("e")
    return f"{digits}E{int(exponent)}"


def test_the_command_writes_headers_other_formats_and_later_loads(
    spark: SparkSession, tmp_path: Path, table_format: str, project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    first, later = tmp_path / "day1", tmp_path / "day3"
    assert main([*COMMAND, str(first), str(later), "--header", "--load", "2", "--seed", "5"]) == 0
    part = next(later.glob("*.csv"))
    assert part.read_text().splitlines()[0] == ",".join(NAMES)
    assert main([*COMMAND, str(first), str(later), "--format", "parquet", "--type", "int", "--type", "date"]) == 0
    assert [kind for _, kind in spark.read.parquet(str(later)).dtypes] == ["string", "string", "int", "date", "int"]
    tables = [f"{project.schema}.{name}" for name in ("day1", "day2")]
    for _ in range(2):
        assert main([*COMMAND, *tables, "--format", table_format]) == 0
    same = f"spark_catalog.{project.schema}.Day1"
    assert main([*COMMAND, tables[0], same, "--format", table_format]) == 2
    assert f"must differ, neither in the other, got {tables[0]} and {same}" in capsys.readouterr().err
    assert project.rows(DIFFERENCE.format(before=tables[0], after=tables[1])) == [(9, 4, 2, 14)]
    described = dict(row[:2] for row in project.rows("describe table extended {schema}.day2"))
    assert described["Provider"] == table_format
    if table_format == "delta":
        assert [_is_table(name, "delta") for name in ("day1", "s.day1", "./day1", "/d/s.day1")] == [
            False,
            True,
            False,
            False,
        ]
        for _ in range(2):
            assert main([*COMMAND, str(tmp_path / "old"), str(tmp_path / "new"), "--format", "delta"]) == 0
        folders = {"before": f"delta.`{tmp_path}/old`", "after": f"delta.`{tmp_path}/new`"}
        assert project.rows(DIFFERENCE.format(**folders)) == [(9, 4, 2, 14)]


@pytest.mark.one_format("delta")
def test_the_command_refuses_what_does_not_fit_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, later = str(tmp_path / "day1"), str(tmp_path / "day2")
    folder = f"{tmp_path}/x/.."
    for same in (first, first + "/", f"{folder}/day1", f"file:{first}", f"{first}/part", str(tmp_path)):
        assert main([*COMMAND, first, same]) == 2
        told = capsys.readouterr().err
        assert (
            f"initial_output and incremental_output must differ, neither in the other, got {first} and {same}" in told
        )
    assert main(["20", "25", "0", "3", "0.2", "0.1", "0.8", first, later]) == 2
    problems = capsys.readouterr().err
    assert "pct_del + pct_upd + pct_unchanged must be exactly 1, got 0.2 + 0.1 + 0.8 = 1.1" in problems
    assert "no_keys must be a whole number from 1 to 10000, got 0" in problems
    with pytest.raises(SystemExit):
        main([*COMMAND, first, later, "--format", "xls"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.one_format("iceberg")
def test_the_command_says_that_a_formats_jars_are_lacking(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*COMMAND, str(tmp_path / "day1"), str(tmp_path / "day2"), "--format", "delta"]) == 2
    assert "--format delta: this Spark has no such data source, give it the format's jars" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.one_format("delta")
def test_the_command_is_run_as_a_module_and_tells_failure_by_its_exit_code(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dbt_cdc.synthetic", *COMMAND[:-1], "0.9", "day1", "day2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("dbt_cdc.synthetic: the command can't run, nothing was written:\n  - pct_del + ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.one_format("delta")
def test_the_command_runs_over_spark_connect_and_gives_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dbt_cdc.synthetic", *COMMAND, "day1", "day2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "SPARK_REMOTE": "local[2]"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    expected = synthetic.incremental(spark, **SIZES).collect()
    assert sorted(files(tmp_path / "day2")) == sorted([*row[:2], *map(java_text, row[2:])] for row in expected)


@pytest.mark.one_format("delta")
def test_apply_changes_makes_of_a_feed_what_its_truth_says_in_batches_of_any_order(project: Project) -> None:
    disorder = synthetic.Disorder(late=0.1, duplicates=0.1, out_of_order=0.2, deletes=0.2, hot=1)
    feed = synthetic.change_feed(
        project.spark, no_recs=30, no_events=300, no_keys=2, no_nonkeys=2, batches=3, seed=4, disorder=disorder
    )
    frames = {"events": feed.events, "state": feed.state, "history": feed.history}
    for name, frame in frames.items():
        frame.write.format(project.file_format).saveAsTable(f"{project.schema}.{name}")
    options = {
        "sequence_by": "sequence",
        "apply_as_deletes": "op = 'D'",
        "except_column_list": ["op", "sequence", "batch", "arrival"],
    }
    for kind in (1, 2):
        meta = {"dbt_cdc": {**options, "stored_as_scd_type": kind}}
        config = f"materialized='apply_changes', unique_key=['keycol1', 'keycol2'], meta={meta}"
        query = "select * from {{ target.schema }}.events where batch in ({{ var('batches') }})"
        project.write({f"models/kept_{kind}.sql": f"{{{{ config({config}) }}}}\n{query}\n"})
    for batches in ("3", "1, 2"):
        project.dbt("run", "--vars", str({"batches": batches}))
    columns = "keycol1, keycol2, nonkeycol1, nonkeycol2"
    for kept, true in (
        (f"select {columns} from {{schema}}.kept_1", f"select {columns} from {{schema}}.state"),
        (
            f"select {columns}, __START_AT, __END_AT from {{schema}}.kept_2",
            f"select {columns}, start_at, end_at from {{schema}}.history",
        ),
    ):
        assert sorted(map(str, project.rows(kept))) == sorted(map(str, project.rows(true))) != []

"""hash_diff: a date loaded again, a run killed between its writes, two runs at once."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pandas
import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt_cdc._hash_diff_history import History
from dbt_cdc._hash_diff_load import Load, run
from dbt_cdc._hash_diff_tables import Tables
from integration_tests import quick_spark
from tests.support.hash_diff import OTHER_WON, Expected, Extract, Killed, Model, Rows, kill
from tests.support.killed_load import EACH_KIND, STAGES
from tests.support.processes import environment
from tests.support.project import Project
from tests.support.spark import noted_plans, session_conf


def model(project: Project, **options: Any) -> Model:
    return Model(project.spark, project.schema, project.file_format, **options)


def rows(**values: str | None) -> Rows:
    """_1='a' is the row (1, 'a')."""
    return {int(name[1:]): (value,) for name, value in values.items()}


def take_back(project: Project, table: str, version: str) -> None:
    """A table's rows are those of a version again, as its owner can have them."""
    restore = {
        "delta": "restore table {schema}.%s to version as of %s",
        "iceberg": "call spark_catalog.system.set_current_snapshot('{schema}.%s', %s)",
    }[project.file_format]
    project.sql(restore % (table, version))


def before(monkeypatch: pytest.MonkeyPatch, place: type, name: str, follow: Callable[[], Any]) -> None:
    """Something else comes before the named step, once."""
    step = getattr(place, name)

    def delayed(*arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(place, name, step)
        follow()
        return step(*arguments, **options)

    monkeypatch.setattr(place, name, delayed)


@pytest.mark.one_format("iceberg")
def test_a_date_loaded_again_is_as_if_loaded_once_with_the_last_data(project: Project) -> None:
    loaded = model(project)
    first = ("2020-01-01", rows(_1="a", _2="b", _3="c", _4="d"), "full")
    second = ("2020-01-03", rows(_1="x", _2="B", _3="c", _5="e"), "delta")
    for _ in range(2):
        assert loaded.load(*first) == {"I": 4, "U": 0, "D": 0, "X": 0, "N": 0}
        loaded.check(Expected.of([first]))
    loaded.load(*second)
    whole = ("2020-01-03", rows(_1="a", _2="B", _9="z"), "full")  # two D, one U
    # of what the table shows it lacks 5, too, which that date had inserted; loaded twice it lacks nothing any more
    with pytest.raises(DbtRuntimeError, match=r"the extract lacks 3 of 5 current rows \(0\.600\), more than max"):
        loaded.load(*whole, max_delete_fraction=0.5)
    for again, limit in (
        (second, None),
        (whole, None),
        (whole, 0),
        (("2020-01-03", rows(_4="d"), "delta"), None),
    ):
        expected = Expected.of([first, again])
        assert loaded.load(*again, max_delete_fraction=limit) == expected.counts
        loaded.check(expected)
    older = ("2020-01-02", rows(_3="c", _7="q"), "full")
    with pytest.raises(DbtRuntimeError, match="the last load was of 2020-01-03"):
        loaded.load(*older)
    expected = Expected.of([first, older])
    assert loaded.load(*older, allow_older_effective_date=True) == expected.counts
    loaded.check(expected)
    # what was there before is needed for it
    project.sql("delete from {schema}.t__history where eff_start_date = date'2020-01-01'")
    held = loaded.current()
    with pytest.raises(DbtRuntimeError, match="older partitions were removed, so that this date can't be loaded again"):
        loaded.load(*older)
    assert loaded.current() == held


@pytest.mark.one_format("iceberg")
def test_a_key_whose_every_change_has_gone_from_the_history_still_has_its_last_one_in_the_table(
    project: Project,
) -> None:
    loaded = model(project)
    loaded.load("2020-01-01", rows(_1="a", _2="b", _3="c", _4="d"), "full")
    loaded.load("2020-01-02", rows(_1="A"), "delta")
    project.sql("delete from {schema}.t__history")
    held = loaded.current()
    with pytest.raises(DbtRuntimeError, match="so that this date can't be loaded again"):
        loaded.load("2020-01-02", rows(_2="b"), "delta")
    assert (loaded.current(), loaded.history()) == (held, [])


@pytest.mark.one_format("iceberg")
def test_what_a_load_that_was_taken_back_had_supplied_is_supplied_no_more(project: Project) -> None:
    loaded = model(project)
    loads = [("2020-01-01", rows(_1="a", _2="b"), "full"), ("2020-01-02", rows(_1="a", _2="b"), "full"),
             ("2020-01-03", rows(_2="b"), "delta")]  # fmt: skip
    loaded.load(*loads[0])
    loaded.load("2020-01-03", rows(_1="a"), "delta")
    loaded.load(*loads[1], allow_older_effective_date=True)
    expected = Expected.of(loads)
    assert expected.counts == {"I": 0, "U": 0, "D": 0, "X": 1, "N": 1}
    assert loaded.load(*loads[2]) == expected.counts
    loaded.check(expected)


@pytest.mark.one_format("delta")
def test_rows_of_a_delta_that_differ_in_ignored_columns_alone_stay_as_they_are(project: Project) -> None:
    loaded = model(project, ignore_columns=["v"])
    loaded.load("2020-01-01", rows(_1="a", _2="b"))
    counts = loaded.load("2020-01-02", rows(_1="z", _3="c"), "delta")
    assert counts == {"I": 1, "U": 0, "D": 0, "X": 1, "N": 1}
    assert loaded.current() == {
        1: (("a",), "N", "2020-01-01"),
        2: (("b",), "X", "2020-01-01"),
        3: (("c",), "I", "2020-01-02"),
    }


@pytest.mark.one_format("delta")
def test_rejected_rows_of_a_date_loaded_again_supply_nothing(project: Project) -> None:
    """Also beside a good one of their key: their keys go back to what they were."""
    options = {"types": {"v": "int"}, "on_cast_error": "rejects", "deduplicate": True}
    loaded = model(project, **options)

    def supply(day: str, extract: str, *given: tuple[int, str | None]) -> dict[str, int]:
        frame = project.spark.createDataFrame(given, "id int, v string")
        return loaded.load_frame(day, frame, extract)

    supply("2020-01-01", "full", (1, "10"), (2, "20"), (3, "30"), (3, "x"))
    counts = supply("2020-01-02", "delta", (1, "11"), (2, "20"), (4, "40"))
    assert counts == {"I": 1, "U": 1, "D": 0, "X": 1, "N": 1}
    bad = ((1, "x"), (1, "x"), (2, "y"), (2, "z"), (4, "w"))
    counts = supply("2020-01-02", "delta", *bad, (1, "11"), (4, None), (4, None))
    assert counts == {"I": 1, "U": 1, "D": 0, "X": 2, "N": 0}
    assert loaded.current() == {
        1: ((11,), "U", "2020-01-02"),
        2: ((20,), "X", "2020-01-01"),
        3: ((30,), "X", "2020-01-01"),
        4: ((None,), "I", "2020-01-02"),
    }
    faults = "select substring(fault, 10) from {schema}.t__rejects where eff_start_date = date'2020-01-02' order by 1"
    assert project.rows(faults) == [(f"cast: v (int) '{value}'",) for value in "wxyz"]
    with pytest.raises(DbtRuntimeError, match=r'2 rows share their key with another row: {"id":1} 2 times\.'):
        supply("2020-01-02", "full", *bad, (1, "11"), (1, "12"))


@pytest.mark.one_format("delta")
def test_a_key_that_is_erased_as_the_docs_say_does_not_come_back_and_is_not_counted(project: Project) -> None:
    loaded = model(project, sensitive_columns=["s"])
    loaded.load("2020-01-01", {1: ("a", "p"), 2: ("b", "q")})
    key = project.rows("select keyhash from {schema}.t__history where id = 1")[0][0]
    project.sql("update {schema}.t__base set nonkeyhash = null where keyhash = ''")
    for table in ("base", "history", "sensitive_base"):
        project.sql(f"delete from {{schema}}.t__{table} where keyhash = '{key}'")
    assert loaded.load("2020-01-02", {2: ("b", "q")}) == {"I": 0, "U": 0, "D": 0, "X": 0, "N": 1}
    assert loaded.current() == {2: (("b", "q"), "N", "2020-01-01")}
    assert loaded.history() == [(2, ("b", "q"), "I", "2020-01-01")]
    assert project.rows("select s from {schema}.t__sensitive_base") == [("q",)]
    assert loaded.load("2020-01-03", {3: ("c", "r")}, "delta") == {"I": 1, "U": 0, "D": 0, "X": 1, "N": 0}


@pytest.mark.one_format("iceberg")
def test_tables_that_were_taken_away_or_that_hash_diff_did_not_make_are_refused(project: Project) -> None:
    def copy_without_properties(table: str) -> None:
        for new, old in (("copied", table), (table, "copied")):
            project.sql(f"create table {{schema}}.{new} using {project.file_format} as select * from {{schema}}.{old}")
            project.sql(f"drop table {{schema}}.{old}")

    loaded = model(project)
    project.sql(f"create table {{schema}}.t__base using {project.file_format} as select 1 as id")
    with pytest.raises(DbtRuntimeError, match=r"t__base` is a table that hash_diff did not make \(it lacks .*keyhash"):
        loaded.load("2020-01-01", rows(_1="a"))
    assert project.tables() == {"t__base"} and project.rows("select * from {schema}.t__base") == [(1,)]
    project.sql("drop table {schema}.t__base")

    # what this session would take for something else; dbt's own may be another
    with (
        session_conf(
            project.spark,
            {"spark.sql.parser.quotedRegexColumnNames": "true", "spark.sql.storeAssignmentPolicy": "legacy"},
        ),
        pytest.raises(
            DbtRuntimeError,
            match=r"(?s)quotedRegexColumnNames must be false, got true.*Policy must be ANSI or STRICT, got LEGACY",
        ),
    ):
        loaded.load("2020-01-01", rows(_1="a"))
    assert project.tables() == set()
    # those that this model does not write may be anybody's
    for kind in ("rejects", "sensitive_base", "sensitive"):
        project.sql(f"create table {{schema}}.t__{kind} using {project.file_format} as select '{kind}' as theirs")
    loaded.load("2020-01-01", rows(_1="a"))
    loaded.load("2020-01-02", rows(_1="b"))
    held = loaded.current()
    assert held == {1: (("b",), "U", "2020-01-02")}
    copy_without_properties("t__history")
    with pytest.raises(DbtRuntimeError, match=r"t__history` is not the history of \S*t__base`: it was made by others"):
        loaded.load("2020-01-03", rows(_1="c"))
    assert loaded.current() == held
    assert sorted(loaded.history()) == [(1, ("a",), "I", "2020-01-01"), (1, ("b",), "U", "2020-01-02")]
    project.sql("drop table {schema}.t__history")
    with pytest.raises(DbtRuntimeError, match=r"t__history` is gone, but its table \S*t__base` is there"):
        loaded.load("2020-01-03", rows(_1="c"))
    assert loaded.current() == held
    tables = Tables(project.spark, loaded.settings("2020-01-01", "full"))
    older = tables.version(tables.settings.base)
    loaded.load("2020-01-01", rows(_1="a"), full_refresh=True)
    # the base table's rows alone go back behind it
    newer = tables.version(tables.settings.base)
    take_back(project, "t__base", older)
    told = {"delta": "t__history` is not the history of", "iceberg": "t__base` is not the table of"}[
        project.file_format
    ]
    with pytest.raises(DbtRuntimeError, match=told + " .* behind a full refresh"):
        loaded.load("2020-01-03", rows(_1="c"))
    assert loaded.history() == [(1, ("a",), "I", "2020-01-01")]
    take_back(project, "t__base", newer)
    project.sql(f"create table {{schema}}.saved using {project.file_format} as select * from {{schema}}.t__base")
    for taken in ("delete from {schema}.t__base", "drop table {schema}.t__base", "t__history"):
        if taken.startswith("t_"):
            copy_without_properties(taken)
        else:
            project.sql(taken)
        with pytest.raises(DbtRuntimeError, match=r"t__base` is gone or was emptied, but its history \S*t__history`"):
            loaded.load("2020-01-02", rows(_2="b"))
        assert loaded.history() == [(1, ("a",), "I", "2020-01-01")]
    # a copy has the rows, and none of the properties
    project.sql(f"create table {{schema}}.t__base using {project.file_format} as select * from {{schema}}.saved")
    with pytest.raises(
        DbtRuntimeError, match=r"unique_key is .*, the table was made with none. Set it back, or rebuild"
    ):
        loaded.load("2020-01-02", rows(_2="b"))

    for kind, option, row in (
        ("rejects", {"on_cast_error": "rejects"}, ("a",)),
        ("sensitive_base", {"sensitive_columns": ["s"]}, ("a", "hush")),
    ):
        foreign = rf"t__{kind}` is a table that hash_diff did not make \(it lacks .*keyhash"
        with pytest.raises(DbtRuntimeError, match=foreign):
            model(project, **option).load("2020-01-02", {1: row}, full_refresh=True)
    for kind in ("rejects", "sensitive_base", "sensitive"):
        assert project.rows(f"select * from {{schema}}.t__{kind}") == [(kind,)]

    loaded = model(project, table="p", sensitive_columns=["s"])
    project.sql("create view {schema}.p__sensitive as select 'k' as keyhash, '***' as s")
    with pytest.raises(
        DbtRuntimeError, match=r"p__sensitive` is a table or view that hash_diff did not make\. Rename it"
    ):
        loaded.load("2020-01-01", {1: ("a", "hush")})
    assert project.rows("select * from {schema}.p__sensitive") == [("k", "***")]
    project.sql("drop view {schema}.p__sensitive")
    loaded.load("2020-01-01", {1: ("a", "hush")})
    project.sql("drop table {schema}.p__sensitive_base")
    with pytest.raises(DbtRuntimeError) as gone:
        loaded.load("2020-01-02", {1: ("b", "hush")})
    assert str(gone.value).endswith("p__sensitive_base` is gone. Bring it back, or start anew with --full-refresh")
    loaded.load("2020-01-02", {1: ("b", "hush")}, full_refresh=True)
    assert loaded.current() == {1: (("b", "hush"), "I", "2020-01-02")}


def test_base_and_history_that_go_back_to_one_load_go_on_from_there(project: Project) -> None:
    loaded = model(project, sensitive_columns=["s"])
    tables = Tables(project.spark, loaded.settings("2020-01-01", "full"))
    loads: list[Extract] = [
        ("2020-01-01", {1: ("a", "hush"), 2: ("b", "mum")}, "full"),
        ("2020-01-02", {1: ("A", "hush"), 3: ("c", None)}, "full"),
    ]
    for load in loads:
        loaded.load(*load)
    written = {kind: tables.version(f"{project.schema}.t__{kind}") for kind in ("base", "history")}
    for wrong in (("2020-01-03", {1: ("x", "said")}, "full"), ("2020-01-04", {2: ("y", None)}, "delta")):
        loaded.load(*wrong)
    for kind, version in written.items():
        take_back(project, f"t__{kind}", version)
    loaded.check(Expected.of(loads))
    # the date of a load that was taken back, and the day after it as a delta
    loads.append(("2020-01-03", {1: ("A", "loud"), 2: ("b", "mum")}, "full"))
    loaded.load(*loads[-1])
    loads.append(("2020-01-05", {4: ("d", "hush"), 2: ("b", "mum")}, "delta"))
    expected = Expected.of(loads)
    assert loaded.load(*loads[-1]) == expected.counts
    loaded.check(expected)


#: The joins of a merge of few rows with the base table: Delta looks for rows, writes new ones, and marks the old ones.
MERGED = {
    "delta": [("BroadcastHashJoin", "Inner"), ("SortMergeJoin", "LeftOuter"), ("BroadcastHashJoin", "Inner")],
    "iceberg": [("SortMergeJoin", "RightOuter")],
}


@pytest.mark.one_format("delta")
def test_the_comparison_joins_digests_only_and_a_small_delta_goes_to_the_table(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = model(project)
    first = ("2020-01-01", rows(_1="a", _2="b"), "full")
    loaded.load(*first)
    hold, merge, plans, merged = Load._hold, Load._merge, [], list[str]()

    def noted(self: Load, frame: Any) -> Any:
        plans.append(str(frame._jdf.queryExecution().executedPlan()))
        return hold(self, frame)

    def noted_merge(self: Load, *arguments: Any) -> None:
        with noted_plans(project.spark) as run:
            merge(self, *arguments)
        merged.extend(run)

    monkeypatch.setattr(Load, "_hold", noted)
    monkeypatch.setattr(Load, "_merge", noted_merge)
    keyed = r"(\w+Join) \[keyhash#\d+\], \[keyhash#\d+\], (\w+)"

    def joins(day: str, data: Rows, extract: str) -> set[tuple[str, ...]]:
        loaded.load(day, data, extract)
        digests = {"keyhash", "_dbt_cdc_old_keyhash", "_dbt_cdc_key"}
        found = re.findall(r"(\w+Join).*?\[(.*?)\], \[(.*?)\], (\w+)", re.sub(r"#\d+", "", plans[-1]))
        assert all({left, right} <= digests for _, left, right, _ in found)
        return {(kind, how) for kind, _, _, how in found}

    assert joins("2020-01-02", rows(_1="A", _2="b"), "full") == {("SortMergeJoin", "FullOuter")}
    # a small delta is sent whole to every task by this code's own choice, not as Spark finds it small
    with session_conf(project.spark, {"spark.sql.autoBroadcastJoinThreshold": "-1"}):
        found = joins("2020-01-03", rows(_1="x"), "delta")
        assert ("BroadcastHashJoin", "LeftSemi") in found and {how for _, how in found} == {"LeftSemi", "LeftOuter"}
        shown = re.findall(keyed, "".join(merged))
        assert shown[-len(MERGED[project.file_format]) :] == MERGED[project.file_format]
        # where there is nothing to write, the marker alone is
        merged.clear()
        done = [first, ("2020-01-02", rows(_1="A", _2="b"), "full"), ("2020-01-03", rows(_1="x"), "delta")]
        for nothing in (
            ("2020-01-04", rows(), "delta"),
            ("2020-01-04", rows(), "delta"),
            ("2020-01-05", rows(_1="x", _2="b"), "full"),
        ):
            expected = Expected.of([*done, nothing])
            assert loaded.load(*nothing) == expected.counts
            loaded.check(expected)
        assert merged and not re.findall(keyed, "".join(merged))
    # the keys that a date has touched are sent to the whole rows of the history
    assert re.search(r"BroadcastHashJoin \[keyhash#\d+\], \[touched_key#\d+\], LeftSemi", "".join(plans))


@pytest.mark.one_format("delta")  # Iceberg: the process killed, below
def test_a_run_that_ends_between_any_two_writes_is_made_good_by_the_next(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = model(project, sensitive_columns=["s"])
    days: list[tuple[str, Rows, str, type, str, bool]] = [
        ("2020-01-01", {1: ("a", "p"), 2: ("b", "q")}, "full", Tables, "create", True),
        ("2020-01-01", {1: ("a", "p"), 2: ("b", "q")}, "full", Tables, "confirm", False),
        ("2020-01-01", {1: ("a", "p"), 2: ("b", "q")}, "full", Tables, "confirm", True),
        ("2020-01-01", {1: ("a", "p"), 2: ("b", "q")}, "full", Tables, "create_model", False),
        ("2020-01-02", {1: ("a", "P"), 3: ("c", "r")}, "full", Load, "_write_sensitive", True),
        ("2020-01-02", {1: ("a", "P"), 3: ("c", "r")}, "full", Load, "_merge", True),
        ("2020-01-03", {1: ("a", "p")}, "delta", Tables, "set_properties", False),
    ]
    done: dict[str, tuple[str, Rows, str]] = {}
    for day, data, extract, place, name, after in days:
        with monkeypatch.context() as patched, pytest.raises(Killed):
            kill(patched, place, name, after=after)
            loaded.load(day, data, extract)
        done[day] = (day, data, extract)
        if name == "confirm" and after:  # a run that loads nothing shows what was loaded, without a column that is new
            assert not {"t", "t__history"} & project.tables()
            dry = {"reads_a_part": True, "model_type": None, "sensitive_columns": ["s", "more"]}
            loaded.load_row("2020-01-02", "'x' as v, 'y' as s, 'z' as w, 1 as more", **dry)
            loaded.check(Expected.of([*done.values()]))

    marker, write = Tables.marker, History._write

    def conflict(self: History, marker: Any, *rest: Any, **options: Any) -> None:
        if marker.effective_date == "2020-01-03":
            raise RuntimeError("ConcurrentAppendException: files were added")
        write(self, marker, *rest, **options)

    with monkeypatch.context() as patched:
        patched.setattr(History, "_write", conflict)
        with pytest.raises(
            DbtRuntimeError, match=r"the last load in .* is not in the history yet: other runs kept"
        ) as beaten:
            loaded.load(*done["2020-01-03"])
        patched.setattr(Tables, "marker", lambda self, at="": None if at else marker(self))
        tables = Tables(project.spark, loaded.settings("2020-01-03", "delta"))
        with pytest.raises(DbtRuntimeError, match=r"not in the history yet: the versions of that table do not show"):
            History(tables).sync(tables.marker())
    assert "The next run brings the history up to it; start one" in str(beaten.value)
    assert {row[3] for row in loaded.history()} == {"2020-01-01", "2020-01-02"}
    last = ("2020-01-04", {3: ("C", "r")}, "delta")
    loaded.load(*last)
    loaded.check(Expected.of([*done.values(), last]))


def test_a_full_refresh_is_shown_by_one_commit_and_killed_then_made_good(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = model(project)
    first, whole = ("2020-01-01", rows(_1="a", _2="b"), "full"), ("2020-01-02", rows(_1="A", _2="b", _3="c"), "full")
    delta = ("2020-01-03", rows(_3="C"), "delta")
    loaded.load(*first)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        kill(patched, Tables, "create", after=True)  # of the base table
        loaded.load(*whole, full_refresh=True)
    shown = [(1, "A", "I"), (2, "b", "I"), (3, "c", "I")]
    assert project.rows("select id, v, operation from {schema}.t order by id") == shown
    loaded.load(*delta)
    loaded.check(Expected.of([whole, delta]))


@pytest.mark.one_format("iceberg")
def test_a_delta_does_not_stand_in_for_a_full_refresh_that_was_killed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = model(project, sensitive_columns=["s"])
    first = ("2020-01-01", {1: ("a", "p"), 2: ("b", "q")}, "full")
    whole, delta = ("2020-01-02", {1: ("A", "p"), 3: ("c", "r")}, "full"), ("2020-01-03", {3: ("C", "r")}, "delta")
    loaded.load(*first)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        kill(patched, Tables, "create", after=True)
        loaded.load(*whole, full_refresh=True)
    history = loaded.history()
    assert len(history) == 2
    loaded.load(*whole, reads_a_part=True)
    with pytest.raises(
        DbtRuntimeError, match=r"older than a full refresh that did not end.* Run the full refresh again"
    ):
        loaded.load(*delta)
    assert loaded.history() == history
    # nor is what is left of it taken for tables that were taken away
    with monkeypatch.context() as patched, pytest.raises(Killed):
        kill(patched, Tables, "create_base", after=False)
        loaded.load(*whole)
    with pytest.raises(DbtRuntimeError, match="older than a full refresh that did not end"):
        loaded.load(*delta)
    loaded.load(*whole)
    loaded.load(*delta)
    loaded.check(Expected.of([whole, delta]))
    # tables that were emptied on purpose begin with it
    loaded.load(*whole, full_refresh=True, reads_a_part=True)
    loaded.load(*delta)
    loaded.check(Expected.of([delta]))


@pytest.mark.only_format("iceberg")  # which renames columns as they are
def test_a_column_that_a_killed_load_added_is_still_new_to_the_next(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = model(project)
    more = {"ignore_columns": ["seen"], "sensitive_columns": ["s"]}

    def supply(day: str, columns: str, *given: tuple[Any, ...], **options: Any) -> dict[str, int]:
        frame = project.spark.createDataFrame(given, f"id int, v string{columns}")
        return loaded.load_frame(day, frame, **options)

    def second(name: str = "s", options: Mapping[str, Any] = more) -> dict[str, int]:
        given = (1, "a", "x", "p"), (2, "b", "x", None), (3, "c", "x", "q")
        return supply("2020-01-02", f", seen string, {name} string", *given, **options)

    supply("2020-01-01", "", (1, "a"), (2, "b"))
    # what is left of a column takes any case, and any role, until a load that has it is committed
    places: list[tuple[type, str, bool, str, Mapping[str, Any]]] = [
        (Load, "_write_sensitive", True, "S", more),
        (Tables, "remember", True, "s", more),
        (Load, "_merge", False, "s", {}),
        (Load, "_merge", False, "s", more),
        (Load, "_merge", True, "s", more),
    ]
    for place, name, after, spelled, options in places:
        with monkeypatch.context() as patched, pytest.raises(Killed):
            kill(patched, place, name, after=after)
            second(spelled, options)
    with pytest.raises(DbtRuntimeError, match=r'sensitive_columns is \[\], the table was made with \["s"\]') as marked:
        second("s", {})
    assert 'ignore_columns is [], the table was made with ["seen"]' in str(marked.value)
    assert second() == {"I": 1, "U": 1, "D": 0, "X": 0, "N": 1}
    # a row that did not change keeps its NULL, and is among the sensitive ones
    assert project.rows("select id, v, seen, operation from {schema}.t order by id") == [
        (1, "a", "x", "U"),
        (2, "b", None, "N"),
        (3, "c", "x", "I"),
    ]
    kept = "select t.id, s.s from {schema}.t join {schema}.t__sensitive s using (keyhash) order by 1"
    assert project.rows(kept) == [(1, "p"), (2, None), (3, "q")]
    # once it is there, it is missed
    for table, name in (("t__base", "seen"), ("t__sensitive_base", "s")):
        project.sql(f"alter table {{schema}}.{table} rename column {name} to moved")
        with pytest.raises(DbtRuntimeError, match=rf"the tables have lost columns \({name}\), whose values") as told:
            second()
        assert str(told.value).count("  - ") == 1
        project.sql(f"alter table {{schema}}.{table} rename column moved to {name}")
    # what no data had is not
    for change in ("add columns (note string)", "drop column note"):
        project.sql("alter table {schema}.t__base " + change)
        second()
    # of two runs, what the one has noted that is beaten is no word on the columns of the other
    hushed = {"sensitive_columns": ["s"]}
    for table, beaten, options in (("u", "'a' as v, 'p' as s", hushed), ("w", "'a' as v, 'p' as S", {})):
        loaded = model(project, table=table)
        loaded.load_row("2020-01-01", "'a' as v")

        def killed(
            load: Callable[..., Any] = loaded.load_row, row: str = beaten, options: Mapping[str, Any] = options
        ) -> None:
            with monkeypatch.context() as patched, pytest.raises(Killed):
                kill(patched, Load, "_merge", after=False)
                load("2020-01-02", row, **options)

        before(monkeypatch, Load, "_merge", killed)
        assert loaded.load_row("2020-01-02", "'a' as v, 'p' as s", **hushed)["U"] == 1
        with pytest.raises(DbtRuntimeError, match=r'sensitive_columns is \[\], the table was made with \["s"\]'):
            loaded.load_row("2020-01-03", "'a' as v, 'p' as s")
        assert loaded.load_row("2020-01-03", "'a' as v, 'p' as s", **hushed)["N"] == 1
        assert loaded.load_row("2020-01-04", "'a' as v", **hushed)["U"] == 1  # its s is NULL now
        assert project.rows(f"select s from {{schema}}.{table}__sensitive") == [(None,)]
    loaded = model(project, table="x")
    loaded.load_row("2020-01-01", "'a' as v")
    before(monkeypatch, Load, "_write_sensitive", lambda: killed(loaded.load_row, "'a' as v, 'p' as S", {}))
    assert loaded.load_row("2020-01-02", "'a' as v, 'p' as s")["U"] == 1
    with pytest.raises(DbtRuntimeError, match=r'sensitive_columns is \["S"\], the table was made with \[\]'):
        loaded.load_row("2020-01-03", "'a' as v, 'p' as s", **hushed)
    # the history gets what is left, too, and its type
    with monkeypatch.context() as patched, pytest.raises(Killed):
        kill(patched, Load, "_merge", after=False)
        loaded.load_row("2020-01-03", "'a' as v, 'p' as s, 1L as n")
    loaded.load_row("2020-01-03", "'b' as v, 'p' as s")
    project.sql("alter table {schema}.x__base drop column n")
    left = r"column 'n': \S*x__history`, where a load that did not end, or others, left it, has type bigint, the data have double"
    with pytest.raises(DbtRuntimeError, match=left):
        loaded.load_row("2020-01-04", "'b' as v, 'p' as s, 1.5D as n")
    assert project.rows("select v, operation from {schema}.x__base where keyhash <> ''") == [("b", "U")]
    # in the base table it is as little the model's, whoever has added it
    project.sql("alter table {schema}.x__base add columns (code bigint)")
    coded = "'b' as v, 'p' as s, '007' as code"
    for options, told in (
        (
            {},
            r"column 'code': \S*x__base`, where a load that did not end, or others, left it, has type bigint, the data",
        ),
        ({"on_schema_change": "fail"}, r"on_schema_change is 'fail': new columns \(code\)\. Give"),
    ):
        with pytest.raises(DbtRuntimeError, match=told):
            loaded.load_row("2020-01-04", coded, **options)
    assert loaded.load_row("2020-01-04", "'b' as v, 'p' as s", on_schema_change="fail")["N"] == 1
    assert loaded.load_row("2020-01-05", coded, on_schema_change="ignore")["N"] == 1
    assert "code" not in dict(project.columns("x"))
    assert loaded.load_row("2020-01-06", coded, sensitive_columns=["code"])["U"] == 1
    assert project.rows("select code from {schema}.x__sensitive") == [("007",)]
    # nor does the history, which has got it, change values where a date is loaded again
    coded = coded.replace("7", "8")
    assert loaded.load_row("2020-01-06", coded, sensitive_columns=["code"])["U"] == 1
    assert project.rows("select code from {schema}.x__sensitive") == [("008",)]
    # nor is a new column of the key left out
    wider = {"unique_key": ["id", "region"], "on_schema_change": "ignore", **more}
    with pytest.raises(DbtRuntimeError, match=r'unique_key is \["id", "region"\], the table was made with \["id"\]'):
        loaded.load_row("2020-01-03", "'a' as v, 'x' as region", **wider)


@pytest.mark.one_format("iceberg")
@pytest.mark.timeout(2400)  # a process for each stage
def test_a_process_killed_while_it_writes_leaves_what_the_next_one_makes_good(
    table_format: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    last = len(STAGES) if pytestconfig.getoption("--every-test") else EACH_KIND
    quick = {"PYSPARK_SUBMIT_ARGS": quick_spark.submit_arguments(table_format), "DBT_CDC_DRIVER_MEMORY": "1g"}
    command = [sys.executable, "-m", "tests.support.killed_load", table_format, str(tmp_path / "warehouse"), str(last)]

    def start(number: int) -> subprocess.Popen[bytes]:
        with (tmp_path / f"{number}.log").open("w") as log:
            return subprocess.Popen(
                [*command, str(number)], cwd=tmp_path, env=environment(**quick), stdin=subprocess.PIPE, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip

    processes = [start(0)]
    try:
        for number in range(last + 1):
            if number < last:  # its Spark starts while this one works
                processes.append(start(number + 1))
            processes[number].communicate(b"begin\n", timeout=300)
            expected = -signal.SIGKILL if number < last else 0
            assert processes[number].returncode == expected, (number, (tmp_path / f"{number}.log").read_text()[-3000:])
    finally:
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    # Hive's metastore, which is Derby's and takes one process at a time, was never asked
    assert not (tmp_path / "warehouse/metastore_db").exists()


@pytest.mark.one_format("iceberg")
def test_a_date_that_is_loaded_again_without_rejects_has_none(project: Project) -> None:
    loaded = model(project, types={"v": "int"})
    for day, rejected in (("2020-01-01", "x"), ("2020-01-02", "y")):
        loaded.load(day, rows(_1=rejected, _2="5"), on_cast_error="rejects")
    faults = "select cast(eff_start_date as string) from {schema}.t__rejects order by 1"
    assert project.rows(faults) == [("2020-01-01",), ("2020-01-02",)]
    assert loaded.load("2020-01-02", rows(_1="7", _2="5"))["I"] == 1
    assert project.rows(faults) == [("2020-01-01",)]


def test_of_two_runs_at_once_one_wins_and_the_other_says_so(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = model(project)
    first = ("2020-01-01", rows(_1="a", _2="b"), "full")
    winner, loser = ("2020-01-02", rows(_1="A"), "full"), ("2020-01-02", rows(_2="B"), "full")
    loaded.load(*first)
    before(monkeypatch, Load, "_merge", partial(loaded.load, *winner))
    with pytest.raises(DbtRuntimeError, match=OTHER_WON):
        loaded.load(*loser)
    loaded.check(Expected.of([first, winner]))
    # nor does one win that finds nothing to write
    loser, winner_then = ("2020-01-03", rows(_1="A"), "full"), ("2020-01-03", rows(_1="x"), "delta")
    before(monkeypatch, Load, "_merge", partial(loaded.load, *winner_then))
    with pytest.raises(DbtRuntimeError, match=OTHER_WON):
        loaded.load(*loser)
    loaded.check(Expected.of([first, winner, winner_then]))

    # one whose commit is answered by an error stands
    mark = Tables.mark

    def unanswered(self: Tables, *arguments: Any) -> None:
        mark(self, *arguments)
        raise RuntimeError("connection reset")

    monkeypatch.setattr(Tables, "mark", unanswered)
    same = ("2020-01-04", rows(_1="x"), "full")
    assert loaded.load(*same)["N"] == 1
    loaded.check(Expected.of([first, winner, winner_then, same]))

    # a write that is no load is not taken for one
    said = {"delta": "[DELTA_CONCURRENT_DELETE_READ]", "iceberg": "Cannot commit, missing data files"}

    def beside_a_compaction(self: Tables, *arguments: Any) -> None:
        raise RuntimeError(said[project.file_format])

    monkeypatch.setattr(Tables, "mark", beside_a_compaction)
    with pytest.raises(DbtRuntimeError, match="a compaction or another write that is no load of this model came in"):
        loaded.load("2020-01-05", rows(_1="x"), "full")
    loaded.check(Expected.of([first, winner, winner_then, same]))


def test_of_two_first_loads_at_once_the_first_to_finish_is_taken_and_never_a_mixture(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = ("2020-01-01", {1: ("a", "p"), 2: ("b", "q")}, "full")
    other = ("2020-01-01", {1: ("a", "P"), 3: ("c", "r")}, "full")

    places = [(Tables, "create_base"), (Load, "_write_sensitive"), (Tables, "confirm")]
    if project.file_format == "iceberg":  # what is met there is no format's
        places.append((Load, "_first_rows"))
    for number, (place, name) in enumerate(places):
        loaded = model(project, sensitive_columns=["s"], table=f"t{number}")
        before(monkeypatch, place, name, partial(loaded.load, *other))
        with pytest.raises(DbtRuntimeError, match=OTHER_WON):
            loaded.load(*one)
        loaded.check(Expected.of([other]))


@pytest.mark.only_format("delta")
def test_a_first_load_that_is_committed_stands_though_the_catalog_knew_of_the_table(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, create = model(project, sensitive_columns=["s"]), Tables.create

    def refused(self: Tables, table: str, *arguments: Any, **options: Any) -> None:
        create(self, table, *arguments, **options)
        if table == self.settings.base:  # what the catalog says to the second of two that commit at once
            project.spark.sql(f"create table {table} (keyhash string) using delta")

    monkeypatch.setattr(Tables, "create", refused)
    first = ("2020-01-01", {1: ("a", "p"), 2: ("b", "q")}, "full")
    assert loaded.load(*first)["I"] == 2
    loaded.check(Expected.of([first]))

    # a killed run has left files, or a table that the catalog was not told of
    monkeypatch.setattr(Tables, "create", create)
    place = project.place("t__base").parent
    for name, kind in (("base", "delta"), ("history", "parquet")):
        project.spark.range(1).write.format(kind).save(f"{place}/u__{name}{'/left' if kind == 'parquet' else ''}")
    loaded = model(project, table="u")
    loaded.load("2020-01-01", rows(_1="a"))
    loaded.check(Expected.of([("2020-01-01", rows(_1="a"), "full")]))


def test_a_first_loads_sensitive_values_are_not_replaced_by_those_of_a_run_that_looked_before(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, create = model(project, sensitive_columns=["s"]), Tables.create

    def late(self: Tables, table: str, *arguments: Any, **options: Any) -> None:
        if table.endswith("__sensitive_base`"):  # which was not there when this run looked
            monkeypatch.setattr(Tables, "create", create)
            loaded.load("2020-01-01", {1: ("a", "P"), 3: ("c", "r")}, "full")
        create(self, table, *arguments, **options)

    monkeypatch.setattr(Tables, "create", late)
    with pytest.raises(DbtRuntimeError, match=OTHER_WON):
        loaded.load("2020-01-01", {1: ("a", "p"), 2: ("b", "q")}, "full")
    loaded.check(Expected.of([("2020-01-01", {1: ("a", "P"), 3: ("c", "r")}, "full")]))


def test_a_history_that_is_written_late_keeps_what_others_have_loaded_since(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, lost = ("2020-01-01", rows(_1="a"), "full"), ("2020-01-03", rows(_1="b"), "full")
    again, last = ("2020-01-03", rows(_1="a", _2="x"), "full"), ("2020-01-04", rows(_1="a", _2="y"), "full")
    loaded = model(project)
    loaded.load(*first)

    def others() -> None:
        loaded.load(*again)
        loaded.load(*last)

    # where it has looked for others already, Iceberg is told from which version on it may not overwrite
    looked = (type(project.spark.range(1)), "writeTo") if project.file_format == "iceberg" else (History, "_write")
    before(monkeypatch, *looked, others)
    loaded.load(*lost)
    loaded.check(Expected.of([first, again, last]))
    # where there was no history yet
    loaded = model(project, table="u")
    before(monkeypatch, History, "_write", lambda: before(monkeypatch, Tables, "create", others))
    loaded.load(*first)
    loaded.check(Expected.of([first, again, last]))


@pytest.mark.one_format("iceberg")
def test_what_another_run_changes_in_the_tables_meanwhile_is_not_mixed_with_ones_own(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = model(project)
    first, delta = ("2020-01-01", rows(_1="a"), "full"), ("2020-01-02", rows(_2="b"), "delta")
    loaded.load(*first)

    def beaten(column: str, follow: Callable[[], Any], *step: Any, **options: Any) -> None:
        """A load with a new column that ends, as another run was first."""
        before(monkeypatch, *step, follow)
        with pytest.raises(DbtRuntimeError, match=OTHER_WON):
            loaded.load_row("2020-01-02", f"'A' as v, {column}", **options)

    def killed(column: str, **options: Any) -> None:
        with monkeypatch.context() as patched, pytest.raises(Killed):
            kill(patched, Load, "_merge", after=False)
            loaded.load_row("2020-01-02", f"'A' as v, {column}", **options)

    # a column of another type, which would turn 1.5 into 1
    beaten("1.5D as x", lambda: killed("7L as x"), Tables, "remember")
    # a load without sensitive columns drops the table that one with them has begun
    more = {"sensitive_columns": ["s"]}
    beaten("'p' as s", partial(loaded.load, *delta), Tables, "remember", **more)
    assert loaded.load(*delta) == {"I": 1, "U": 0, "D": 0, "X": 1, "N": 0}
    # what was noted of a table that is another's by now would be wrong
    anew = partial(loaded.load, *first, full_refresh=True, hash_algorithm="sha2_256")
    beaten("1 as seen", anew, Tables, "remember", ignore_columns=["seen"])
    loaded.options["hash_algorithm"] = "sha2_256"
    assert loaded.load(*delta) == {"I": 1, "U": 0, "D": 0, "X": 1, "N": 0}
    beaten("1.5D as s", lambda: killed("7L as s", **more), Load, "_write_sensitive", **more)

    loaded = model(project, table="u")
    loaded.load(*first)
    other = model(project, table="u", **more)
    whole = ("2020-01-02", {1: ("a", "p"), 3: ("c", "q")}, "full")
    before(monkeypatch, Load, "_create_model", partial(other.load, *whole, full_refresh=True))
    loaded.load(*delta)
    other.check(Expected.of([whole]))

    # a run that comes late with its view, when another has shown a new column, shows it again
    loaded = model(project, table="w")
    loaded.load(*first)

    def shown() -> None:
        with monkeypatch.context() as patched, pytest.raises(Killed):
            kill(patched, Load, "_next", after=True)
            loaded.load_row("2020-01-03", "'c' as v, 'n' as more")

    before(monkeypatch, Load, "_create_model", shown)
    loaded.load(*delta)
    assert project.rows("select id, v, more, operation from {schema}.w") == [(1, "c", "n", "U")]
    assert len(loaded.history()) == 4


def test_a_full_refresh_writes_its_sensitive_values_though_another_run_is_first(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, create = model(project, sensitive_columns=["s"]), Tables.create
    said = {"delta": "[DELTA_CONCURRENT_APPEND]", "iceberg": "CommitFailedException"}[project.file_format]

    def refused(self: Tables, table: str, *arguments: Any, **options: Any) -> None:
        if table == self.settings.sensitive_base:
            monkeypatch.setattr(Tables, "create", create)
            raise RuntimeError(said)
        create(self, table, *arguments, **options)

    monkeypatch.setattr(Tables, "create", refused)
    first = ("2020-01-01", {1: ("a", "p"), 2: ("b", "q")}, "full")
    loaded.load(*first, full_refresh=True)
    loaded.check(Expected.of([first]))


@pytest.mark.one_format("iceberg")
def test_identical_rejects_count_once_where_copies_do(project: Project) -> None:
    loaded = model(project, types={"n": "int"}, on_cast_error="rejects", deduplicate=True)
    row = "select 1 as id, 'x' as n, timestamp'2020-01-01 00:00:00.00000{}' as at"
    frame = project.spark.sql(" union all ".join(row.format(micros) for micros in (1, 2, 1)))
    loaded.load_frame("2020-01-01", frame)
    given = "select get_json_object(incoming_row, '$.at') from {schema}.t__rejects order by 1"
    assert project.rows(given) == [(f"2020-01-01T00:00:00.00000{micros}Z",) for micros in (1, 2)]


@pytest.mark.one_format("iceberg")
def test_a_column_of_nulls_alone_is_text_until_it_has_another_type(project: Project) -> None:
    loaded = model(project)
    assert loaded.load_row("2020-01-01", "'a' as v, null as first")["I"] == 1
    unchanged = {"I": 0, "U": 0, "D": 0, "X": 0, "N": 1}
    assert loaded.load_row("2020-01-02", "'a' as v, null as first, null as city, array() as tags") == {
        **unchanged,
        "U": 1,
        "N": 0,
    }
    assert loaded.load_row("2020-01-03", "'a' as v, null as first, null as city, array() as tags") == unchanged
    assert loaded.load_row("2020-01-04", "'a' as v, 'x' as first, 'Rome' as city, array('t') as tags")["U"] == 1
    assert project.rows("select v, first, city, tags from {schema}.t") == [("a", "x", "Rome", ["t"])]
    types = [kind for _, kind in project.columns("t")]
    assert types == [*["string"] * 2, "int", *["string"] * 3, "array<string>", "string", "date"]
    # nor has pandas a type for it
    frame = pandas.DataFrame(
        {"id": pandas.array([1], dtype="Int32"), "v": ["a"], "first": ["x"], "city": ["Rome"], "tags": [None]}
    )
    for day, given, counts in (
        ("2020-01-05", frame.head(0), {**unchanged, "X": 1, "N": 0}),
        ("2020-01-06", frame, {**unchanged, "U": 1, "N": 0}),
    ):
        settings = json.dumps(asdict(loaded.settings(day, "delta")))
        assert run(lambda dbt, spark, given=given: given, None, project.spark, settings).operations == counts
    assert project.rows("select first, tags from {schema}.t") == [("x", None)]


@pytest.mark.one_format("iceberg")
def test_types_that_a_reader_infers_are_taken_as_far_as_the_tables_hold_their_values(project: Project) -> None:
    loaded = model(project)
    changed, unchanged = {"I": 0, "U": 1, "D": 0, "X": 0, "N": 0}, {"I": 0, "U": 0, "D": 0, "X": 0, "N": 1}
    nested = "named_struct('city', 'x', 'zip', '1') as place, array(named_struct('in', named_struct('a', 1))) as list"
    loaded.load_row("2020-01-01", f"1.5D as v, 2.50BD as price, timestamp'2020-01-01 10:00:00' as at, 1 as n, {nested}")
    assert loaded.load_row("2020-01-02", "2 as v, 3L as price, date'2020-01-02' as at, 1 as n") == changed
    typed = "2.0D as v, 3.00BD as price, timestamp'2020-01-02 00:00:00' as at, 1 as n"
    assert loaded.load_row("2020-01-03", typed) == unchanged
    current = [(2.0, Decimal("3.00"), datetime(2020, 1, 2))]
    assert project.rows("select v, price, at from {schema}.t") == current
    with pytest.raises(DbtRuntimeError) as lost:
        loaded.load_row("2020-01-04", "9007199254740993L as v, 10 as price, date'2020-01-02' as at, 1 as n")
    told = "1 row(s) have a value that does not cast: v (double) '9007199254740993', price (decimal(3,2)) '10'."
    assert told in str(lost.value)
    with pytest.raises(DbtRuntimeError) as refused:
        nested = "named_struct('city', 'x') as place, array(named_struct('in', named_struct('a', 1, 'b', 2))) as list"
        loaded.load_row("2020-01-04", f"true as v, 3 as price, 1 as at, 1.0D as n, {nested}")
    for column, own, given in (("v", "double", "boolean"), ("at", "timestamp", "int"), ("n", "int", "double")):
        assert f"column '{column}': the table has type {own}, the data has {given}. Cast it" in str(refused.value)
    # Spark casts no struct to one with more or fewer fields
    remedy = (
        "Give the struct the same fields in the model (named_struct, transform; in Python read with a schema), or give"
    )
    for given in ("the data has struct<city:string>, which lacks zip", "struct<a:int,b:int>>>, which has more: in.b"):
        assert f"{given}. {remedy} it under a new name, or rebuild with --full-refresh" in str(refused.value)
    assert project.rows("select v, price, at from {schema}.t") == current
    # a type that was widened in one of the tables is to be so in the other
    wide = "2.0D as v, 3 as price, date'2020-01-02' as at, 3000000000 as n"
    project.sql("alter table {schema}.t__base alter column n type bigint")
    with pytest.raises(
        DbtRuntimeError, match=r"'n': \S*t__base` has type bigint, \S*t__history` has int, which does not"
    ):
        loaded.load_row("2020-01-04", wide)
    project.sql("alter table {schema}.t__history alter column n type bigint")
    assert loaded.load_row("2020-01-04", wide) == changed
    assert project.rows("select n from {schema}.t__history where eff_start_date = '2020-01-04'") == [(3000000000,)]


@pytest.mark.one_format("iceberg")
def test_a_moment_that_the_sessions_clocks_do_not_tell_does_not_cast(project: Project) -> None:
    loaded = model(project, types={"seen": "timestamp_ntz", "said": "string", "at": "timestamp", "first": "string"})
    second = "timestamp'2024-10-27 01:30:00Z'"  # 02:30 in Rome, as an hour before
    row = f"{second} as seen, {second} as said, timestamp_ntz'2024-03-31 02:30:00' as at, {second} - interval 1 hour as first"
    zone = {"spark.sql.session.timeZone": "Europe/Rome"}
    with session_conf(project.spark, zone), pytest.raises(DbtRuntimeError) as lost:
        loaded.load_row("2020-01-01", row)
    told = "seen (timestamp_ntz) '2024-10-27 02:30:00', said (string) '2024-10-27 02:30:00', at (timestamp) '2024-03-31 02:30:00'."
    assert f"1 row(s) have a value that does not cast: {told}" in str(lost.value)


@pytest.mark.one_format("delta")  # which keeps no collation; Iceberg makes plain text of it
def test_texts_are_compared_and_kept_without_a_collation(project: Project) -> None:
    loaded = model(project)
    text = "'{0}' collate UTF8_LCASE as v, array('{0}' collate UTF8_LCASE) as list"
    assert loaded.load_row("2020-01-01", text.format("a"))["I"] == 1
    assert loaded.load_row("2020-01-02", text.format("A") + ", 'x' collate UTF8_LCASE as w")["U"] == 1
    assert project.rows("select v, list, w, operation from {schema}.t") == [("A", ["A"], "x", "U")]

"""Ranges: begin exclusive, end inclusive, and a clear error for what can't be told any more."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.changes import FEED_ON, MERGE_ON_READ, Changes, vacuum
from tests.support.places import in_zone
from tests.support.shared import shared_project

WRITES = (
    "insert into {t} values (1, 'a')",
    "insert into {t} values (2, 'b')",
    "insert into {t} values (3, 'c')",
    "update {t} set v = 'z' where id = 1",
)


CHANGES = [("i", None, (1, "a")), ("i", None, (2, "b")), ("i", None, (3, "c")), ("u", (1, "a"), (1, "z"))]

#: what is asked of the table of WRITES, by its versions `v` and moments `m`, and the writes that the answer tells
RANGES = {
    "by_version": ("begin='{v[0]}', end='{v[2]}'", [1, 2]),
    "by_moment": ("begin='{m[0]}', end='{m[2]}'", [1, 2]),
    "in_tokyo": ("begin='{in_tokyo[0]}', end='{in_tokyo[2]}'", [1, 2]),
    "just_before": ("begin='{just_before[1]}', end='{just_before[3]}'", [1, 2]),
    "mixed": ("begin={v[2]}, end='{m[3]}'", [3]),
    "earliest": ("begin='earliest', end='{v[1]}'", [0, 1]),
    "before_anything": ("begin='earliest', end='earliest'", []),
    "up_to_nothing": ("end='earliest', format='net'", []),
    "to_latest": ("begin='{v[2]}'", [3]),
    "nothing_yet": ("begin='{v[3]}'", []),
    "from_the_next": ("begin='{next}'", []),
    "same": ("begin='{v[1]}', end='{v[1]}'", []),
    "from_the_future": ("begin='2999-01-01 00:00:00'", []),
    "between": ("begin='{m[3]}', end='{m[3]}'", []),
    "since_created": ("begin='{made}'", [0, 1, 2, 3]),
}


@dataclass(frozen=True)
class Asked:
    """Tables and what was asked of their changes: the moments of the last commits of `x`, and what dbt said."""

    changes: Changes
    moments: list[datetime.datetime]
    said: str = ""
    #: what stands for the names in what is told
    names: dict[str, Any] = field(default_factory=dict)
    tables: set[str] = field(default_factory=set)


def put_clock_ahead(changes: Changes, table: str) -> None:
    """An Iceberg table of two commits, the first by a clock that was ten seconds ahead of the second's."""
    changes.create(table, "id int, v string")
    changes.write(table, *WRITES[:2])
    query = f"select max_by(file, timestamp) from {{schema}}.{table}.metadata_log_entries"
    file = Path(changes.project.rows(query)[0][0].removeprefix("file:"))
    metadata = json.loads(file.read_text())
    first, second = (snapshot["snapshot-id"] for snapshot in metadata["snapshots"])
    for entry in metadata["snapshots"] + metadata["snapshot-log"]:
        if entry["snapshot-id"] == first:
            entry["timestamp-ms"] = metadata["snapshots"][1]["timestamp-ms"] + 10_000
    file.write_text(json.dumps(metadata))
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    changes.project.sql(f"refresh table {{schema}}.{table}")
    assert changes.versions(table) == [str(second), str(first)]  # by their times


@pytest.fixture(scope="module")
def ranges(spark: SparkSession, target: dict[str, Any]) -> Iterator[Asked]:
    with shared_project(spark, target) as project:
        changes = Changes(project)
        changes.create("x", "id int, v string")
        names: dict[str, Any] = {"made": datetime.datetime.now(datetime.timezone.utc)}
        changes.write("x", *WRITES)
        names["v"], names["m"] = zip(*changes.commits("x")[-4:], strict=True)
        names["next"] = int(names["v"][-1]) + 1  # which will be one, or may
        names["just_before"] = [moment - datetime.timedelta(microseconds=1) for moment in names["m"]]
        names["in_tokyo"] = [moment + datetime.timedelta(hours=9) for moment in names["m"]]
        asked = {
            model: f"'{{schema}}.x', unique_key='id', {question.format(**names)}"
            for model, (question, _) in RANGES.items()
        }
        if changes.format == "iceberg":  # whose versions have no order
            del asked["from_the_next"]
        if changes.format == "hudi":  # does not tell when a table was made
            del asked["since_created"]
        else:
            v1 = "'format-version' = '1'" if changes.format == "iceberg" else ""
            changes.create("unwritten", "id int, v string", properties=v1)
            now = f"begin='{datetime.datetime.now(datetime.timezone.utc)}'"
            asked["of_unwritten"] = f"'{{schema}}.unwritten', {now}"
        if changes.format == "iceberg":
            put_clock_ahead(changes, "ahead")
            moment = changes.commits("ahead")[0][1] + datetime.timedelta(seconds=5)
            changes.create("emptied", "id int, v string")
            changes.write("emptied", "insert into {t} values (1, 'a')")
            changes.write("emptied", "create or replace table {t} (id int, v string) using iceberg")
            now = f"begin='{datetime.datetime.now(datetime.timezone.utc)}'"
            asked["of_emptied"] = f"'{{schema}}.emptied', {now}, unique_key='id'"
            asked["of_ahead"] = f"'{{schema}}.ahead', end='{moment}', unique_key='id'"
        in_tokyo = {"in_tokyo": asked.pop("in_tokyo")}
        changes.ask(**asked)
        project.dbt("run")
        # a session on the other side of the world reads a timestamp as its own
        changes.ask(**in_tokyo)
        with in_zone(project, "Asia/Tokyo"):
            project.dbt("run", "--select", "in_tokyo")
        yield Asked(changes, list(names["m"]))


@pytest.mark.parametrize("model", RANGES)
def test_begin_is_exclusive_and_end_inclusive_for_versions_and_timestamps(ranges: Asked, model: str) -> None:
    changes, (_, told) = ranges.changes, RANGES[model]
    if model == "since_created" and changes.format == "hudi":
        pytest.skip("Hudi does not tell when a table was made")
    if model == "from_the_next" and changes.format == "iceberg":
        pytest.skip("Iceberg's versions have no order")
    answer = [(row["op"], row["before"], row["after"], row["ts"]) for row in changes.rows(model, "x")]
    assert answer == [(*CHANGES[write], ranges.moments[write]) for write in told]
    assert changes.project.columns(model) == changes.project.columns("to_latest")


def test_a_table_that_was_never_written_has_no_changes_since_its_creation(ranges: Asked) -> None:
    if ranges.changes.format == "hudi":
        pytest.skip("Hudi does not tell when a table was made")
    assert ranges.changes.answer("of_unwritten", "unwritten") == []
    if ranges.changes.format == "iceberg":  # made anew without rows
        assert ranges.changes.answer("of_emptied", "emptied") == []


@pytest.mark.only_format("iceberg")
def test_a_moment_between_the_times_of_two_commits_is_not_beyond_the_last(ranges: Asked) -> None:
    asked = "select op, after.id from {schema}.of_ahead order by 2"
    assert ranges.changes.project.rows(asked) == [("i", 1), ("i", 2)]


@dataclass(frozen=True)
class Untold:
    """A question, and what is told in the place of an answer: both with names in braces, which the tables give."""

    question: str
    told: tuple[str, ...]
    select: str = "*"
    formats: tuple[str, ...] = ("delta", "iceberg", "hudi")


def untold(question: str, *told: str, **more: Any) -> Untold:
    return Untold(question, told, **more)


OF_X = "'{schema}.x', unique_key='id', "
SEVERAL_ROWS = (
    "dbt_cdc: model.consumer.{model} can't run: changes of {schema}.twice: unique_key (v) names several rows of version"
    " {twice}, expected one row for each key; give the columns"
)
SEVERAL_ROWS_UP_TO = (
    "model.consumer.{model} can't run: changes of {schema}.reused: unique_key (v) names several rows {reach} version"
    " {reused}, expected one row for each key"
)
LATER = "the type that it has now; ask for a range that begins after the change of type (a model that reads them by ref_changes"
NO_VALUE = (
    "changes of {{schema}}.{0}: column `n` is of type {1} in a version of the range, got a value of it that is no {2},"
    f" expected values that can be cast to {LATER}"
)
WITHOUT_KEY = ("delta", "iceberg")  # Hudi's tables have their own

UNTOLD = {
    "before": untold(
        OF_X + "begin='2001-01-01 00:00:00'",
        "changes of {schema}.x: range (2001-01-01 00:00:00, latest] begins before the change feed",
        "{last}",
        "'earliest'",
    ),
    "beyond": untold(
        OF_X + "begin='{v[0]}', end='2999-01-01'",
        "goes beyond the last commit, expected one up to {last}; leave `end` out",
    ),
    "wholly_beyond": untold(OF_X + "begin='2998-01-01', end='2999-01-01'", "goes beyond the last commit"),
    "unknown_version": untold(
        OF_X + "begin=123456789, end=123456790", "goes beyond the last commit", formats=("delta",)
    ),
    "unknown_instant": untold(  # a moment, this one long ago
        OF_X + "begin=123456789, end=123456790", "begins before the change feed", formats=("hudi",)
    ),
    "unknown_snapshot": untold(
        OF_X + "begin=123456789, end=123456790",
        "`begin` is no snapshot id of this table's history",
        "`end` is no snapshot id of this table's history",
        formats=("iceberg",),
    ),
    "backwards": untold(OF_X + "begin='{v[2]}', end='{v[1]}'", "range ({v[2]}, {v[1]}] ends before it begins"),
    "to_the_first": untold(OF_X + "begin='{v[2]}', end='earliest'", "range ({v[2]}, earliest] ends before it begins"),
    "neither": untold(
        OF_X + "begin='last week'", "`begin` must be a version, a timestamp or 'earliest', got 'last week'"
    ),
    "format": untold(OF_X + "format='nett'", "must be one of cdc, latest_state, net", "did you mean 'net'?"),
    "no_format": untold(OF_X + "format=none", "option 'format' is required (string)"),
    "key": untold("'{schema}.x', unique_key='idd'", "unknown column in unique_key 'idd', did you mean 'id'?"),
    "key_number": untold(
        "'{schema}.x', unique_key=5", "changes of {schema}.x: option 'unique_key' must be of type list, got 5"
    ),
    "key_map": untold(
        "'{schema}.mapped', unique_key='m'",
        "column 'm' in unique_key is of type map<string,int>, expected one by whose values",
    ),
    "no_key": untold(
        "'{schema}.x', format='net'", "format 'net' needs the key, got no unique_key", formats=WITHOUT_KEY
    ),
    "no_key_latest": untold(
        "'{schema}.x', format='latest_state'",
        "format 'latest_state' needs the key, got no unique_key",
        formats=WITHOUT_KEY,
    ),
    "missing": untold(
        "'{schema}.nowhere'",
        "{schema}.nowhere: it does not exist, expected a table of format delta, iceberg, hudi; build it first",
    ),
    "of_inner": untold("ref('inner')", "changes of __dbt__cte__inner: it is an ephemeral model, expected", select="op"),
    "twice_net": untold("'{schema}.twice', unique_key='v', format='net'", SEVERAL_ROWS),
    "twice_id": untold("target.schema ~ '.twice', unique_key='v'", SEVERAL_ROWS, select="after.id"),
    "twice_count": untold("target.schema ~ '.twice', unique_key='v'", SEVERAL_ROWS, select="count(*) as n"),
    "reused_net": untold("'{schema}.reused', unique_key='v', format='net'", SEVERAL_ROWS_UP_TO),
    "reused_latest_state": untold("'{schema}.reused', unique_key='v', format='latest_state'", SEVERAL_ROWS_UP_TO),
    "retyped_all": untold(
        "'{schema}.retyped', unique_key='id'",
        NO_VALUE.format("retyped", "string", "decimal(10,2)"),
        formats=WITHOUT_KEY,
    ),
    "rounded_all": untold(
        "'{schema}.rounded', unique_key='id'", NO_VALUE.format("rounded", "int", "float"), formats=WITHOUT_KEY
    ),
    "recast_all": untold(
        "'{schema}.recast', unique_key='id'",
        "changes of {schema}.recast: column `n` is of type boolean in a version of the range,"
        f" expected one that can be cast to date, {LATER}",
        formats=WITHOUT_KEY,
    ),
    "renamed_all": untold(
        "'{schema}.renamed', unique_key='id'",
        "version {renamed} has a column v and no w of the same type, which counts as its new name",
        formats=("iceberg",),
    ),
    # `create or replace` begins a history of its own: what was there before is no longer told
    "anew_between": untold(
        "'{schema}.anew', unique_key='id', begin='{between}'",
        "range ({between}, latest] begins before the change feed",
        formats=("iceberg",),
    ),
    "anew_without_rows": untold(
        "'{schema}.emptied', unique_key='id', begin='{between}'",
        "range ({between}, latest] begins before the change feed",
        formats=("iceberg",),
    ),
    "anew_expired": untold(
        "'{schema}.expired', unique_key='id', begin='{between}'",
        "range ({between}, latest] begins before the change feed",
        formats=("iceberg",),
    ),
}


def retype(changes: Changes, table: str, old: str, new: str, bad: str, value: str) -> None:
    """A table whose column `n` is taken away and comes back as another type."""
    mapping = "'delta.columnMapping.mode' = 'name'" if changes.format == "delta" else MERGE_ON_READ["iceberg"]
    changes.create(table, f"id int, n {old}", properties=mapping)
    changes.write(
        table,
        f"insert into {{t}} values (1, cast(5 as {old}))",
        f"insert into {{t}} values (2, {bad})",
        "alter table {t} drop column n",
        f"alter table {{t}} add columns (n {new})",
        f"update {{t}} set n = {value} where id = 1",
        "update {t} set n = null where id = 1",
    )


def write_tables(changes: Changes) -> dict[str, Any]:
    """The tables that are asked, and what stands for the names in questions and answers."""
    changes.create("x", "id int, v string")
    changes.write("x", *WRITES)
    changes.create("twice", "id int, v string")
    changes.write("twice", "insert into {t} values (1, 'a'), (2, 'a')")
    changes.create("mapped", "id int, m map<string, int>")
    changes.create("reused", "id int, v string")
    changes.write("reused", "insert into {t} values (1, 'a')", "insert into {t} values (2, 'a')")
    names: dict[str, Any] = {"schema": changes.project.schema}
    names["v"], names["m"] = zip(*changes.commits("x")[-4:], strict=True)
    names["last"] = f"version {names['v'][3]} ({names['m'][3]:%Y-%m-%d %H:%M:%S.%f} UTC)"
    names |= {table: changes.versions(table)[-1] for table in ("twice", "reused")}
    names["reach"] = "of" if changes.format == "hudi" else "up to"  # without a feed a version is looked at whole
    if changes.format != "hudi":
        retype(changes, "retyped", "string", "decimal(10,2)", "'1.505'", "7")
        retype(changes, "rounded", "int", "float", "2147483647", "4")
        retype(changes, "recast", "boolean", "date", "true", "date'2024-01-02'")
    if changes.format == "iceberg":
        for name, properties in {"renamed": MERGE_ON_READ["iceberg"], "renamed_copied": ""}.items():
            changes.create(name, "id int, v string", properties=properties)
            changes.write(name, "insert into {t} values (1, 'a'), (2, 'b')", "update {t} set v = 'c' where id = 1")
            changes.write(name, "alter table {t} rename column v to w", "update {t} set w = 'd' where id = 1")
        names["renamed"] = changes.versions("renamed")[0]
        for name in ("anew", "expired", "emptied"):
            changes.write(name, "create table {t} using iceberg as select 1 as id")
        ((names["between"],),) = changes.project.rows("select cast(current_timestamp() as string)")
        for name in ("anew", "expired"):
            changes.write(name, "create or replace table {t} using iceberg as select 1 as id")
        changes.write("emptied", "create or replace table {t} (id int) using iceberg")
        # of the two beginnings one is left
        changes.write(
            "expired",
            "call spark_catalog.system.expire_snapshots(table => '{t}', older_than => now(), retain_last => 1)",
        )
        assert len(changes.versions("expired")) == 1
    return names


@pytest.fixture(scope="module")
def refusals(spark: SparkSession, target: dict[str, Any]) -> Iterator[Asked]:
    """All that can't be told was asked, beside three questions that can be answered."""
    with shared_project(spark, target) as project:
        changes = Changes(project)
        names = write_tables(changes)
        kept_as = ", file_format='parquet'" if changes.format == "hudi" else ""
        body = "{{ config(materialized='table'%s) }} select %s from {{ dbt_cdc.table_changes(%s) }}"
        project.write({"models/inner.sql": "{{ config(materialized='ephemeral') }} select 1 as id"})
        for model, case in UNTOLD.items():
            if changes.format in case.formats:
                project.write({f"models/{model}.sql": body % (kept_as, case.select, case.question.format(**names))})
        if changes.format != "hudi":
            new, old = (
                changes.versions("retyped")[-2],
                changes.versions("retyped")[1 if changes.format == "delta" else 0],
            )
            changes.ask(
                retyped_new=f"'{{schema}}.retyped', unique_key='id', begin={new}",
                retyped_old=f"'{{schema}}.retyped', unique_key='id', end={old}",
            )
        if changes.format == "iceberg":
            changes.ask(renamed_copied_all="'{schema}.renamed_copied', unique_key='id'")
        said = project.error("run")
        yield Asked(changes, list(names["m"]), said, names, project.tables())


@pytest.mark.parametrize("model", UNTOLD)
def test_a_range_that_can_not_be_told_is_an_error_that_says_what_can(refusals: Asked, model: str) -> None:
    case = UNTOLD[model]
    if refusals.changes.format not in case.formats:
        pytest.skip("asked of " + " and ".join(case.formats))
    lines = refusals.said.replace("\n  ", " ").splitlines()
    (message,) = [line for line in lines if line.startswith(f"{model}: ")]
    for told in case.told:
        assert told.format(model=model, **refusals.names) in message
    assert model not in refusals.tables


def test_what_can_not_be_told_is_not_written(refusals: Asked) -> None:
    tables = {"x", "twice", "mapped", "reused"}
    if refusals.changes.format != "hudi":
        tables |= {"retyped", "recast", "rounded", "retyped_new", "retyped_old"}
    if refusals.changes.format == "iceberg":
        tables |= {"anew", "emptied", "expired", "renamed", "renamed_copied", "renamed_copied_all"}
    assert refusals.tables == tables


def test_a_range_on_one_side_of_a_change_of_type_is_told(refusals: Asked) -> None:
    changes = refusals.changes
    if changes.format == "hudi":
        pytest.skip("a column of Hudi keeps its type")
    assert changes.answer("retyped_new", "retyped") == [("u", (1, 7), (1, None))]
    # Iceberg's changelog knows the two columns apart
    old = None if changes.format == "iceberg" else 5
    assert changes.answer("retyped_old", "retyped") == [("i", None, (1, old))]


@pytest.mark.only_format("iceberg")
def test_a_column_that_was_renamed_is_told_by_its_new_name_where_files_are_copied(refusals: Asked) -> None:
    assert refusals.changes.answer("renamed_copied_all", "renamed_copied") == [
        ("i", None, (1, "a")),
        ("i", None, (2, "b")),
        ("u", (1, "a"), (1, "c")),
        ("u", (1, "c"), (1, "d")),
    ]


def test_a_feed_switched_on_after_the_range_began_is_an_error_not_a_comparison(changes: Changes) -> None:
    if changes.format == "iceberg":
        pytest.skip("Iceberg's changelog is never off")
    changes.create("late", "id int, v string", feed=False)
    switch = "alter table {t} set tblproperties (delta.enableChangeDataFeed = %s)"
    changes.write(
        "late", WRITES[0], switch % "true", WRITES[1], switch % "false", WRITES[2], switch % "true", WRITES[3]
    )
    # what was switched on before the first rows came has them all
    changes.create("empty_first", "id int, v string", feed=False)
    changes.write("empty_first", switch % "true", WRITES[0])
    # a restore brings back that it was off
    changes.create("restored", "id int, v string", feed=False)
    changes.write("restored", WRITES[0], switch % "true", WRITES[1], "restore table {t} to version as of 1")
    changes.ask(
        all="'{schema}.empty_first', unique_key='id'",
        compared="'{schema}.restored', unique_key='id'",
        ok="'{schema}.late', unique_key='id', begin=5",
        first="'{schema}.late', unique_key='id'",
        gap="'{schema}.late', unique_key='id', begin=2",
        start="'{schema}.late', unique_key='id', begin=0",
        before="'{schema}.late', unique_key='id', begin=0, end=1",
        ended="'{schema}.late', unique_key='id', end=3",
    )
    message = changes.project.error("run")
    assert message.count("begins before the change feed, expected one that begins at or after version 5 (") == 5
    assert message.count("; begin there\n") == 5 and "or at 'earliest'" not in message
    assert changes.answer("ok", "late") == [("u", (1, "a"), (1, "z"))]
    assert changes.answer("all", "empty_first") == changes.answer("compared", "restored") == [("i", None, (1, "a"))]


def test_what_was_vacuumed_or_expired_is_an_error_that_says_what_is_left(changes: Changes) -> None:
    changes.create("old", "id int, v string")
    changes.write("old", *WRITES)
    gone = "2" if changes.format == "delta" else changes.versions("old")[0]
    if changes.format == "delta":
        changes.create("bare", "id int, v string", feed=False)
        changes.write("bare", *WRITES)
        vacuum(changes.project, "old", "bare")
    else:
        expired = "table => '{schema}.old', older_than => now(), retain_last => 2"
        changes.project.sql(f"call spark_catalog.system.expire_snapshots({expired})")
    changes.write("old", "insert into {t} values (9, 'n')")
    left = changes.versions("old")
    begin = "4" if changes.format == "delta" else left[0]
    changes.ask(
        earliest="'{schema}.old', unique_key='id'",
        kept=f"'{{schema}}.old', unique_key='id', begin='{begin}'",
        gone=f"'{{schema}}.old', unique_key='id', begin={gone}",
    )
    if changes.format == "delta":
        changes.ask(
            bare_gone="'{schema}.bare', unique_key='id', begin=2",
            bare_kept="'{schema}.bare', unique_key='id', begin=4",
            bare_all="'{schema}.bare', unique_key='id'",
        )
    message = changes.project.error("run")
    assert f".earliest: changes of {changes.project.schema}.old up to version {begin} (" in changes.project.log()
    assert changes.project.log().count(" are gone, 'earliest' begins after it") == 1  # without a feed all rows are told
    newest = ("i", None, (9, "n"))
    expected = [newest] if changes.format == "delta" else [("u", (1, "a"), (1, "z")), newest]
    assert changes.answer("kept", "old") == expected
    assert changes.answer("earliest", "old") == expected
    # what another session has written since this one looked
    changes.project.spark.newSession().sql(f"insert into {changes.project.schema}.old values (10, 'm')")
    changes.project.dbt("run", "--select", "kept")
    assert changes.answer("kept", "old") == [*expected, ("i", None, (10, "m"))]
    if changes.format == "iceberg":
        reasons = "(expired, taken back, of another branch, or never there)"
        assert f"`begin` is no snapshot id of this table's history {reasons}, got {gone}" in message
    else:
        assert (
            f"({gone}, latest] begins before the change feed, expected one that begins at or after version 4" in message
        )
        assert "begins before what can still be read" in message
        assert changes.answer("bare_kept", "bare") == []
        assert sorted(changes.answer("bare_all", "bare")) == [
            ("i", None, (1, "z")),
            ("i", None, (2, "b")),
            ("i", None, (3, "c")),
        ]
    assert not {"gone", "bare_gone"} & changes.project.tables()


@pytest.mark.only_format("delta")  # whose VACUUM takes files that are still in the history
def test_changes_are_told_from_before_a_compaction_whose_old_files_are_gone(changes: Changes) -> None:
    spark, names = changes.project.spark, {"fed": True, "bare": False}
    numbered = "alter table {t} set tblproperties ('delta.enableRowTracking' = '%s')"
    maintenance = (numbered % "true", numbered % "false", "alter table {t} drop feature rowTracking")
    for name, feed in names.items():
        changes.create(name, "id int, v string", feed=feed)
        changes.write(name, *WRITES, *maintenance, "optimize {t}")
    vacuum(changes.project, *names)
    for name in names:
        changes.write(name, "insert into {t} values (9, 'n')")
    history = [row["operation"] for row in spark.sql(f"describe history {changes.project.schema}.bare").collect()]
    assert history[:4] == ["WRITE", "VACUUM END", "VACUUM START", "OPTIMIZE"]
    assert {"DROP FEATURE", "ROW TRACKING UNBACKFILL", "ROW TRACKING BACKFILL"} < {*history[4:10]}
    changes.ask(**{f"of_{name}": f"'{{schema}}.{name}', unique_key='id', begin=4" for name in names})
    changes.ask(too_old="'{schema}.bare', unique_key='id', begin=3")
    message = changes.project.error("run")
    assert "range (3, latest] begins before what can still be read" in message
    told = [changes.answer(f"of_{name}", name) for name in names]
    assert told == [[("i", None, (9, "n"))], [("i", None, (9, "n"))]]


@pytest.mark.only_format("delta")  # which forgets the log entries of old commits, and no data
def test_a_cleaned_history_is_told_from_its_second_commit_on(changes: Changes) -> None:
    mapping = "'delta.columnMapping.mode' = 'name', 'delta.checkpointInterval' = '2'"
    for name in ("cleaned", "unmapped"):
        changes.create(name, "id int, n int, v string", properties=mapping)
        changes.write(name, "insert into {t} values (1, 5, 'a')", "insert into {t} values (2, 6, 'b')")
        for version in (0, 1):
            (changes.project.place(name) / f"_delta_log/{version:020}.json").unlink()
    changes.project.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    changes.write("cleaned", "alter table {t} drop column n", "insert into {t} values (3, 'c')")
    assert changes.versions("cleaned") == ["2", "3", "4"]
    # that names were mapped was said by a commit that is gone
    changes.write("unmapped", "insert into {t} values (3, 7, 'c')")
    anew = f"create or replace table {{t}} using delta tblproperties ({FEED_ON['delta']}) as select 3 as id, 7 as n, 'd' as v"
    changes.write("unmapped", anew, "insert into {t} values (4, 8, 'e')")
    changes.ask(**{f"{name}_all": f"'{{schema}}.{name}', unique_key='id'" for name in ("cleaned", "unmapped")})
    changes.project.dbt("run")
    assert changes.answer("cleaned_all", "cleaned") == [("i", None, (3, "c"))]
    assert changes.answer("unmapped_all", "unmapped") == [
        ("d", (1, 5, "a"), None),
        ("d", (2, 6, "b"), None),
        ("u", (3, 7, "c"), (3, 7, "d")),
        ("i", None, (4, 8, "e")),
    ]

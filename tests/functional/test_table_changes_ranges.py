"""Ranges: begin exclusive, end inclusive, and a clear error for what can't be told any more."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from tests.support.changes import MERGE_ON_READ, Changes
from tests.support.places import write_zone
from tests.support.project import Project

WRITES = (
    "insert into {t} values (1, 'a')",
    "insert into {t} values (2, 'b')",
    "insert into {t} values (3, 'c')",
    "update {t} set v = 'z' where id = 1",
)


@pytest.fixture
def changes(project: Project) -> Changes:
    return Changes(project)


def test_begin_is_exclusive_and_end_inclusive_for_versions_and_timestamps(changes: Changes) -> None:
    changes.create("x", "id int, v string")
    made = datetime.datetime.now(datetime.timezone.utc)
    changes.write("x", *WRITES)
    versions, moments = zip(*changes.commits("x")[-4:], strict=True)
    tick = datetime.timedelta(microseconds=1)
    table = "'{schema}.x', unique_key='id', "
    future = datetime.datetime(2999, 1, 1)
    changes.ask(
        by_version=table + f"begin='{versions[0]}', end='{versions[2]}'",
        by_moment=table + f"begin='{moments[0]}', end='{moments[2]}'",
        just_before=table + f"begin='{moments[1] - tick}', end='{moments[3] - tick}'",
        mixed=table + f"begin={versions[2]}, end='{moments[3]}'",
        earliest=table + f"begin='earliest', end='{versions[1]}'",
        before_anything=table + "begin='earliest', end='earliest'",
        up_to_nothing=table + "end='earliest', format='net'",
        to_latest=table + f"begin='{versions[2]}'",
        nothing_yet=table + f"begin='{versions[3]}'",
        same=table + f"begin='{versions[1]}', end='{versions[1]}'",
        from_the_future=table + f"begin='{future}'",
        between=table + f"begin='{moments[3]}', end='{moments[3]}'",
    )
    tells_creation = changes.format != "hudi"
    if tells_creation:
        changes.create("unwritten", "id int, v string")
        changes.ask(
            since_created=table + f"begin='{made}'",
            of_unwritten=f"'{{schema}}.unwritten', begin='{datetime.datetime.now(datetime.timezone.utc)}'",
        )
    changes.project.dbt("run")
    # a session on the other side of the world reads a timestamp as its own
    nine = datetime.timedelta(hours=9)
    changes.ask(in_tokyo=table + f"begin='{moments[0] + nine}', end='{moments[2] + nine}'")
    write_zone(changes.project, "Asia/Tokyo")
    try:
        changes.project.dbt("run", "--select", "in_tokyo")
    finally:
        changes.project.spark.conf.set("spark.sql.session.timeZone", "UTC")

    first, second, third = ("i", None, (1, "a")), ("i", None, (2, "b")), ("i", None, (3, "c"))
    fourth = ("u", (1, "a"), (1, "z"))
    if tells_creation:
        assert changes.answer("since_created", "x") == [first, second, third, fourth]
        assert changes.answer("of_unwritten", "unwritten") == []
    assert [row["ts"] for row in changes.rows("in_tokyo", "x")] == [moments[1], moments[2]]
    expected = {
        "by_version": [second, third],
        "by_moment": [second, third],
        "in_tokyo": [second, third],
        "just_before": [second, third],
        "mixed": [fourth],
        "earliest": [first, second],
        "before_anything": [],
        "up_to_nothing": [],
        "to_latest": [fourth],
        "nothing_yet": [],
        "same": [],
        "from_the_future": [],
        "between": [],
    }
    assert {model: changes.answer(model, "x") for model in expected} == expected
    schema = changes.project.columns("to_latest")
    assert all(changes.project.columns(model) == schema for model in expected)


def test_a_range_that_can_not_be_told_is_an_error_that_says_what_can(changes: Changes) -> None:
    changes.create("x", "id int, v string")
    changes.write("x", *WRITES)
    versions, moments = zip(*changes.commits("x")[-4:], strict=True)
    table = "'{schema}.x', unique_key='id', "
    changes.ask(
        before=table + "begin='2001-01-01 00:00:00'",
        beyond=table + f"begin='{versions[0]}', end='2999-01-01'",
        wholly_beyond=table + "begin='2998-01-01', end='2999-01-01'",
        unknown=table + "begin=123456789, end=123456790",
        backwards=table + f"begin='{versions[2]}', end='{versions[1]}'",
        to_the_first=table + f"begin='{versions[2]}', end='earliest'",
        neither=table + "begin='last week'",
        format=table + "format='nett'",
        no_format=table + "format=none",
        key="'{schema}.x', unique_key='idd'",
        key_number="'{schema}.x', unique_key=5",
        key_map="'{schema}.mapped', unique_key='m'",
        missing="'{schema}.nowhere'",
    )
    changes.create("twice", "id int, v string")
    changes.write("twice", "insert into {t} values (1, 'a'), (2, 'a')")
    changes.ask(twice_net="'{schema}.twice', unique_key='v', format='net'")
    changes.create("mapped", "id int, m map<string, int>")
    changes.create("reused", "id int, v string")
    changes.write("reused", "insert into {t} values (1, 'a')", "insert into {t} values (2, 'a')")
    changes.ask(
        **{
            f"reused_{form}": f"'{{schema}}.reused', unique_key='v', format='{form}'"
            for form in ("net", "latest_state")
        }
    )
    twice = "select after.id from {{ dbt_cdc.table_changes(target.schema ~ '.twice', unique_key='v') }}"
    config = "{{ config(materialized='table'%s) }} " % (", file_format='parquet'" if changes.format == "hudi" else "")
    changes.project.write({"models/twice_id.sql": config + twice})
    changes.project.write({"models/twice_count.sql": config + twice.replace("after.id", "count(*) as n")})
    inner = "{{ config(materialized='ephemeral') }} select 1 as id"
    of_inner = "select op from {{ dbt_cdc.table_changes(ref('inner')) }}"
    changes.project.write({"models/inner.sql": inner, "models/of_inner.sql": config + of_inner})
    keeps_key = changes.format == "hudi"
    if not keeps_key:
        changes.ask(no_key="'{schema}.x', format='net'", no_key_latest="'{schema}.x', format='latest_state'")
        if changes.format == "iceberg":
            for name, properties in {"renamed": MERGE_ON_READ["iceberg"], "renamed_copied": ""}.items():
                changes.create(name, "id int, v string", properties=properties)
                changes.write(name, "insert into {t} values (1, 'a'), (2, 'b')", "update {t} set v = 'c' where id = 1")
                changes.write(name, "alter table {t} rename column v to w", "update {t} set w = 'd' where id = 1")
                changes.ask(**{f"{name}_all": f"'{{schema}}.{name}', unique_key='id'"})
            # `create or replace` begins a history of its own: what was there before is no longer told
            changes.write("anew", "create table {t} using iceberg as select 1 as id")
            ((between,),) = changes.project.rows("select cast(current_timestamp() as string)")
            changes.write("anew", "create or replace table {t} using iceberg as select 1 as id")
            changes.ask(anew_between=f"'{{schema}}.anew', unique_key='id', begin='{between}'")
        retype(changes, "retyped", "string", "int", "'x'", "7")
        retype(changes, "narrowed", "double", "int", "3.7", "4")
        retype(changes, "recast", "boolean", "date", "true", "date'2024-01-02'")
        changes.ask(
            retyped_all="'{schema}.retyped', unique_key='id'",
            retyped_new=f"'{{schema}}.retyped', unique_key='id', begin={changes.versions('retyped')[-2]}",
            retyped_old=f"'{{schema}}.retyped', unique_key='id', end={first_version(changes, 'retyped')}",
            recast_all="'{schema}.recast', unique_key='id'",
            narrowed_all="'{schema}.narrowed', unique_key='id'",
        )
    messages = changes.project.error("run")
    told = {line.split(":")[0]: line for line in messages.replace("\n  ", " ").splitlines() if ": " in line}

    last = f"version {versions[3]} ({moments[3]:%Y-%m-%d %H:%M:%S.%f} UTC)"
    source = f"changes of {changes.project.schema}.x: "
    assert source + "range (2001-01-01 00:00:00, latest] begins before the change feed" in told["before"]
    assert last in told["before"] and "'earliest'" in told["before"]
    assert f"goes beyond the last commit, expected one up to {last}; leave `end` out" in told["beyond"]
    assert "goes beyond the last commit" in told["wholly_beyond"]
    if changes.format == "delta":
        assert "goes beyond the last commit" in told["unknown"]
    elif changes.format == "hudi":  # an instant is a moment, this one long ago
        assert "begins before the change feed" in told["unknown"]
    else:
        assert "`begin` is no snapshot id of this table's history" in told["unknown"]
        assert "`end` is no snapshot id of this table's history" in told["unknown"]
    assert f"range ({versions[2]}, {versions[1]}] ends before it begins" in told["backwards"]
    assert f"range ({versions[2]}, earliest] ends before it begins" in told["to_the_first"]
    assert "`begin` must be a version, a timestamp or 'earliest', got 'last week'" in told["neither"]
    assert "must be one of cdc, latest_state, net" in told["format"]
    assert "did you mean 'net'?" in told["format"]
    assert "option 'format' is required (string)" in told["no_format"]
    assert "unknown column in unique_key 'idd', did you mean 'id'?" in told["key"]
    assert source + "option 'unique_key' must be of type list, got 5" in told["key_number"]
    assert "column 'm' in unique_key is of type map<string,int>, expected one by whose values" in told["key_map"]
    assert keeps_key or "format 'net' needs the key, got no unique_key" in told["no_key"]
    assert keeps_key or "format 'latest_state' needs the key, got no unique_key" in told["no_key_latest"]
    assert f"{changes.project.schema}.nowhere: it does not exist" in told["missing"]
    assert "changes of __dbt__cte__inner: it is an ephemeral model, expected" in messages
    version = changes.versions("twice")[-1]
    for name in ("twice_net", "twice_id", "twice_count"):
        assert (
            f"dbt_cdc: model.consumer.{name} can't run: changes of {changes.project.schema}.twice: unique_key (v) names"
            f" several rows of version {version}, expected one row for each key; give the columns" in messages
        )
    version = changes.versions("reused")[-1]
    for name in ("reused_net", "reused_latest_state"):
        reused = f"model.consumer.{name} can't run: changes of {changes.project.schema}.reused: unique_key (v) names"
        reach = "of" if changes.format == "hudi" else "up to"  # without a feed a version is looked at whole
        assert f"{reused} several rows {reach} version {version}, expected one row for each key" in messages
    tables = {"x", "twice", "mapped", "reused"}
    if keeps_key:
        assert changes.project.tables() == tables
        return
    later = "the type that it has now; ask for a range that begins after the change of type"
    retyped = (
        f"changes of {changes.project.schema}.retyped: column `n` is of type string in a version of the range, got a"
    )
    assert f"{retyped} value of it that is no int, expected values that can be cast to {later}" in messages
    narrowed = (
        f"changes of {changes.project.schema}.narrowed: column `n` is of type double in a version of the range, got a"
    )
    assert f"{narrowed} value of it that is no int, expected values that can be cast to {later}" in messages
    recast = f"changes of {changes.project.schema}.recast: column `n` is of type boolean in a version of the range,"
    assert f"{recast} expected one that can be cast to date, {later}" in messages
    assert changes.answer("retyped_new", "retyped") == [("u", (1, 7), (1, None))]
    # Iceberg's changelog knows the two columns apart
    old = None if changes.format == "iceberg" else 5
    assert changes.answer("retyped_old", "retyped") == [("i", None, (1, old))]
    if changes.format == "iceberg":
        assert f"range ({between}, latest] begins before the change feed" in told["anew_between"]
        inserted = changes.versions("renamed")[0]
        assert f"version {inserted} has a column v and no w of the same type, which counts as its new name" in messages
        assert changes.answer("renamed_copied_all", "renamed_copied") == [
            ("i", None, (1, "a")),
            ("i", None, (2, "b")),
            ("u", (1, "a"), (1, "c")),
            ("u", (1, "c"), (1, "d")),
        ]
        tables |= {"anew", "renamed", "renamed_copied", "renamed_copied_all"}
    tables |= {"retyped", "recast", "narrowed", "retyped_new", "retyped_old"}
    assert changes.project.tables() == tables


def first_version(changes: Changes, table: str) -> str:
    """The version of a table's first insert."""
    return changes.versions(table)[1 if changes.format == "delta" else 0]


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


def test_a_feed_switched_on_after_the_range_began_is_an_error_not_a_comparison(changes: Changes) -> None:
    if changes.format == "iceberg":
        pytest.skip("Iceberg's changelog is never off")
    changes.create("late", "id int, v string", feed=False)
    switch = "alter table {t} set tblproperties (delta.enableChangeDataFeed = %s)"
    changes.write(
        "late", WRITES[0], switch % "true", WRITES[1], switch % "false", WRITES[2], switch % "true", WRITES[3]
    )
    changes.ask(
        ok="'{schema}.late', unique_key='id', begin=5",
        first="'{schema}.late', unique_key='id'",
        gap="'{schema}.late', unique_key='id', begin=2",
        start="'{schema}.late', unique_key='id', begin=0",
        before="'{schema}.late', unique_key='id', begin=0, end=1",
        ended="'{schema}.late', unique_key='id', end=3",
    )
    message = changes.project.error("run")
    assert (
        "range (earliest, 3] ends before the change feed, expected one that begins at or after version 5 (" in message
    )
    assert message.count("begins before the change feed, expected one that begins at or after version 5 (") == 3
    update = [("u", (1, "a"), (1, "z"))]
    assert changes.answer("ok", "late") == update
    assert changes.answer("first", "late") == update


def test_what_was_vacuumed_or_expired_is_an_error_that_says_what_is_left(changes: Changes) -> None:
    changes.create("old", "id int, v string")
    changes.write("old", *WRITES)
    spark, table = changes.project.spark, f"{changes.project.schema}.old"
    gone = "2" if changes.format == "delta" else changes.versions("old")[0]
    if changes.format == "delta":
        changes.create("bare", "id int, v string", feed=False)
        changes.write("bare", *WRITES)
        spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
        spark.sql(f"vacuum {table} retain 0 hours")
        spark.sql(f"vacuum {changes.project.schema}.bare retain 0 hours")
        spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
    else:
        spark.sql(
            f"call spark_catalog.system.expire_snapshots(table => '{table}', older_than => now(), retain_last => 2)"
        )
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
    newest = ("i", None, (9, "n"))
    expected = [newest] if changes.format == "delta" else [("u", (1, "a"), (1, "z")), newest]
    assert changes.answer("kept", "old") == expected
    assert changes.answer("earliest", "old") == expected
    if changes.format == "iceberg":
        assert f"`begin` is no snapshot id of this table's history (expired, or never there), got {gone}" in message
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
    assert len(message.splitlines()) and not {"gone", "bare_gone"} & changes.project.tables()


@pytest.mark.one_format("delta")  # VACUUM of files that are still in the history is Delta's
def test_changes_are_told_from_before_a_compaction_whose_old_files_are_gone(changes: Changes) -> None:
    spark, names = changes.project.spark, {"fed": True, "bare": False}
    for name, feed in names.items():
        changes.create(name, "id int, v string", feed=feed)
        changes.write(name, *WRITES, "optimize {t}")
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    for name in names:
        spark.sql(f"vacuum {changes.project.schema}.{name} retain 0 hours")
    spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
    for name in names:
        changes.write(name, "insert into {t} values (9, 'n')")
    assert [row["operation"] for row in spark.sql(f"describe history {changes.project.schema}.bare").collect()][:4] == [
        "WRITE",
        "VACUUM END",
        "VACUUM START",
        "OPTIMIZE",
    ]
    changes.ask(**{f"of_{name}": f"'{{schema}}.{name}', unique_key='id', begin=4" for name in names})
    changes.ask(too_old="'{schema}.bare', unique_key='id', begin=3")
    message = changes.project.error("run")
    assert "range (3, latest] begins before what can still be read" in message
    told = [changes.answer(f"of_{name}", name) for name in names]
    assert told == [[("i", None, (9, "n"))], [("i", None, (9, "n"))]]


def test_a_cleaned_history_is_told_from_its_second_commit_on(changes: Changes) -> None:
    if changes.format != "delta":
        pytest.skip("a Delta table forgets the log entries of old commits, and no data")
    mapping = "'delta.columnMapping.mode' = 'name', 'delta.checkpointInterval' = '2'"
    changes.create("cleaned", "id int, n int, v string", properties=mapping)
    changes.write("cleaned", "insert into {t} values (1, 5, 'a')", "insert into {t} values (2, 6, 'b')")
    spark = changes.project.spark
    place = spark.sql(f"describe detail {changes.project.schema}.cleaned").collect()[0]["location"]
    for version in (0, 1):
        (Path(place.removeprefix("file:")) / f"_delta_log/{version:020}.json").unlink()
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    changes.write("cleaned", "alter table {t} drop column n", "insert into {t} values (3, 'c')")
    assert changes.versions("cleaned") == ["2", "3", "4"]
    changes.ask(cleaned_all="'{schema}.cleaned', unique_key='id'")
    changes.project.dbt("run")
    assert changes.answer("cleaned_all", "cleaned") == [("i", None, (3, "c"))]

"""Sources whose clocks, names and types are not what a snapshot would like them to be."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
import yaml

from tests.support.places import in_zone
from tests.support.project import Project
from tests.support.snapshots import HIGH, SOURCES, snapshot, supply

ON = {"dbt_cdc": {"operational_metadata": True}}
BY_TIME = {"unique_key": "id", "strategy": "timestamp", "updated_at": "updated_at", "hard_deletes": "invalidate"}
CHECKED = {"unique_key": "id", "strategy": "check", "check_cols": "all", "meta": ON}
ADOPT = ("run-operation", "adopt_operational_metadata", "--args", "{snapshot: s}")


def write(project: Project, **snapshots: dict[str, Any]) -> None:
    entries = [
        {"name": name, "relation": "source('raw', 'things')", "config": config} for name, config in snapshots.items()
    ]
    project.write({"models/sources.yml": SOURCES, "snapshots/s.yml": yaml.safe_dump({"snapshots": entries})})


@pytest.mark.one_format("iceberg")
def test_versions_neither_overlap_nor_share_an_id_where_the_sources_clock_is_ahead(project: Project) -> None:
    write(project, ahead={**BY_TIME, "meta": ON}, told={**BY_TIME, "hard_deletes": "new_record"})
    columns, ahead = "id, name, updated_at", "timestamp '2090-01-01'"
    supply(project, f"(1, 'a', {ahead}), (2, 'b', {ahead}), (3, 'c', null)", columns)
    first = snapshot(project)
    # 1 is gone; what had no time has one
    supply(project, f"(2, 'b', {ahead}), (3, 'c3', timestamp '2024-02-01')", columns)
    second = snapshot(project)
    supply(project, f"(1, 'a', {ahead}), (2, 'b', {ahead}), (3, 'c3', timestamp '2024-02-01')", columns)
    third = snapshot(project)

    ahead_of_us, past = datetime(2090, 1, 1), datetime(2024, 2, 1)
    found = project.rows(
        "select id, name, effective_start_timestamp, effective_end_timestamp, insert_process_id, update_process_id "
        "from {schema}.ahead order by id, effective_end_timestamp"
    )
    assert found == [
        (1, "a", ahead_of_us, ahead_of_us, first, second),
        (1, "a", ahead_of_us, HIGH, third, None),
        (2, "b", ahead_of_us, HIGH, first, None),
        (3, "c", None, past, first, second),
        (3, "c3", past, HIGH, second, None),
    ]
    versions = project.rows(
        "select id, name, dbt_is_deleted, cast(dbt_valid_from as string), cast(dbt_valid_to as string) "
        "from {schema}.told where id = 1"
    )
    at = "2090-01-01 00:00:00"
    assert sorted(versions, key=repr) == [
        (1, "a", "False", at, at),
        (1, "a", "False", at, None),
        (1, "a", "True", at, at),
    ]
    for name in ("ahead", "told"):
        assert project.rows(f"select count(*) - count(distinct dbt_scd_id) from {{schema}}.{name}") == [(0,)]
    contents = project.contents("told")
    renamed = {"snapshot_meta_column_names": {"dbt_is_deleted": "removed"}}
    write(project, told={**BY_TIME, "hard_deletes": "new_record", **renamed})
    said = "has no column 'removed', but dbt_is_deleted: 'snapshot_meta_column_names' was changed after the table was"
    assert said in project.error("snapshot")
    assert project.contents("told") == contents


@pytest.mark.one_format("iceberg")
def test_letter_case_and_names_of_dbts_own_columns_make_no_versions_and_lose_no_values(project: Project) -> None:
    flagged = {**CHECKED, "snapshot_meta_column_names": {"dbt_is_deleted": "REMOVED"}, "hard_deletes": "new_record"}
    kept = {**CHECKED, "snapshot_meta_column_names": {"dbt_is_deleted": "is_deleted"}}
    expression = {**BY_TIME, "updated_at": "coalesce(updated_at, created_at)", "meta": ON}
    write(project, flagged=flagged, kept=kept, expression=expression)
    supply(
        project,
        "(1, 'a', false, cast(null as timestamp), timestamp '2024-01-01'), "
        "(2, 'b', true, cast(null as timestamp), timestamp '2024-01-01')",
        "id, Name, is_deleted, updated_at, created_at",
    )
    project.dbt("snapshot")
    columns = "id, NAME, is_deleted, updated_at, created_at"
    rows = (
        "(1, 'a', false, cast(null as timestamp), timestamp '2024-01-01'), "
        "(2, 'b2', true, timestamp '2024-01-02', timestamp '2024-01-01')"
    )
    supply(project, rows, columns)
    project.dbt("snapshot")
    for name in ("flagged", "kept", "expression"):
        assert project.rows(
            f"select id, name, is_deleted, dbt_valid_to is null from {{schema}}.{name} order by 1, 4"
        ) == [
            (1, "a", False, True),
            (2, "b", True, False),
            (2, "b2", True, True),
        ], name
    starts = project.rows("select effective_start_timestamp from {schema}.expression order by 1")
    assert starts == [(datetime(2024, 1, 1),), (datetime(2024, 1, 1),), (datetime(2024, 1, 2),)]

    # a record written while deletions were not told apart has no flag, and its deletion is told all the same
    write(project, flagged={**flagged, "hard_deletes": "ignore"})
    supply(project, rows + ", (3, 'c', false, null, timestamp '2024-01-03')", columns)
    project.dbt("snapshot")
    write(project, flagged=flagged)
    supply(project, rows, columns)
    for _ in range(2):
        project.dbt("snapshot")
        assert project.rows(
            "select name, removed, dbt_valid_to is null from {schema}.flagged where id = 3 order by 2"
        ) == [
            ("c", None, False),
            ("c", "True", True),
        ]


@pytest.mark.one_format("iceberg")
def test_another_dbt_valid_to_current_opens_no_second_records(project: Project) -> None:
    config = {**BY_TIME, "meta": ON, "dbt_valid_to_current": "to_timestamp('9999-01-01')"}
    write(project, s=config)
    supply(project, "(1, timestamp '2024-01-01'), (2, timestamp '2024-01-01')", "id, updated_at")
    run = snapshot(project)
    contents = (
        "select id, cast(dbt_valid_to as string), insert_process_id, effective_end_timestamp from {schema}.s order by 1"
    )
    write(project, s={**config, "dbt_valid_to_current": None})
    # the second time as records that were written while the option was off
    for command, end in ((("snapshot",), HIGH), (ADOPT, None)):
        if end is None:
            project.sql("update {schema}.s set effective_end_timestamp = null")
        project.error(*command)
        told = "open records with the end 9999-01-01 00:00:00, but 'dbt_valid_to_current' is not set"
        assert told in project.new_log()
        assert project.rows(contents) == [(n, "9999-01-01 00:00:00", run, end) for n in (1, 2)]
    # by hand as the error says; and a high date of the project's own, which an operation finds too
    project.sql("update {schema}.s set dbt_valid_to = null")
    project.configure(vars={"consumer": {"default_high_dttm": "9999-12-30"}})
    project.sql(f"update {{schema}}.s set effective_end_timestamp = timestamp_ntz '{HIGH}'")
    assert "another high date than 9999-12-30" in project.error("snapshot")
    project.dbt(*ADOPT)
    project.dbt("snapshot")
    assert project.rows(contents) == [(1, None, run, datetime(9999, 12, 30)), (2, None, run, datetime(9999, 12, 30))]


@pytest.mark.one_format("delta")
def test_another_open_end_opens_no_second_records_without_operational_columns_either(project: Project) -> None:
    end = {"dbt_valid_to_current": "to_timestamp('9999-01-01')"}
    stamped, compared = BY_TIME, {"unique_key": "id", "strategy": "check", "check_cols": "all"}
    columns = "id, updated_at"
    write(project, stamped={**stamped, **end}, compared={**compared, **end}, ahead=stamped)
    given = "(1, timestamp '2024-01-01'), (2, timestamp '2024-01-01'), (3, timestamp '2090-01-01')"
    supply(project, given, columns)
    snapshot(project)
    before = {table: project.rows(f"select * from {{schema}}.{table} order by id") for table in ("stamped", "compared")}

    write(project, stamped=stamped, compared=compared, ahead=stamped)
    error = project.error("snapshot")
    told = "has open records with the end 9999-01-01 00:00:00, but 'dbt_valid_to_current' is not set: set the option"
    assert error.count(told) == 2
    write(project, stamped={**stamped, **end}, compared={**compared, **end}, ahead=stamped)
    with in_zone(project, "Asia/Tokyo"):
        error = project.error("snapshot", "--exclude", "ahead")
    assert (
        error.count("is to_timestamp('9999-01-01'), another time in this session: set the option, or the session's")
        == 2
    )
    project.dbt("snapshot")
    for table, rows in before.items():
        assert project.rows(f"select * from {{schema}}.{table} order by id") == rows

    # a record that its source's clock has closed years ahead is none of those
    supply(project, "(1, timestamp '2024-01-01')", columns)
    project.dbt("snapshot", "--select", "ahead")
    supply(project, given, columns)
    project.dbt("snapshot", "--select", "ahead")
    ends = "select id, count(*), count(dbt_valid_to) from {schema}.ahead group by id order by id"
    assert project.rows(ends) == [(1, 1, 0), (2, 2, 1), (3, 2, 1)]
    # adoption would close the former for good, and knows the latter, too
    write(project, **{name: {**stamped, "meta": ON} for name in ("stamped", "ahead")})
    project.error(*ADOPT[:-1], "{snapshot: stamped}")
    assert told in project.new_log()
    assert project.rows("select * from {schema}.stamped order by id") == before["stamped"]
    project.dbt(*ADOPT[:-1], "{snapshot: ahead}")
    assert project.rows(ends.replace("dbt_valid_to", "update_process_id")) == [(1, 1, 0), (2, 2, 1), (3, 2, 1)]


@pytest.mark.one_format("iceberg")
def test_text_that_is_no_point_in_time_is_refused_where_points_in_time_are_kept(project: Project) -> None:
    write(project, s={**BY_TIME, "meta": ON})
    columns = "id, updated_at"
    texts = "(1, '2024-01-01'), (2, '2024-01-01T10:00:00+02:00'), (3, null)"
    supply(project, texts, columns)
    snapshot(project)
    found = "select id, effective_start_timestamp from {schema}.s order by id"
    starts = [(1, datetime(2024, 1, 1)), (2, datetime(2024, 1, 1, 8)), (3, None)]
    assert project.rows(found) == starts
    # Spark would read the time as today's, the others as the first moment of a year and of a month
    loose = "(4, '12:30'), (5, '202401'), (6, '2024-01')"
    for bad, told in (
        ("(4, 'n/a')", "1 row(s), got 'n/a'"),
        ("(4, '')", "1 row(s), got ''"),
        (loose, "3 row(s), got '12:30'"),
    ):
        supply(project, f"{texts}, {bad}", columns)
        error = project.error("snapshot")
        assert f"updated_at (updated_at) has text that is no point in time in {told}, expected" in error
        assert "expected a day, with or without a time, such as 2024-01-31 10:30:00 (in UTC unless" in error
        assert project.rows(found) == starts
    project.sql("drop table {schema}.s")
    assert "in 3 row(s), got '12:30', expected a day" in project.error("snapshot")
    assert project.tables() == {"things"}
    # a table that has such text already adopts the columns once it is mended
    write(project, s=BY_TIME)
    project.dbt("snapshot")
    write(project, s={**BY_TIME, "meta": ON})
    project.error(*ADOPT)
    assert "column 'dbt_valid_from' of" in project.log() and "mend it by hand (update" in project.log()
    assert "insert_process_id" not in dict(project.columns("s"))
    project.sql("update {schema}.s set dbt_valid_from = '2024-01-04', dbt_updated_at = '2024-01-04' where id > 3")
    project.dbt(*ADOPT)
    assert project.rows(found) == [*starts, *((n, datetime(2024, 1, 4)) for n in (4, 5, 6))]


@pytest.mark.one_format("iceberg")
def test_columns_that_a_snapshot_can_not_take_are_told_before_anything_is_written(project: Project) -> None:
    write(project, s={**CHECKED, "unique_key": ["id", "Tags"]})
    project.sql(
        f"create table {{schema}}.things using {project.file_format} as "
        "select 1 as id, map('a', 1) as tags, current_timestamp() as DBT_valid_to, 1700000000000 as updated_at"
    )
    error = project.error("snapshot")
    for option in ("unique_key", "check_cols"):
        assert f"{option}: column 'tags' is of type map<string,int>, whose values Spark does not compare: " in error
    assert "the source has a column 'DBT_valid_to', which is the name of a column that dbt writes" in error
    write(project, s={**BY_TIME, "meta": ON, "snapshot_meta_column_names": {"dbt_valid_to": "until"}})
    assert "updated_at (updated_at) is of type bigint, expected a date or timestamp" in project.error("snapshot")
    project.configure(vars={"dbt_cdc": {"metadata_schem": "own"}})
    project.write({"models/m.sql": "select 1 as id"})  # whatever it is that runs
    assert "unknown var 'metadata_schem', did you mean 'metadata_schema'?" in project.error("run")
    project.configure(vars={"dbt_cdc": {"metadata_schema": 5}})
    named = "var 'metadata_schema' must be the name of a schema that needs no backticks, got "
    assert f"{named}5" in project.error("run")
    project.configure(vars={"metadata_schema": "x-meta"})  # another package's may be called so
    project.dbt("run")
    project.sql("drop view {schema}.m")
    reading = (
        "{{ config(materialized='incremental') }} select * from {{ dbt_cdc.ref_changes(source('raw', 'things')) }}"
    )
    project.write({"models/m.sql": reading})
    assert f'{named}"x-meta"' in project.error("run")
    project.remove("models/m.sql")
    project.configure(vars={"dbt_cdc": {"default_high_dttm": "9999-02-30"}})
    error = project.error("snapshot")
    assert (
        "var 'default_high_dttm' must be a point in time such as 9999-12-31 23:59:59.999999, got \"9999-02-30\""
        in error
    )
    assert project.tables() == {"things"}

    # numbers do as long as no time of the run's own is needed
    project.configure()
    write(project, s=BY_TIME)
    supply(project, "(1, 10L), (2, 10L)", "id, updated_at")
    project.dbt("snapshot")
    supply(project, "(1, 20L), (2, 10L)", "id, updated_at")
    project.dbt("snapshot")
    expected = [(1, 10, 20), (1, 20, None), (2, 10, None)]
    assert project.rows("select id, dbt_valid_from, dbt_valid_to from {schema}.s order by 1, 2") == expected
    supply(project, "(1, 20L)", "id, updated_at")
    assert "updated_at is of type bigint, expected a date or timestamp: convert it" in project.error("snapshot")
    assert project.rows("select id, dbt_valid_from, dbt_valid_to from {schema}.s order by 1, 2") == expected
    write(project, s={**BY_TIME, "meta": ON})
    columns = project.columns("s")
    project.error(*ADOPT)
    assert "column 'dbt_valid_from' of" in project.log() and "is bigint, expected a date or timestamp" in project.log()
    assert project.columns("s") == columns


@pytest.mark.one_format("iceberg")
def test_a_snapshot_whose_name_needs_quotes_goes_on(project: Project) -> None:
    project.configure(quoting={"identifier": True})
    write(project, s={**CHECKED, "alias": "Customer History", "hard_deletes": "invalidate"})
    supply(project, "(1, 'a'), (2, 'b')")
    first = snapshot(project)
    supply(project, "(1, 'z')")
    second = snapshot(project)
    snapshot(project)
    query = "select id, status, insert_process_id, update_process_id from {schema}.`Customer History` order by 1, 2"
    assert project.rows(query) == [(1, "a", first, second), (1, "z", second, None), (2, "b", first, second)]


@pytest.mark.only_format("delta")  # which plans no MERGE on such a column
def test_a_key_of_a_fixed_length_is_closed_and_comes_back(project: Project) -> None:
    key = {"unique_key": ["id", "part"], "hard_deletes": "invalidate"}
    checked, timed = {**CHECKED, **key}, {**BY_TIME, **key, "updated_at": "at"}
    joined = {**checked, "unique_key": "concat(id, '-', part)"}
    trimmed = {**checked, "unique_key": "trim(id)", "check_cols": ["status"]}
    on = {"checked_on": {**checked, "meta": ON}, "timed_on": {**timed, "meta": ON}}
    write(project, checked=checked, timed=timed, joined=joined, trimmed=trimmed, **on)
    project.sql("create table {schema}.things (id char(5), part int, status string, at char(26)) using delta")
    project.sql(
        "insert into {schema}.things values ('k1', 1, 'a', '2024-01-01 00:00:00'), ('k2', 1, 'b', '2024-01-01 00:00:00')"
    )
    project.dbt("snapshot")
    project.sql("delete from {schema}.things where status = 'b'")
    project.sql("update {schema}.things set status = 'z', at = '2024-01-02 00:00:00' where status = 'a'")
    project.sql("insert into {schema}.things values ('k3', 1, 'c', '2024-01-01 00:00:00')")
    project.dbt("snapshot")
    project.sql("insert into {schema}.things values ('k2', 1, 'b', '2024-01-01 00:00:00')")
    project.dbt("snapshot")
    versions = "select id, part, status, dbt_valid_to is null from {schema}.%s order by 1, dbt_valid_from"
    for name in ("checked", "timed", "checked_on", "timed_on"):
        assert project.rows(versions % name) == [
            ("k1   ", 1, "a", False),
            ("k1   ", 1, "z", True),
            ("k2   ", 1, "b", False),
            ("k2   ", 1, "b", True),
            ("k3   ", 1, "c", True),
        ], name
    # a source that fills nothing up any more
    before = {name: project.contents(name) for name in ("checked", "timed", "joined", "checked_on", "timed_on")}
    supply(
        project,
        "('k1', 1, 'z', '2024-01-02 00:00:00'), ('k4   ', 1, 'd', '2024-01-02 00:00:00')",
        "id, part, status, at",
    )
    error = project.error("snapshot")
    told = "a part of unique_key, is char(5), and 1 new key(s) are shorter: the table would fill them up with spaces"
    assert error.count(told) == 5 and "Give rpad(`id`, 5) in the snapshot's query" in error
    assert {name: project.contents(name) for name in before} == before
    assert project.rows("select id, status, dbt_valid_to is null from {schema}.trimmed order by 1, dbt_valid_from") == [
        ("k1   ", "a", False),
        ("k1   ", "z", True),
        ("k2   ", "b", False),
        ("k2   ", "b", False),
        ("k3   ", "c", False),
        ("k4   ", "d", True),
    ]


@pytest.mark.one_format("iceberg")
def test_an_operation_may_ask_for_a_relation_as_a_snapshot_does(project: Project) -> None:
    call = "get_or_create_relation(database=none, schema=target.schema, identifier='things', type='table')"
    project.write(
        {
            "macros/asked.sql": "{% macro asked() %}{% set found = "
            + call
            + "[0] %}{% if execute %}{% do log('FOUND ' ~ found) %}{% endif %}{% endmacro %}"
        }
    )
    project.configure(**{"on-run-end": "{{ asked() }}"})
    project.dbt("run-operation", "asked")
    supply(project, "(1, 'a')")
    project.dbt("run-operation", "asked")
    assert [line[-5:] for line in project.log().splitlines() if "FOUND" in line] == ["False", " True"]

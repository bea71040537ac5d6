"""What others do to the tables of a model between its runs: nothing of theirs is lost, and nothing stops without a word."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.project import Project

META = {"sequence_by": "seq", "except_column_list": ["seq"]}
CONFIG = f"config(materialized='apply_changes', unique_key='id', meta={{'dbt_cdc': {META}}})"
APPLIED = "{{ " + CONFIG + " }} select * from values %s as t(id, name, seq)"
PYTHON = """
    def model(dbt, spark):
        dbt.config(materialized="hash_diff", unique_key="id", meta={"dbt_cdc": {"effective_date": "2024-01-0%s"}})
        return spark.sql("select 1 as id, 'a' as name")
"""

HIDDEN = """
    models:
      - name: hidden
        columns: [{name: name, meta: {dbt_cdc: {sensitive: true}}}]
"""


@pytest.mark.one_format("delta")
def test_a_table_that_another_materialization_has_made_meanwhile_is_not_replaced(project: Project) -> None:
    project.write({"models/own.sql": APPLIED % "(1, 'a', 1), (2, 'b', 1)"})
    project.dbt("run")
    project.write({"models/own.sql": "{{ config(materialized='table') }} select 7 as id, 'precious' as name"})
    project.dbt("run")
    project.write({"models/own.sql": APPLIED % "(2, 'c', 2)"})
    error = project.error("run")
    assert "model.consumer.own can't run, nothing was written" in error
    assert "own is a table that apply_changes did not make, its rows would be lost: drop it to have it built" in error
    assert project.rows("select * from {schema}.own") == [(7, "precious")]
    project.sql("drop table {schema}.own")
    project.dbt("run")
    assert project.rows("select * from {schema}.own order by id") == [(1, "a"), (2, "c")]


@pytest.mark.one_format("iceberg")
def test_columns_that_others_add_stay_theirs_until_the_feed_has_them_those_they_take_are_missed(
    project: Project,
) -> None:
    versions = (APPLIED % "(1, 'a', 1), (2, 'c', 5)").replace("{'seq", "{'stored_as_scd_type': 2, 'seq")
    project.write({"models/own.sql": APPLIED % "(1, 'a', 1), (2, 'b', 1)", "models/versions.sql": versions})
    project.dbt("run")
    project.sql("alter table {schema}.own add columns (note string)")
    project.sql("update {schema}.own set note = 'by hand'")
    project.sql("alter table {schema}.versions add columns (note string)")
    project.sql("update {schema}.versions set note = 'by hand'")
    project.write({"models/own.sql": APPLIED % "(2, 'c', 2), (3, 'd', 2)"})
    project.dbt("run", "--select", "own")
    rows = "select * from {schema}.own order by id"
    assert project.rows(rows) == [(1, "a", "by hand"), (2, "c", "by hand"), (3, "d", None)]
    noted = CONFIG.replace("apply_changes'", "apply_changes', on_schema_change='append_new_columns'")
    project.write({"models/own.sql": "{{ " + noted + " }} select 3 as id, 'd' as name, 'fed' as note, 3 as seq"})
    project.dbt("run", "--select", "own")
    assert project.rows(rows) == [(1, "a", "by hand"), (2, "c", "by hand"), (3, "d", "fed")]
    events = (
        "select id, name, note from {schema}.own__events where _dbt_cdc_kind = 'upsert' order by 1, 2, 3 nulls first"
    )
    recorded = [(1, "a", None), (2, "b", None), (2, "c", None), (3, "d", None), (3, "d", "fed")]
    assert project.rows(events) == recorded
    project.sql("alter table {schema}.own rename column name to full_name")
    project.sql("alter table {schema}.own drop column note")
    project.sql("alter table {schema}.versions rename column __END_AT to until")
    project.write({"models/versions.sql": versions.replace("(1, 'a', 1), (2, 'c', 5)", "(1, 'b', 2), (2, 'c', 3)")})
    error = project.error("run")
    assert "versions has lost columns (__END_AT): rename them back, or drop" in error
    project.sql("alter table {schema}.versions rename column until to __END_AT")
    assert "own has lost columns (name, note): rename them back, or drop the table to have it built anew from" in error
    project.sql("drop table {schema}.own")
    project.dbt("run")
    assert project.rows(rows) == [(1, "a", None), (2, "c", None), (3, "d", "fed")]
    # a version whose start moves is another row
    assert project.rows("select * from {schema}.versions order by 3") == [
        (1, "a", 1, 2, "by hand"),
        (1, "b", 2, None, None),
        (2, "c", 3, None, None),
    ]


FEED = """
    (1, 'a', 1, 'U', 1, 0), (1, 'b', 2, 'U', 2, 0), (2, 'k', 1, 'U', 1, 0), (3, 'x', 1, 'U', 1, 0), (3, null, 0, 'D', 2, 0),
    (1, null, 9, 'U', 3, 1), (2, 'l', 1, 'U', 2, 1),
    (2, 'm', 1, 'U', 3, 2)
"""
FED = "select * except (run) from {{ target.schema }}.feed where run = {{ var('run') }}"
#: what docs/apply_changes.md says of a copied ledger
COPIED = """
    select id, name, n, if(_dbt_cdc_kind = 'delete', 'D', 'U') as op, _dbt_cdc_sequence as seq
    from {{ target.schema }}.kept
"""


@pytest.mark.one_format("delta")
def test_an_erased_key_has_what_comes_later_alone_and_a_copied_ledger_is_the_feed_of_a_rebuild(
    project: Project,
) -> None:
    meta: dict[str, Any] = {"sequence_by": "seq", "apply_as_deletes": "op = 'D'", "except_column_list": ["op", "seq"]}
    meta |= {"stored_as_scd_type": 2, "ignore_null_updates": True, "change_log": "data_before_after"}
    marked = "tblproperties={'delta.enableDeletionVectors': 'true'}"
    config = "{{ config(materialized='apply_changes', unique_key='id', " + marked + ", meta={'dbt_cdc': %r}) }}"
    project.sql(f"create table {{schema}}.feed as select * from values {FEED} as t(id, name, n, op, seq, run)")
    project.write({"models/own.sql": config % meta + FED})
    project.dbt("run", "--vars", "{run: 0}")
    for table in ("own", "own__events"):
        assert ("delta.enableDeletionVectors", "true") in project.rows(f"show tblproperties {{schema}}.{table}")
    project.sql("delete from {schema}.own__events where id = 1")
    project.sql("delete from {schema}.own where id = 1")
    project.dbt("run", "--vars", "{run: 1}")
    rows = "select * from {schema}.own order by id, __START_AT"
    others = [(2, "k", 1, 1, 2), (2, "l", 1, 2, None), (3, "x", 1, 1, 2)]
    assert project.rows(rows) == [(1, None, 9, 3, None), *others]
    logged = "select op, before.name, after.name from {schema}.own__changes where key.id = 1 order by op, 3, 2"
    assert project.rows(logged) == [
        ("d", "a", None),
        ("d", "b", None),
        ("i", None, None),
        ("i", None, "a"),
        ("i", None, "b"),
    ]
    project.sql("delete from {schema}.own__changes where key.id = 1")
    project.dbt("run", "--vars", "{run: 2}")
    others = [(2, "k", 1, 1, 2), (2, "l", 1, 2, 3), (2, "m", 1, 3, None), (3, "x", 1, 1, 2)]
    assert project.rows(rows) == [(1, None, 9, 3, None), *others]
    assert project.rows(logged) == []
    ops = "select key.id, key.__START_AT, array_join(array_sort(collect_list(op)), '') from {schema}.own__changes"
    assert project.rows(ops + " group by 1, 2 order by 1, 2") == [(2, 1, "iu"), (2, 2, "iu"), (2, 3, "i"), (3, 1, "i")]

    events = "select * from {schema}.own__events where _dbt_cdc_kind in ('upsert', 'delete', 'truncate')"
    project.sql("create table {schema}.kept as " + events)
    tracked = config % {**meta, "track_history_column_list": ["n"]}
    project.write({"models/own.sql": tracked + COPIED})
    project.dbt("run", "--full-refresh")
    built = [(1, None, 9, 3, None), (2, "m", 1, 1, None), (3, "x", 1, 1, 2)]
    assert project.rows(rows) == built
    project.write({"models/own.sql": tracked + FED})
    project.dbt("run", "--vars", "{run: 2}")
    assert project.rows(rows) == built


@pytest.mark.one_format("delta")
def test_the_whole_feed_again_with_a_new_column_is_told_what_it_is(project: Project) -> None:
    project.write({"models/own.sql": APPLIED % "(1, 'a', 1)"})
    project.dbt("run")
    grown = CONFIG.replace("apply_changes'", "apply_changes', on_schema_change='append_new_columns'")
    project.write({"models/own.sql": "{{ " + grown + " }} select 1 as id, 'a' as name, 'x' as city, 1 as seq"})
    error = project.error("run")
    assert "where they differ in what is new, city, alone, give only events that were not given before it" in error
    assert "on_conflict: resolve" not in error
    assert project.rows("select * from {schema}.own") == [(1, "a")]


@pytest.mark.only_format("delta")
def test_tables_of_another_format_than_the_configured_one_are_told_before_anything_is_written(project: Project) -> None:
    snapped = "{%% snapshot snapped %%} {{ config(unique_key='id', strategy='check', check_cols='all'%s) }} select 1 as id {%% endsnapshot %%}"
    project.write({"models/own.sql": APPLIED % "(1, 'a', 1)", "models/compared.py": PYTHON % 1})
    project.write({"snapshots/snapped.sql": snapped % ""})
    project.dbt("build")
    project.write(
        {
            "snapshots/snapped.sql": snapped % ", file_format='iceberg'",
            "models/own.sql": (APPLIED % "(1, 'b', 2)").replace("unique_key", "file_format='iceberg', unique_key"),
            "models/compared.py": (PYTHON % 2).replace("unique_key", "file_format='iceberg', unique_key"),
        }
    )
    error = project.error("build")
    for table in ("own__events", "compared__base", "snapped"):
        assert f"{table} is a table of format 'delta', the config 'file_format' is 'iceberg': set it back" in error
    assert error.count("nothing was written") == 3
    assert project.rows("select * from {schema}.own") == [(1, "a")]
    assert project.rows("select id, cast(eff_start_date as string) from {schema}.compared") == [(1, "2024-01-01")]
    assert project.rows("select max(eff_start_date) = date'2024-01-01' from {schema}.compared__base") == [(True,)]


@pytest.mark.only_format("iceberg")
def test_a_merge_is_serializable_in_all_tables_and_one_that_others_made_otherwise_is_told(project: Project) -> None:
    logged = CONFIG.replace("'except_", "'change_log': 'key_op', 'except_")
    record = "config: {unique_key: id, strategy: check, check_cols: [name]}"
    project.write(
        {
            "models/own.sql": "{{ " + logged + " }} select * from values (1, 'a', 1) as t(id, name, seq)",
            "models/given.sql": "{{ config(materialized='table') }} select 1 as id, 'a' as name",
            "snapshots/s.yml": f"snapshots: [{{name: s, relation: \"ref('given')\", {record}}}]",
            "models/compared.py": PYTHON % 1,
            "models/reading.sql": "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}"
            " select * from {{ dbt_cdc.ref_changes('given', column='id') }}",
        }
    )
    project.dbt("build")
    name, tables = "write.merge.isolation-level", ("own", "own__events", "own__changes", "s")
    compared = ("compared__base", "compared__history")
    assert project.tables() == {*tables, *compared, "compared", "given", "reading", "cdc_metadata"}
    for table in (*tables, *compared):
        kept = dict(project.rows(f"show tblproperties {{schema}}.{table}"))
        assert kept[name] == "serializable", table
        # of a commit's file of metadata there are many in what each run writes to
        old = kept.get("write.metadata.delete-after-commit.enabled")
        assert old == ("true" if table in ("own__events", "own__changes") else None), table
    # dbt makes this one, with what the catalog gives: none has the format's default
    assert name not in dict(project.rows("show tblproperties {schema}.reading"))
    project.dbt("run", "--select", "reading")
    altered = ("own", "own__events", "s", "reading")
    for table in altered:
        project.sql(f"alter table {{schema}}.{table} set tblproperties ('{name}' = 'snapshot')")
    before = {table: project.contents(table) for table in tables}
    error = project.error("build")
    for table in altered:
        assert f"{table}: '{name}' must be serializable (Iceberg's default), got \"snapshot\"" in error, table
    assert "insert the same key: unset it" in error
    assert {table: project.contents(table) for table in tables} == before


@pytest.mark.one_format("delta")
def test_a_companion_of_a_model_that_has_none_is_an_error_with_its_name(project: Project) -> None:
    project.write(
        {
            "models/own.sql": APPLIED % "(1, 'a', 1)",
            "models/asking.sql": "select * from {{ dbt_cdc.companion(ref('own'), 'history') }}",
            "models/logged.sql": "select * from {{ dbt_cdc.companion('own', 'changes') }}",
            "models/nowhere.sql": "select * from {{ dbt_cdc.companion(schema ~ '.gone', 'history') }}",
            "models/of_view.sql": "select * from {{ dbt_cdc.companion(ref('seen'), 'changes') }}",
            "models/seen.sql": "select 1 as id",
            "models/unloaded.sql": "select * from {{ dbt_cdc.companion(load_relation(this), 'history') }}",
            "models/plain.py": PYTHON % 1,
            "models/hidden.py": PYTHON.replace('"effective_date"', '"on_cast_error": "rejects", "effective_date"') % 1,
            "models/hidden.yml": HIDDEN,
            "models/refused.sql": "select * from {{ dbt_cdc.companion(ref('plain'), 'rejects') }}",
            "models/kept_apart.sql": "select * from {{ dbt_cdc.companion(ref('plain'), 'sensitive') }}",
            "models/both.sql": "select name from {{ dbt_cdc.companion(ref('hidden'), 'sensitive') }} union all"
            " select fault from {{ dbt_cdc.companion(ref('hidden'), 'rejects') }}",
        }
    )
    error = project.error("run")
    assert "model.consumer.asking: only hash_diff models have a table of kind 'history', own is of kind" in error
    assert (
        "model.consumer.logged: own keeps no log of its changes: set `meta: {dbt_cdc: {change_log: key_op}}`" in error
    )
    assert (
        "model.consumer.refused: plain keeps no rejects, values that do not cast fail it: set `meta: {dbt_cdc: "
        in error
    )
    assert (
        "model.consumer.kept_apart: plain keeps no sensitive values, as none of its columns is sensitive: name" in error
    )
    nowhere = f"{project.schema}.gone is no node of this project, and there is no {project.schema}.gone__history: give"
    assert f"model.consumer.nowhere: {nowhere} ref('…') of a model that keeps it" in error
    assert (
        "model.consumer.of_view: seen keeps no log of its changes, as it is of kind 'view': ask table_changes" in error
    )
    assert "got null (which adapter.get_relation gives for a table that does not exist)" in error
    # what another project has built, in a schema that is none of this one's
    project.sql("create schema {schema}_others")
    try:
        project.sql("create table {schema}_others.own__changes using delta as select 1 as `#no`, 'i' as op")
        project.write(
            {
                "models/others.yml": f"sources: [{{name: others, schema: {project.schema}_others, tables: [{{name: own}}]}}]",
                "models/of_others.sql": "select * from {{ dbt_cdc.companion(source('others', 'own'), 'changes') }}",
                "models/asked.sql": "select * from {{ dbt_cdc.table_changes(source('others', 'own')) }}",
            }
        )
        project.dbt("run", "--select", "of_others", "--empty")
        project.dbt("compile", "--select", "asked", "--empty")
        assert project.columns("of_others") == [("#no", "int"), ("op", "string")]
    finally:
        project.sql("drop schema {schema}_others cascade")
    assert project.rows("select * from {schema}.both") == [("a",)]
    assert project.tables().isdisjoint({"asking", "logged", "refused", "kept_apart", "nowhere", "of_view"})


@pytest.mark.one_format("delta")
def test_an_upstream_that_cannot_be_read_does_not_hide_the_other_edges(project: Project) -> None:
    reader = (
        "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}"
        " select * from {{ dbt_cdc.ref_changes(source('raw', '%s')) }}"
    )
    project.write(
        {
            "models/sources.yml": f"sources: [{{name: raw, schema: {project.schema}, tables: [{{name: t}}, {{name: v}}]}}]",
            "models/of_table.sql": reader % "t",
            "models/of_view.sql": reader % "v",
        }
    )
    columns = "1 as id, timestamp'2024-01-01' as cdc_datetime_updated"
    for table in ("t", "below"):
        project.sql(f"create table {{schema}}.{table} using {project.file_format} as select {columns}")
    project.sql("create view {schema}.v as select * from {schema}.below")
    project.dbt("run")
    project.sql("drop table {schema}.below")
    project.dbt("run-operation", "cdc_summary")
    said = project.log().rpartition("rows waiting")[2]
    assert f"{project.schema}.t " in said
    assert "by cdc_datetime_updated  2024-01-01 00:00:00  0" in said
    assert "by cdc_datetime_updated  -                    the upstream can't be read" in said
    project.sql("drop view {schema}.v")

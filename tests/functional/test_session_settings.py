"""Settings of a project's Spark session under which other packages' SQL means something else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.places import in_zone
from tests.support.project import Project
from tests.support.spark import session_conf

READER = """
    {{ config(materialized='incremental', incremental_strategy='merge', unique_key='name') }}
    select * from {{ dbt_cdc.ref_changes(source('raw', 'people'), column='stamp') }}
"""
READER_BY_VERSION = """
    {{ config(materialized='incremental', incremental_strategy='merge', unique_key='name') }}
    select name, seq from {{ dbt_cdc.ref_changes(ref('applied'), by='version') }}
"""
APPLIED = """
    {{ config(materialized='apply_changes', unique_key='name',
              meta={'dbt_cdc': {'sequence_by': 'seq', 'change_log': 'data_before_after'}}) }}
    select name, seq from {{ source('raw', 'people') }}
"""
#: By format, those that are refused there alone: the value, and what is expected.
REFUSED = {
    "delta": {
        "files.ignoreMissingFiles": ("true", "false"),
        "files.ignoreCorruptFiles": ("true", "false"),
        "parquet.outputTimestampType": ("TIMESTAMP_MILLIS", "TIMESTAMP_MICROS or INT96"),
    },
    "iceberg": {"storeAssignmentPolicy": ("LEGACY", "ANSI or STRICT")},
}
LOADED = """
    def model(dbt, spark):
        dbt.config(materialized="hash_diff", unique_key="name", meta={"dbt_cdc": {"change_log": "key_op"}})
        return dbt.source("raw", "people").select("name", "seq")
"""
SNAPSHOT = """
    {% snapshot kept %}
    {{ config(unique_key='name', strategy='timestamp', updated_at='stamp',
              meta={'dbt_cdc': {'operational_metadata': true}}) }}
    select * from {{ source('raw', 'people') }}
    {% endsnapshot %}
"""


def supply(project: Project, *rows: str) -> None:
    project.sql(
        "create or replace temporary view given as select * from values " + ", ".join(rows) + " as t(name, seq)"
    )
    project.sql(
        f"create or replace table {{schema}}.people using {project.file_format} as"
        " select name, seq, timestamp_seconds(1704067200 + seq) as stamp from given"
    )


def write(project: Project, **models: str) -> None:
    """The source and `applied`, and these models beside it."""
    source = f"sources: [{{name: raw, schema: {project.schema}, tables: [{{name: people}}]}}]"
    project.write({"models/sources.yml": source, "models/applied.sql": APPLIED})
    project.write({f"models/{name}.sql": text for name, text in models.items()})


@pytest.mark.one_format("delta")
def test_settings_under_which_names_and_texts_mean_others_are_refused_where_the_package_is_used(
    project: Project,
) -> None:
    supply(project, '("O\'Brien", 1)')
    write(project, reader=READER, plain="select 1 as id")
    project.write(
        {
            "models/asked.py": """
                import dbt_cdc

                def model(dbt, spark):
                    dbt.ref("applied")
                    return dbt_cdc.table_changes(dbt, spark, "applied")
            """,
            "models/loaded.py": LOADED.replace(', meta={"dbt_cdc": {"change_log": "key_op"}}', ""),
        }
    )
    settings = ("caseSensitive", "parser.quotedRegexColumnNames", "parser.escapedStringLiterals")
    server: Any = project.spark._jsparkSession.sessionState().conf()  # type: ignore[attr-defined]
    fixed = "hive.thriftServer.singleSession"  # by what the server was started with
    with session_conf(project.spark, {f"spark.sql.{name}": "true" for name in settings}):
        server.setConfString(f"spark.sql.{fixed}", "true")
        try:
            project.dbt("run", "--select", "plain")
            error = project.error("run")
            project.error("run-operation", "reset_watermarks", "--args", "{destination: reader}")
        finally:
            server.unsetConf(f"spark.sql.{fixed}")
    users = ", ".join(f"model.consumer.{name}" for name in ("applied", "asked", "loaded", "reader"))
    for name in (*settings, fixed):
        assert f"    - {users}: spark.sql.{name} must be false, got true" in error
        assert f"    - cdc_metadata: spark.sql.{name} must be false, got true" in project.new_log()
    assert "dbt_cdc: nothing was written:\n" in error
    assert project.tables() == {"people", "plain"}
    project.dbt("run")
    assert project.rows("select * from {schema}.applied") == [("O'Brien", 1)]
    changes = "{{ config(materialized='table', %s) }} select op from {{ dbt_cdc.table_changes(%s, 'earliest', unique_key='name') }}"
    write(project, of_source=changes % ("file_format='parquet'", "source('raw', 'people')"))
    project.write({"models/applied.sql": APPLIED.replace("materialized", "file_format=none, materialized")})
    project.write({"models/of_default.sql": changes % ("file_format=none", "ref('applied')")})
    with session_conf(project.spark, {"spark.sql.files.ignoreMissingFiles": "true"}):
        errors = {name: project.error("run", "--select", name) for name in ("of_source", "of_default")}
    missing = "spark.sql.files.ignoreMissingFiles must be false, got true: a version whose files VACUUM took would lack"
    assert f"nothing was written:\n    - changes of {project.schema}.people: {missing}" in errors["of_source"]
    assert f"nothing was written:\n    - model.consumer.of_default: {missing}" in errors["of_default"]
    with session_conf(project.spark, {"spark.sql.redaction.options.regex": "generation|first_load"}):
        error = project.error("run", "--exclude", "of_default")
    for name, mark in (("generation", ", which the package keeps: "), ("first_load", ": ")):
        assert f"    - Spark hides the table property 'dbt_cdc.{name}'{mark}spark.sql.redaction.options.regex" in error


@pytest.mark.one_format("iceberg")
def test_timestamps_stay_instants_where_the_word_means_another_type(project: Project) -> None:
    supply(project, "('a', 1)")
    asked = "{{ dbt_cdc.table_changes(ref('applied'), begin='earliest') }}"
    changed = "{{ config(materialized='table') }} select op, after.seq as seq from " + asked
    write(project, reader=READER, changed=changed)
    project.write({"snapshots/kept.sql": SNAPSHOT})
    with session_conf(project.spark, {"spark.sql.timestampType": "TIMESTAMP_NTZ"}):
        project.dbt("build")
        supply(project, "('a', 2)", "('b', 3)")
        project.dbt("build")
        project.dbt("run-operation", "cdc_summary")
    assert project.rows("select * from {schema}.applied order by 1") == [("a", 2), ("b", 3)]
    assert project.rows("select name, seq from {schema}.reader order by 1") == [("a", 2), ("b", 3)]
    assert project.rows("select op, seq from {schema}.changed order by 2") == [("i", 1), ("u", 2), ("i", 3)]
    kept = (
        "select name, seq, dbt_valid_to is null, update_process_id is null, cast(effective_start_timestamp as string)"
    )
    assert project.rows(kept + " from {schema}.kept order by 1, 2") == [
        ("a", 1, False, False, "2024-01-01 00:00:01"),
        ("a", 2, True, True, "2024-01-01 00:00:02"),
        ("b", 3, True, True, "2024-01-01 00:00:03"),
    ]
    types = dict(project.columns("cdc_metadata")) | dict(project.columns("kept"))
    instants = ("cdc_datetime_updated", "recorded_at", "insert_timestamp", "update_timestamp")
    assert {types[name] for name in instants} == {"timestamp"}


@pytest.mark.one_format("iceberg")
def test_a_named_version_is_an_instant_where_the_word_means_another_type(project: Project) -> None:
    options = (
        "'source_kind': 'snapshot', 'sequence_by': 'at', 'stored_as_scd_type': 2, 'snapshot_version': var('at', none)"
    )
    image = f"""
        {{{{ config(materialized='apply_changes', unique_key='id', meta={{'dbt_cdc': {{{options}}}}}) }}}}
        select 1 as id, timestamp_seconds(1704067200) as at where {{{{ 'true' if var('at', none) is none else 'false' }}}}
    """
    project.write({"models/image.sql": image})
    with (
        in_zone(project, "America/New_York"),
        session_conf(project.spark, {"spark.sql.timestampType": "TIMESTAMP_NTZ"}),
    ):
        project.dbt("run")
        project.dbt("run", "--vars", "{at: '2024-01-02T00:00:00Z'}")
        ended = project.rows("select id, unix_seconds(__START_AT), unix_seconds(__END_AT) from {schema}.image")
    assert ended == [(1, 1704067200, 1704153600)]


def test_a_strict_session_without_scripts_takes_what_the_package_writes(project: Project) -> None:
    supply(project, "('a', 1)")
    image = APPLIED.replace("'sequence_by'", "'source_kind': 'snapshot', 'sequence_by'")
    image = image.replace("name, seq from", "name, seq, max(seq) over () as version from").replace("'seq'", "'version'")
    write(project, reader=READER, by_version=READER_BY_VERSION, image=image)
    of_view = "select {{ dbt_cdc.hash(['name']) }} as digest from {{ ref('applied') }} where false"
    later = READER.replace("source('raw', 'people')", "ref('reader')")
    project.write({"snapshots/kept.sql": SNAPSHOT, "models/loaded.py": LOADED, "tests/of_view.sql": of_view})
    project.write({"models/later.sql": later})
    refused = REFUSED[project.file_format]
    with session_conf(project.spark, {f"spark.sql.{name}": value for name, (value, _) in refused.items()}):
        error = project.error("build")
        logs = []
        for operation in (("purge_tombstones",), ("adopt_operational_metadata", "--args", "{snapshot: kept}")):
            project.error("run-operation", *operation)
            logs.append(project.new_log())
    for name, (value, expected) in refused.items():
        told = f"spark.sql.{name} must be {expected}, got {value}"
        assert f"model.consumer.reader, snapshot.consumer.kept: {told}" in error
        assert f"- model.consumer.applied, model.consumer.image: {told}" in logs[0]
        assert f"- snapshot.consumer.kept: {told}" in logs[1]
    assert project.tables() == {"people"}
    settings = {"spark.sql.storeAssignmentPolicy": "STRICT", "spark.sql.scripting.enabled": "false"}
    if project.file_format == "iceberg":  # Delta's are nothing to its nodes, nor to a test, which has no format
        settings["spark.sql.files.ignoreMissingFiles"] = "true"
    with session_conf(project.spark, settings):
        project.dbt("compile")  # of readers whose upstreams are not built yet, too
        project.dbt("build")
        supply(project, "('a', 2)", "('b', 3)")
        for table in ("applied", "image"):  # a purge is due
            aging = "set _dbt_cdc_processed_at = _dbt_cdc_processed_at - interval 3 days"
            project.sql(f"update {{schema}}.{table}__events {aging}")
        project.dbt("build")
    for table in ("applied", "reader", "later", "by_version", "image", "loaded"):
        assert project.rows(f"select name, seq from {{schema}}.{table} order by 1") == [("a", 2), ("b", 3)], table
    assert project.rows("select name, seq, dbt_valid_to is null from {schema}.kept order by 1, 2") == [
        ("a", 1, False),
        ("a", 2, True),
        ("b", 3, True),
    ]
    markers = "select _dbt_cdc_kind, count(*) from {schema}.applied__events group by 1 order by 1"
    assert project.rows(markers) == [("applied", 1), ("begun", 1), ("purged", 1), ("upsert", 3)]
    begun = "select count(*) from {schema}.image__events where _dbt_cdc_kind = 'begun'"
    assert project.rows(begun) == [(2,)]
    edges = "select tracked_by, column_type, watermark is null, count(*) from {schema}.cdc_metadata group by 1, 2, 3 order by 1"
    assert project.rows(edges) == [("column", "timestamp", False, 4), ("version", None, False, 2)]
    project.sql("drop table {schema}.people")
    with session_conf(project.spark, settings):
        project.dbt("run-operation", "cdc_summary")
    assert "the upstream is gone" in project.new_log()


@pytest.mark.one_format("iceberg")
def test_a_new_column_of_hash_diff_is_an_instant_where_the_word_means_another_type(project: Project) -> None:
    extract = """
        def model(dbt, spark):
            dbt.config(materialized="hash_diff", unique_key="id")
            day = int(dbt.config.get("day"))
            stamp = "timestamp_seconds(1704067200 + id)"
            return spark.sql("select 1 as id" + (f", {stamp} as seen, cast({stamp} as string) as said" if day > 1 else ""))
    """
    options = """
        models:
          - name: extract
            config: {day: "{{ var('day') }}", meta: {dbt_cdc: {effective_date: "2024-01-0{{ var('day') }}"}}}
            columns: [{name: said, data_type: timestamp_ltz}]
    """
    project.write({"models/extract.py": extract, "models/extract.yml": options.replace("columns:", "#")})
    with session_conf(project.spark, {"spark.sql.timestampType": "TIMESTAMP_NTZ"}):
        project.dbt("run", "--vars", "{day: 1}")
        project.write({"models/extract.yml": options})
        for day in (2, 3):
            project.dbt("run", "--vars", f"{{day: {day}}}")
    types = dict(project.columns("extract"))
    assert [types["seen"], types["said"]] == ["timestamp", "timestamp"]
    rows = "select id, cast(seen as string), cast(said as string), operation, cast(eff_start_date as string) from {schema}.extract"
    assert project.rows(rows) == [(1, "2024-01-01 00:00:01", "2024-01-01 00:00:01", "N", "2024-01-02")]
    assert dict(project.columns("extract__history"))["seen"] == "timestamp"


@pytest.mark.one_format("iceberg")
def test_text_with_a_zone_is_an_instant_in_feeds_where_the_word_means_another_type(project: Project) -> None:
    row = """select '{"op": "c", "ts_ms": 1700000000000, "source": {"lsn": 1}, "after": {"at": "%s", "ats": ["%s"]}}' as value"""
    moments = ("2023-11-14T22:13:20+02:00", "2023-11-14T20:13:20Z")
    call = "dbt_cdc.from_debezium(ref('raw'), columns={'at': 'timestamp', 'ats': 'array<timestamp>'})"
    project.write(
        {
            "models/raw.sql": "{{ config(materialized='table') }} "
            + " union all ".join(row % (at, at) for at in moments),
            "models/events.sql": "{{ config(materialized='table') }} select at, ats, _ts from {{ " + call + " }}",
        }
    )
    with session_conf(project.spark, {"spark.sql.timestampType": "TIMESTAMP_NTZ"}):
        project.dbt("run")
    assert project.columns("events") == [("at", "timestamp"), ("ats", "array<timestamp>"), ("_ts", "timestamp")]
    found = "select unix_seconds(at), unix_seconds(ats[0]), unix_seconds(_ts) from {schema}.events"
    assert project.rows(found) == [(1699992800, 1699992800, 1700000000)] * 2


@pytest.mark.only_format("iceberg")
def test_what_a_run_keeps_is_on_the_main_branch_whatever_the_catalog_has_its_tables_do(project: Project) -> None:
    spark, catalog = project.spark, f"staging_{project.schema}"
    made = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "jdbc",
        ".uri": f"jdbc:h2:mem:{catalog};DB_CLOSE_DELAY=-1;DATABASE_TO_LOWER=TRUE",
        ".jdbc.schema-version": "V1",
        ".warehouse": str(project.folder / "staging"),
        ".table-default.write.wap.enabled": "true",
    }
    for name, value in made.items():
        spark.conf.set(f"spark.sql.catalog.{catalog}{name}", value)
    unstaged = "tblproperties={'write.wap.enabled': 'false'}, materialized="
    batch = APPLIED.replace("'sequence_by'", "'stored_as_scd_type': 2, 'sequence_by'")
    write(project, reader=READER_BY_VERSION.replace("materialized=", unstaged), history=batch)
    in_python = """
        def model(dbt, spark):
            dbt.config(materialized="apply_changes", unique_key="name", meta={"dbt_cdc": {"sequence_by": "seq"}})
            return dbt.source("raw", "people").select("name", "seq")
    """
    project.write({"models/loaded.py": LOADED, "models/in_python.py": in_python})
    spark.catalog.setCurrentCatalog(catalog)
    try:
        project.sql("create schema {schema}")
        for rows in (["('a', 1)"], ["('a', 2)", "('b', 3)"]):
            supply(project, *rows)
            with session_conf(spark, {"spark.wap.id": "audit"}):
                project.dbt("run")
        tables = ("applied", "in_python", "reader", "loaded", "history")
        found = [project.rows(f"select name, seq from {{schema}}.{table} order by 1, 2") for table in tables]
        logged = project.rows("select op, after.seq from {schema}.applied__changes order by 2")
    finally:
        spark.catalog.setCurrentCatalog("spark_catalog")
    whole = [("a", 2), ("b", 3)]
    assert found == [whole, whole, whole, whole, [("a", 1), *whole]]
    assert logged == [("i", 1), ("u", 2), ("i", 3)]

"""What a hash_diff model keeps of the tables that its data come from: values, and nothing that those say of them."""

from __future__ import annotations

import pytest

from dbt_cdc._hash_diff_history import History
from tests.support.project import Project
from tests.support.spark import session_conf

MODEL = """
    def model(dbt, spark):
        dbt.config(materialized="hash_diff", unique_key="id")
        return spark.table(dbt.config.get("data"))
"""
YAML = """
    models:
      - name: people
        config:
          data: "{{ target.schema }}.{{ var('data') }}"
          meta: {dbt_cdc: {effective_date: "{{ var('day') }}"}}
        columns:
          - {name: ssn, data_type: string, config: {meta: {dbt_cdc: {sensitive: true}}}}
          - {name: city, data_type: varchar(6)}
"""


def load(data: str, day: int) -> list[str]:
    return ["run", "--vars", f"{{data: {data}, day: '2020-01-0{day}'}}"]


@pytest.mark.one_format("delta")  # which holds its columns to such lengths, and takes no DEFAULT
def test_lengths_and_defaults_of_the_source_stay_there_and_those_of_the_yaml_hold(project: Project) -> None:
    project.write({"models/people.py": MODEL, "models/people.yml": YAML})
    project.sql("create table {schema}.short (id int, ssn varchar(4), city string default 'Rome') using parquet")
    project.sql("create table {schema}.long (id int, ssn varchar(9), city varchar(10)) using parquet")
    project.sql("insert into {schema}.short values (1, '1234', 'Oslo'), (2, '5678', default)")
    project.sql("insert into {schema}.long values (1, 'hush-1234', 'Oslo'), (2, '5678', 'Madrid')")
    project.dbt(*load("short", 1))
    project.dbt(*load("long", 2))

    current = [(1, "Oslo", "U", "2020-01-02"), (2, "Madrid", "U", "2020-01-02")]
    query = "select id, city, operation, cast(eff_start_date as string) from {schema}.people"
    assert project.rows(f"{query} order by id") == current
    assert project.rows(f"{query}__history order by eff_start_date, id") == [
        (1, "Oslo", "I", "2020-01-01"),
        (2, "Rome", "I", "2020-01-01"),
        *current,
    ]
    sensitive = (
        "select p.id, s.ssn from {schema}.people p join {schema}.people__sensitive s using (keyhash) order by id"
    )
    assert project.rows(sensitive) == [(1, "hush-1234"), (2, "5678")]
    for table, column in (("people__base", "city"), ("people__history", "city"), ("people__sensitive_base", "ssn")):
        described = {row[0]: row[1] for row in project.rows(f"describe {{schema}}.{table}")}
        assert described[column] == "string"

    project.sql("insert into {schema}.long values (3, '3', 'Stockholm'), (4, null, null)")
    told = "1 row(s) have a value that does not cast: city (varchar(6)) 'Stockholm'"
    assert told in project.error(*load("long", 3))
    assert project.rows(f"{query} order by id") == current


@pytest.mark.only_format("iceberg")  # whose versions keep the columns that they had
def test_a_history_is_mended_beside_a_column_that_a_beaten_run_has_added(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"models/people.py": MODEL, "models/people.yml": YAML.partition("columns:")[0]})
    for name, rows in {"one": "(1, 'a')", "two": "(1, 'b'), (2, 'c')"}.items():
        project.sql(f"create table {{schema}}.{name} (id int, v string) using iceberg")
        project.sql(f"insert into {{schema}}.{name} values {rows}")
    project.dbt(*load("one", 1))

    def killed(*_: object) -> bool:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(History, "_write", killed)
        assert "killed" in project.error(*load("two", 2))
    # what a run does before it is beaten in its merge
    project.sql("alter table {schema}.people__base add columns (w string)")
    project.dbt(*load("two", 3))
    history = "select id, v, operation, cast(eff_start_date as string) from {schema}.people__history"
    assert project.rows(f"{history} order by eff_start_date, id") == [
        (1, "a", "I", "2020-01-01"),
        (1, "b", "U", "2020-01-02"),
        (2, "c", "I", "2020-01-02"),
    ]


PHONES = """
    models:
      - name: people
        config: {data: "{{ target.schema }}.{{ var('data') }}", meta: {dbt_cdc: {effective_date: "{{ var('day') }}"}}}
        columns: [{name: phone, config: {meta: {dbt_cdc: {sensitive: true}}}}]
"""


@pytest.mark.only_format("delta")  # whose MERGE casts
def test_sensitive_values_of_another_type_that_a_killed_load_left_are_told_without_values(project: Project) -> None:
    project.write({"models/people.py": MODEL, "models/people.yml": PHONES})
    for name, phone in {"one": "171L", "two": "'+49 171'"}.items():
        project.sql(f"create table {{schema}}.{name} using delta as select 1 as id, {phone} as phone")
    project.dbt(*load("one", 1))
    # as a full refresh leaves them that is killed before it comes to the sensitive table
    for table in ("people__base", "people__history"):
        project.sql(f"drop table {{schema}}.{table}")
    error = project.error(*load("two", 2)) + project.log()
    told = "people__sensitive_base`, where a load that did not end, or others, left it, has type bigint, the data have string. Cast it in"
    assert told in error
    assert "+49" not in error
    assert project.rows("select phone from {schema}.people__sensitive_base") == [(171,)]
    project.dbt(*load("two", 2), "--full-refresh")
    assert project.rows("select phone from {schema}.people__sensitive") == [("+49 171",)]
    # and as a later load leaves them that brought a new column, and was killed before it noted it
    project.sql("alter table {schema}.people__sensitive_base add columns (fax bigint)")
    project.sql("create table {schema}.three using delta as select 1 as id, '+49 171' as phone, '+49 172' as fax")
    fax = "{name: fax, config: {meta: {dbt_cdc: {sensitive: true}}}}, {name: phone"
    project.write({"models/people.yml": PHONES.replace("{name: phone", fax)})
    error = project.error(*load("three", 3)) + project.new_log()
    assert "column 'fax': " in error
    assert (
        "_base`, where a load that did not end, or others, left it, has type bigint, the data have string. Cast it in"
        in error
    )
    assert "+49" not in error


@pytest.mark.only_format("iceberg")
def test_a_branch_is_refused_and_a_collation_is_none_of_the_tables(project: Project) -> None:
    project.write({"models/people.py": MODEL.replace('"id")', '"id", tblproperties={"write.wap.enabled": "true"})')})
    project.write({"models/people.yml": PHONES.partition("columns:")[0]})
    kept = "tblproperties={'write.wap.enabled': true}, meta={'dbt_cdc': {'sequence_by': 'seq'}}"
    config = "{{ config(unique_key='id', materialized='%s'%s) }} "
    applied = config % ("apply_changes", f", {kept}") + "select 1 as id, 1 as seq"
    behind = config % ("apply_changes", f", {kept.partition('}, ')[2]}")
    behind += "select id, seq from {{ dbt_cdc.ref_changes(api.Relation.create(schema=schema, identifier='reader'), column='seq') }}"
    reader = config % ("incremental", ", incremental_strategy='merge'")
    reader += "select id, seq from {{ dbt_cdc.ref_changes(api.Relation.create(schema=schema, identifier='given'), by='version') }}"
    below = reader.replace("identifier='given'), by='version'", "identifier='reader'), column='seq'")
    project.write(
        {
            "models/applied.sql": applied,
            "models/reader.sql": reader,
            "models/below.sql": below,
            "models/behind.sql": behind,
        }
    )
    wap = "tblproperties ('write.wap.enabled' = 'true')"
    project.sql(f"create table {{schema}}.reader (id int, seq int) using iceberg {wap}")
    project.sql("create table {schema}.given using iceberg as select 1 as id, 1 as seq")
    project.sql("create view {schema}.one as select 1 as id, 'a' collate UTF8_LCASE as v")
    project.sql("create view {schema}.two as select 1 as id, 'A' collate UTF8_LCASE as v")
    with session_conf(project.spark, {"spark.wap.branch": "audit"}):
        error = project.error(*load("one", 1))
    assert "spark.wap.branch is audit, and the tables have write.wap.enabled: loads go to the main branch" in error
    for table, times in (("applied", 1), ("reader", 3)):  # whose own it is, and an upstream's
        told = f"spark.wap.branch is audit, and {project.schema}.{table} has write.wap.enabled: what apply_changes and"
        assert error.count(told) == times
    assert project.tables() == {"one", "two", "given", "reader", "cdc_metadata"}
    project.dbt(*load("one", 1))
    project.dbt(*load("two", 2))
    assert project.rows("select id, v, operation from {schema}.people") == [(1, "A", "U")]
    assert project.rows("select * from {schema}.reader") == [(1, 1)]

    # set by a hook: before a batch is recorded, and before a watermark moves past what went to the branch
    hook = "pre_hook='set `spark.wap.branch` = `audit`', materialized="
    moves = "select count(*), max(watermark) from {schema}.cdc_metadata where destination like '%.reader'"
    moved = project.rows(moves)
    events = "select count(*) from {schema}.applied__events"
    recorded = project.rows(events)
    project.sql("insert into {schema}.given values (2, 2)")
    project.write({"models/applied.sql": applied.replace("materialized=", hook).replace("1 as seq", "2 as seq")})
    project.write({"models/reader.sql": reader.replace("materialized=", hook)})
    for name, wrote in (("applied", "nothing was written"), ("reader", "its watermarks were not moved")):
        try:
            error = project.error(*load("two", 2), "--select", name)
        finally:
            project.spark.conf.unset("spark.wap.branch")
        assert f"model.consumer.{name} can't run, {wrote}:" in error
        assert "spark.wap.branch is audit" in error
    assert project.rows(moves) == moved
    assert project.rows(events) == recorded

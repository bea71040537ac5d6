"""Upstreams that are hard to ask: names that need quotes, and what has become of a table since it was read."""

from __future__ import annotations

import pytest

from tests.functional.test_edges import summary
from tests.support.changes import age_commits
from tests.support.project import Project

READER = """
    {{{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}}}
    select id, {columns} from {{{{ dbt_cdc.ref_changes({upstream}) }}}}
"""


@pytest.mark.only_format("iceberg")  # Spark's own catalog takes no such names
def test_upstreams_whose_names_need_quotes_are_read_in_every_way(project: Project) -> None:
    table = f"{project.schema}.`my-orders`"
    columns = "id int, v string, cdc_datetime_updated timestamp"
    project.sql(f"create table {table} ({columns}) using iceberg")
    project.sql(f"insert into {table} values (1, 'a', timestamp_seconds(1)), (2, 'b', timestamp_seconds(2))")
    python = """
        import dbt_cdc


        def model(dbt, spark):
            dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="id")
            dbt.source("raw", "my-orders")
            return dbt_cdc.ref_changes(dbt, spark, "raw", "my-orders", by={by!r}, unique_key={key!r}).drop("cdc_datetime_updated")
    """
    source = "source('raw', 'my-orders')"
    project.write(
        {
            "models/sources.yml": f"""
                sources: [{{name: raw, schema: {project.schema}, quoting: {{identifier: true}}, tables: [{{name: my-orders}}]}}]
            """,
            "models/by_column.sql": READER.format(columns="v", upstream=source),
            "models/by_version.sql": READER.format(
                columns="v, _op", upstream=f"{source}, by='version', unique_key='id'"
            ),
            "models/python_by_column.py": python.format(by="column", key=None),
            "models/python_by_version.py": python.format(by="version", key="id"),
            "models/asked.sql": f"""
                {{{{ config(materialized='table') }}}}
                select op, before.v as was, after.v as became, source
                from {{{{ dbt_cdc.table_changes({source}, unique_key='id') }}}}
            """,
        }
    )
    project.dbt("run", "--exclude", "asked")
    project.sql(f"delete from {table} where id = 1")
    project.sql(f"merge into {table} t using (select 2 as id) s on t.id = s.id when matched then update set"
                " v = 'c', cdc_datetime_updated = timestamp_seconds(3)")  # fmt: skip
    name, by_column = "my-orders", "by cdc_datetime_updated"
    assert [line[:3] + line[4:5] for line in summary(project)] == [
        [name, "by_column", by_column, "1"],
        [name, "by_version", "by version", "2"],
        [name, "python_by_column", by_column, "1"],
        [name, "python_by_version", "by version", "2"],
    ]
    project.dbt("run")
    assert project.rows("select * from {schema}.by_column order by id") == [(1, "a"), (2, "c")]
    assert project.rows("select * from {schema}.python_by_column order by id") == [(1, "a"), (2, "c")]
    both = [(1, "a", "d"), (2, "c", "u")]
    assert project.rows("select * from {schema}.by_version order by id") == both
    assert project.rows("select * from {schema}.python_by_version order by id") == both
    source_name = f"{project.schema}.my-orders"
    assert project.rows("select * from {schema}.asked order by op, was, became") == [
        ("d", "a", None, source_name),
        ("i", None, "a", source_name),
        ("i", None, "b", source_name),
        ("u", "b", "c", source_name),
    ]
    assert [line[4] for line in summary(project)] == ["0", "0", "0", "0"]
    # of many edges, those that are asked for
    reader = f"{project.schema}.by_version"
    assert [line[:3] for line in summary(project, destination=reader)] == [[name, "by_version", "by version"]]
    assert len(summary(project, source=source_name)) == 4
    project.error("run-operation", "cdc_summary", "--args", f"{{destination: {reader}s}}")
    assert f"dbt_cdc.cdc_summary: unknown destination '{reader}s', did you mean '{reader}'?" in project.new_log()


@pytest.mark.one_format("iceberg")
def test_columns_with_names_of_others_hide_no_stamp_and_no_change(project: Project) -> None:
    columns = "`#no` int, id int, _change_type string, cdc_datetime_updated timestamp"
    key = {"iceberg": "", "delta": "tblproperties ('delta.columnMapping.mode' = 'name')"}[project.file_format]
    project.sql(f"create table {{schema}}.orders ({columns}) using {project.file_format} {key}")
    project.sql(
        "insert into {schema}.orders values (10, 1, 'x', timestamp_seconds(1)), (20, 2, 'y', timestamp_seconds(2))"
    )
    source = "source('raw', 'orders')"
    project.write(
        {
            "models/sources.yml": f"sources: [{{name: raw, schema: {project.schema}, tables: [{{name: orders}}]}}]",
            "models/by_column.sql": READER.format(columns="`#no` as no", upstream=source),
            "models/by_version.sql": READER.format(
                columns="`#no` as no, _change_type as kind, _op", upstream=f"{source}, by='version', unique_key='id'"
            ),
        }
    )
    project.dbt("run")
    project.sql("insert into {schema}.orders values (30, 3, 'z', timestamp_seconds(3))")
    project.sql("delete from {schema}.orders where id = 1")
    assert [line[1:3] + line[4:5] for line in summary(project)] == [
        ["by_column", "by cdc_datetime_updated", "1"],
        ["by_version", "by version", "2"],
    ]
    project.dbt("run")
    assert "reads 1 rows of" in project.log()
    assert project.rows("select id, no from {schema}.by_column order by id") == [(1, 10), (2, 20), (3, 30)]
    assert project.rows("select id, no, kind, _op from {schema}.by_version order by id") == [
        (1, 10, "x", "d"),
        (2, 20, "y", "i"),
        (3, 30, "z", "i"),
    ]
    # two runs at once in sessions of two time zones: the lower stamp holds, whatever instant either took it for
    project.sql(f"create table {{schema}}.plans (id int, at timestamp_ntz) using {project.file_format}")
    for at, instant in (("2024-01-01 02:00:00", 9), ("2024-01-01 03:00:00", 1)):
        project.sql(f"""insert into {{schema}}.cdc_metadata values ('{project.schema}.plans', '{project.schema}.of_plans',
            timestamp_seconds({instant}), 'column', 'at', 'timestamp_ntz', '{at}', 1, current_timestamp(), '')""")
    assert [line[3] for line in summary(project, source=f"{project.schema}.plans")] == ["2024-01-01 02:00:00"]


@pytest.mark.only_format("delta")
def test_what_has_become_of_an_upstream_is_told_beside_the_other_edges(project: Project) -> None:
    feed = "tblproperties ('delta.enableChangeDataFeed' = 'true')"
    columns = "id int, cdc_datetime_updated timestamp"
    row = "(1, timestamp_seconds(1))"
    names = ["gone", "healthy", "narrowed", "remade", "retyped", "stampless", "unkeyed"]
    for name in names:
        project.sql(f"create table {{schema}}.{name} ({columns}) using delta {feed}")
        project.sql(f"insert into {{schema}}.{name} values {row}")
    # its feed tells what came since these commits, but Delta reads none of these versions
    project.sql("alter table {schema}.narrowed set tblproperties ('delta.columnMapping.mode' = 'name')")
    age_commits(project, "narrowed", 8, 8, 8)
    project.write(
        {
            "models/sources.yml": f"sources: [{{name: raw, schema: {project.schema}, tables: [{', '.join(f'{{name: {n}}}' for n in names)}]}}]",
            "models/logged.sql": """
                {{ config(materialized='apply_changes', unique_key='id',
                          meta={'dbt_cdc': {'sequence_by': 'seq', 'change_log': 'key_op'}}) }}
                select 1 as id, 1 as seq
            """,
            "models/of_logged.sql": READER.format(columns="_op", upstream="'logged', by='version'"),
            **{
                f"models/of_{name}.sql": READER.format(columns=rest, upstream=f"source('raw', '{name}'){how}")
                for name, rest, how in [
                    ("gone", "1 as one", ""),
                    ("healthy", "1 as one", ""),
                    ("narrowed", "_op", ", by='version', unique_key='id'"),
                    ("remade", "_op", ", by='version', unique_key='id'"),
                    ("retyped", "1 as one", ""),
                    ("stampless", "1 as one", ""),
                    ("unkeyed", "_op", ", by='version', unique_key='id'"),
                ]
            },
        }
    )
    project.dbt("run")
    project.sql("drop table {schema}.gone")
    for name in ("remade", "logged"):
        project.sql(f"drop table {{schema}}.{name}")
        project.sql(f"create table {{schema}}.{name} (id int, seq int) using delta {feed}")
    project.sql("insert into {schema}.narrowed values (2, timestamp_seconds(2))")
    project.sql("alter table {schema}.narrowed drop column cdc_datetime_updated")
    project.sql("create or replace table {schema}.stampless (id int) using delta")
    project.sql("create or replace table {schema}.unkeyed (number int) using delta")
    project.sql("create or replace table {schema}.retyped (id int, cdc_datetime_updated boolean) using delta")
    project.sql("insert into {schema}.retyped values (1, true), (2, false), (3, null)")
    project.sql("insert into {schema}.stampless values (7), (8)")
    project.sql("insert into {schema}.healthy values (2, timestamp_seconds(61)), (3, null)")  # which each run reads
    cells = {line[0]: line[2:] for line in summary(project)}
    assert cells == {
        "gone": ["by cdc_datetime_updated", "-", "the upstream is gone", "-"],
        "healthy": ["by cdc_datetime_updated", "1970-01-01 00:00:01", "2", "00:01:00"],
        "logged": ["by version", cells["logged"][1], "needs --full-refresh", cells["logged"][3]],
        "narrowed": ["by version", "2", "needs --full-refresh", cells["narrowed"][3]],
        "remade": ["by version", "1", "needs --full-refresh", cells["remade"][3]],
        "retyped": ["all rows", "-", "3", "-"],
        "stampless": ["all rows", "-", "2", "-"],
        "unkeyed": ["by version", "1", "the upstream lacks the key column id", "-"],
    }
    project.error("run-operation", "reset_watermarks")
    assert "give --args '{source: schema.table, destination: schema.table}', or one of the two" in project.log()
    project.error("run-operation", "reset_watermarks", "--args", "{source: ''}")
    assert "unknown source ''" in project.log()
    edge = f"{{source: {project.schema}.healthy, destination: {project.schema}.of_gone}}"
    project.error("run-operation", "reset_watermarks", "--args", edge)
    told = (
        "there is no edge from 'S.healthy' to 'S.of_gone', which reads S.gone: give one of these, or leave `source` out"
    )
    assert told.replace("S.", f"{project.schema}.") in project.log()
    assert [line[2:] for line in summary(project) if line[0] == "healthy"] == [cells["healthy"]]
    project.dbt("run-operation", "reset_watermarks", "--args", f"{{source: {project.schema}.healthy}}")
    assert [line[2:] for line in summary(project) if line[0] == "healthy"] == [["start again", "-", "3", "-"]]

"""Many readers at once, and a metadata table that has seen many runs."""

from __future__ import annotations

import re

import pytest

from tests.support.project import Project

READER = """
    {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
    select * from {{ dbt_cdc.ref_changes(source('raw', 'events')) }}
"""


@pytest.mark.one_format("iceberg")  # whose catalog keeps what it has read of a table
def test_many_models_start_at_once_on_an_empty_database_and_a_long_history_is_kept_in_few_files(
    project: Project,
) -> None:
    schema, metadata = project.schema, f"{project.schema}_metadata"
    project.configure(vars={"dbt_cdc": {"metadata_schema": metadata}})
    project.sql(f"create table {{schema}}.events (id int, cdc_datetime_updated timestamp) using {project.file_format}")
    project.sql("insert into {schema}.events values (1, timestamp '2024-01-01')")
    names = [f"reader_{number}" for number in range(12)]
    source = f"sources: [{{name: raw, schema: {schema}, tables: [{{name: events}}]}}]"
    project.write({"models/sources.yml": source, **{f"models/{name}.sql": READER for name in names}})

    project.dbt("run", "--threads", "4")
    moves = f"select destination, sequence from {metadata}.cdc_metadata"
    assert sorted(project.rows(moves)) == sorted((f"{schema}.{name}", 1) for name in names)
    assert project.tables() == {"events", *names}

    # a thousand runs of a thousand edges, in many small files
    project.spark.sql(
        f"""insert into {metadata}.cdc_metadata
        select /*+ repartition(150) */ concat('{schema}.upstream_', id % 1000), concat('{schema}.model_', id % 1000),
            timestamp_micros(id * 1000000), 'column', 'cdc_datetime_updated', 'timestamp', cast(id * 1000000 as string),
            id div 1000 + 1, current_timestamp(), 'an earlier run'
        from range(1000000)"""
    )
    project.sql("insert into {schema}.events values (2, timestamp '2024-01-02')")
    project.dbt("run", "--select", "reader_0", "reader_1")
    for name in ["reader_0", "reader_1"]:
        assert project.rows(f"select id from {{schema}}.{name} order by id") == [(1,), (2,)]
        assert (f"{schema}.{name}", 2) in project.rows(moves + " where sequence = 2")
    files = f"select file_path from {metadata}.cdc_metadata.files"
    if project.file_format == "delta":
        files = f"select distinct _metadata.file_path from {metadata}.cdc_metadata"
    assert len(project.rows(files)) < 20
    assert project.rows(f"select count(*) from {metadata}.cdc_metadata") == [(1_000_000 + len(names) + 2,)]

    # the edges of one model are asked for by its name
    asked = re.findall(r"select to_json\(min_by\(.*?group by source, destination", project.log(), re.DOTALL)[-1]
    assert re.search(rf"where destination = '{schema}\.reader_\d'", asked)

    if project.file_format == "iceberg":
        compacts_alone_what_keeps_its_snapshots(project, f"{metadata}.cdc_metadata")

    project.sql(f"drop table {metadata}.cdc_metadata")
    project.sql(f"drop schema {metadata}")


def compacts_alone_what_keeps_its_snapshots(project: Project, metadata: str) -> None:
    """As Nessie's tables do. What a table has of its catalog's defaults stays."""
    delete, most = "write.metadata.delete-after-commit.enabled", "write.metadata.previous-versions-max"
    project.sql("create table {schema}.kept (id int) using iceberg tblproperties ('gc.enabled' = 'false')")
    project.sql(f"create table {{schema}}.some (id int) using iceberg tblproperties ('{most}' = '7')")
    project.sql(f"alter table {metadata} set tblproperties ('gc.enabled' = 'false')")
    project.sql(f"insert into {metadata} select /*+ repartition(150) */ * from {metadata} where sequence = 1")
    settled = """
        {% for name in ['kept', 'some'] if execute %}
            {% do dbt_cdc._for_format('delete_old_metadata', 'iceberg')(this.incorporate(path={'identifier': name})) %}
        {% endfor %}
        select 1 as one"""
    project.write({"models/settled.sql": settled})
    project.dbt("run", "--select", "reader_0", "settled")
    assert len(project.rows(f"select file_path from {metadata}.files")) < 20
    has = {
        name: dict(project.rows(f"show tblproperties {name}")) for name in [metadata, "{schema}.kept", "{schema}.some"]
    }
    asked = [{name: own.get(name) for name in (delete, most)} for own in has.values()]
    assert asked == [{delete: "true", most: "10"}, {delete: None, most: None}, {delete: "true", most: "7"}]

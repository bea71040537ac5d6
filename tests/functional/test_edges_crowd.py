"""Many readers at once, and a metadata table that has seen many runs."""

from __future__ import annotations

import re
import time

import pytest

from tests.support.project import Project
from tests.support.spark import session_conf

READER = """
    {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
    select * from {{ dbt_cdc.ref_changes(source('raw', 'events')) }}
"""


@pytest.mark.one_format("iceberg")  # whose catalog keeps what it has read of a table
def test_many_models_start_at_once_on_an_empty_database_and_a_long_history_is_read_quickly(project: Project) -> None:
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

    asked = re.findall(r"select to_json\(min_by\(.*?group by source, destination", project.log(), re.DOTALL)[-1]
    assert re.search(rf"where destination = '{schema}\.reader_\d'", asked)
    # one edge is read from a million rows about as quickly as from one, on a machine of any speed
    edge = re.search(r"where (destination = '\S+')", asked)[1]  # type: ignore[index]
    project.sql(f"create table {{schema}}.few using {project.file_format} as"
                f" select * from {metadata}.cdc_metadata where {edge} and sequence = 1")  # fmt: skip
    of_few = asked.replace(f"{metadata}.cdc_metadata", f"{schema}.few")
    assert of_few != asked
    # plans as users have them
    usual = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
    seconds: dict[str, list[float]] = {asked: [], of_few: []}
    with session_conf(project.spark, usual):
        for question in [asked, of_few] * 4:
            started = time.monotonic()
            assert len(project.rows(question)) == 1
            seconds[question].append(time.monotonic() - started)
    assert min(seconds[asked]) < 8 * min(seconds[of_few]), seconds.values()

    project.sql(f"drop table {metadata}.cdc_metadata")
    project.sql(f"drop schema {metadata}")

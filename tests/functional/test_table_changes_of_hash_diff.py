"""The changes of a hash_diff model are those of its rows: not of the tombstones and marks that its base table keeps."""

from __future__ import annotations

import pytest

from tests.support.hash_diff import PROPERTIES, Model
from tests.support.project import Project

MODEL = """
    def model(dbt, spark):
        dbt.config(materialized="hash_diff", unique_key="id")
        return spark.table("none")
"""
ASK = """
    {{ config(materialized='table') }}
    select op, coalesce(after.id, before.id) as id, before.v, after.v as w, before, after
    from {{ dbt_cdc.table_changes(%s) }}
"""
READER = """
    {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
    select id, v, operation, _op from {{ dbt_cdc.ref_changes('fed', by='version') }}
"""
COLUMNS = "keyhash:string,nonkeyhash:string,id:int,v:string,operation:string,eff_start_date:date"


@pytest.mark.one_format("iceberg")
def test_deletes_are_deletes_and_what_a_load_only_marks_is_no_change(project: Project) -> None:
    fed = Model(
        project.spark,
        project.schema,
        project.file_format,
        table_properties={**PROPERTIES[project.file_format], "delta.enableChangeDataFeed": "true"},
        table="fed",
    )
    project.write({"models/fed.py": MODEL, "models/plain.py": MODEL, "models/reader.sql": READER})
    fed.load("2020-01-01", {1: ("a",), 2: ("b",), 3: ("c",)})
    begin = last_version(project, "fed")
    # a table of the same two states that keeps no feed
    project.sql(
        f"create table {{schema}}.plain__base using {project.file_format} as select * from {{schema}}.fed__base"
    )
    project.sql("create view {schema}.plain as select * from {schema}.plain__base")
    plain_begin = last_version(project, "plain")
    fed.load("2020-01-02", {1: ("A",), 3: ("c",)})
    project.dbt("run", "--select", "reader")
    first = project.rows("select * from {schema}.reader order by id")
    assert first == [(1, "A", "U", "i"), (3, "c", "I", "i")]

    fed.load("2020-01-03", {2: ("b",), 3: ("c",)}, "delta")
    fed.load("2020-01-04", {1: ("A",), 2: ("b",)})
    fed.load("2020-01-04", {1: ("A",), 2: ("b",)})
    columns = ", ".join(name for name, _ in project.columns("plain__base"))
    project.sql(f"insert overwrite {{schema}}.plain__base select {columns} from {{schema}}.fed__base")
    project.write(
        {
            "models/every.sql": ASK % "ref('fed'), begin='earliest'",
            "models/keyless.sql": ASK % "ref('fed'), unique_key=[]",
            "models/newest.sql": ASK % "ref('fed'), format='latest_state'",
            "models/net.sql": ASK % f"ref('fed'), begin='{begin}', format='net'",
            "models/net_by_id.sql": ASK % f"ref('fed'), begin='{begin}', format='net', unique_key='id'",
            "models/compared.sql": ASK % f"ref('plain'), begin='{plain_begin}', format='net'",
        }
    )
    project.dbt("run", "--exclude", "fed", "plain")
    asked = "select op, id, v, w from {schema}."
    inserts = [("i", 1, None, "a"), ("i", 2, None, "b"), ("i", 3, None, "c")]
    later = [("d", 2, "b", None), ("d", 3, "c", None), ("i", 2, None, "b"), ("u", 1, "a", "A")]
    assert sorted(project.rows(asked + "every"), key=str) == sorted(inserts + later, key=str)
    unpaired = [*inserts, *later[:3], ("d", 1, "a", None), ("i", 1, None, "A")]
    assert sorted(project.rows(asked + "keyless"), key=str) == sorted(unpaired, key=str)
    net = [("d", 3, "c", None), ("u", 1, "a", "A"), ("u", 2, "b", "b")]
    for name in ("net", "net_by_id", "compared"):
        assert sorted(project.rows(asked + name)) == net, name
    newest = [("d", 3, "c", None), ("i", 2, None, "b"), ("u", 1, "a", "A")]
    assert sorted(project.rows(asked + "newest"), key=str) == newest
    assert dict(project.columns("every"))["after"] == f"struct<{COLUMNS}>"
    assert project.rows("select distinct before.operation from {schema}.every where op = 'd'") == [("I",)]
    second = project.rows("select * from {schema}.reader order by id")
    assert second == [(1, "A", "U", "i"), (2, "b", "I", "i"), (3, "c", "I", "d")]


@pytest.mark.one_format("iceberg")
def test_a_key_that_stands_at_the_columns_is_that_of_the_models_log(project: Project) -> None:
    project.write(
        {
            "models/logged.py": """
                def model(dbt, spark):
                    return spark.sql("select 1 as id, 'a' as v")
            """,
            "models/logged.yml": """
                models:
                  - name: logged
                    config: {materialized: hash_diff, meta: {dbt_cdc: {change_log: data_before_after}}}
                    columns: [{name: id, config: {meta: {dbt_cdc: {key: true}}}}]
            """,
            "models/by_id.sql": ASK % "ref('logged'), unique_key='id'",
        }
    )
    project.dbt("run")
    assert project.rows("select op, id, v, w from {schema}.by_id") == [("i", 1, None, "a")]
    assert "logged__changes" in project.written("by_id")


def last_version(project: Project, name: str) -> str:
    """Id of the newest commit of a model's base table."""
    queries = {
        "delta": "describe history {schema}.%s__base limit 1",
        "iceberg": "select snapshot_id from {schema}.%s__base.refs where name = 'main'",
    }
    return str(project.rows(queries[project.file_format] % name)[0][0])

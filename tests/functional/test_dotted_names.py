"""Relations whose names have a dot: every capability finds them again, also in Iceberg's metadata tables."""

from __future__ import annotations

import pytest

from tests.support.project import Project

MODELS = {
    "models/sources.yml": "sources: [{name: raw, schema: '{{ target.schema }}', tables: [{name: rows}]}]",
    "models/hashed.yml": """
        models:
          - name: hashed
            config: {meta: {dbt_cdc: {effective_date: "2024-01-0{{ var('day') }}", change_log: data_before}}}
    """,
    "models/hashed.py": """
        def model(dbt, spark):
            dbt.config(materialized="hash_diff", unique_key="id", alias="hash.ed")
            return dbt.source("raw", "rows")
    """,
    "models/tabled.py": """
        def model(dbt, spark):
            dbt.config(materialized="table", alias="tab.led", partition_by="id")
            return dbt.source("raw", "rows")
    """,
    "models/applied.sql": """
        {{ config(materialized='apply_changes', unique_key='id', alias='app.lied', meta={'dbt_cdc': {
                  'sequence_by': 'day', 'stored_as_scd_type': 2, 'change_log': 'data_before'}}) }}
        select id, v, {{ var('day') }} as day from {{ source('raw', 'rows') }}
    """,
    "snapshots/snapped.yml": """
        snapshots:
          - name: snapped
            relation: source('raw', 'rows')
            config: {alias: snap.ped, unique_key: id, strategy: check, check_cols: [v],
                     meta: {dbt_cdc: {change_log: data_before}}}
    """,
    "models/changes.sql": """
        {{ config(materialized='table') }}
        {% for node in ('hashed', 'applied', 'snapped') %}
        select '{{ node }}' as node, op, before.v as old, after.v as new
        from {{ dbt_cdc.table_changes(ref(node), format='cdc') }}
        {{ 'union all' if not loop.last }}
        {% endfor %}
    """,
}


@pytest.mark.long  # test_snapshot_options and test_hash_diff have names that need quotes
@pytest.mark.skipif("config.getoption('table_format') != 'iceberg'", reason="Spark's own catalog refuses such names")
def test_tables_with_a_dot_in_their_names_follow_three_days(project: Project) -> None:
    project.configure(quoting={"identifier": True})
    project.write(MODELS)
    project.sql(f"create table {{schema}}.rows (id int, v string) using {project.file_format}")
    for day, value in enumerate("abc", 1):
        project.sql(f"insert overwrite {{schema}}.rows values (1, '{value}')")
        project.dbt("build", "--vars", f"{{day: {day}}}")

    assert project.rows("select id, v, operation from {schema}.`hash.ed`") == [(1, "c", "U")]
    history = "select eff_start_date, v, operation from {schema}.`hash.ed__history` order by 1"
    assert [(str(day), *rest) for day, *rest in project.rows(history)] == [
        ("2024-01-01", "a", "I"),
        ("2024-01-02", "b", "U"),
        ("2024-01-03", "c", "U"),
    ]
    assert project.rows("select * from {schema}.`tab.led`") == [(1, "c")]
    described = [row[0] for row in project.rows("describe {schema}.`tab.led`")]
    assert described.count("id") == 2  # as a column, as a partition
    versions = "select id, v, __START_AT, __END_AT from {schema}.`app.lied` order by 3"
    assert project.rows(versions) == [(1, "a", 1, 2), (1, "b", 2, 3), (1, "c", 3, None)]
    assert project.rows("select v from {schema}.`snap.ped` order by dbt_valid_from") == [("a",), ("b",), ("c",)]
    # the rows of a history: a version that ends is an update of its row
    histories = [("i", None, "a"), ("i", None, "b"), ("i", None, "c"), ("u", "a", "a"), ("u", "b", "b")]
    assert project.rows("select * from {schema}.changes order by all") == [
        *(("applied", *change) for change in histories),
        *(("hashed", *change) for change in [("i", None, "a"), ("u", "a", "b"), ("u", "b", "c")]),
        *(("snapped", *change) for change in histories),
    ]
    assert project.tables() >= {f"{name}__changes" for name in ("hash.ed", "app.lied", "snap.ped")}

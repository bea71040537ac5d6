"""What `dbt clone` makes of the package's nodes: dbt knows one table of each."""

from __future__ import annotations

import pytest

from tests.support.project import Project

FILES = {
    "models/applied.sql": """
        {{ config(materialized='apply_changes', unique_key='id', meta={'dbt_cdc': {'sequence_by': 'seq'}}) }}
        select 1 as id, 1 as seq
    """,
    "models/hashed.py": """
        def model(dbt, spark):
            dbt.config(materialized="hash_diff", unique_key="id")
            return spark.sql("select 1 as id")
    """,
    "snapshots/s.sql": """
        {% snapshot s %}
            {{ config(unique_key='id', strategy='check', check_cols='all',
                      meta={'dbt_cdc': {'operational_metadata': true, 'change_log': 'key_op'}}) }}
            select 1 as id
        {% endsnapshot %}
    """,
}


@pytest.mark.only_format("delta")
def test_a_clone_is_a_snapshot_without_its_log_or_a_table_without_its_ledger_and_no_hash_diff(project: Project) -> None:
    project.write(FILES)
    project.dbt("build")
    production = f"{project.schema}_production"
    project.sql(f"create schema {production}")
    try:
        for table in ("s", "applied"):
            project.sql(f"create table {production}.{table} using delta as select * from {{schema}}.{table}")
        project.sql(f"create view {production}.hashed as select 1 as id")
        project.sql("drop view {schema}.hashed")
        for table in project.tables():
            project.sql(f"drop table {{schema}}.{table}")
        state = project.folder / "production/manifest.json"
        project.dbt("parse").result.write(str(state))  # type: ignore[union-attr]
        state.write_text(state.read_text().replace(project.schema, production))
        said = project.error("clone", "--state", str(project.folder / "production"))
        refused = "model.consumer.hashed can't run, nothing was written:\n    - dbt clone knows none of the tables of a hash_diff model"
        assert refused in said and f"(--exclude), or read {production}.hashed by --defer" in said, said
        assert "operations" not in project.run_results()["s"]["adapter_response"]
        assert project.tables() == {"applied", "s"}
        assert project.rows("select * from {schema}.applied") == [(1, 1)]
        said = project.error("run", "--select", "applied")
        assert (
            f"{project.schema}.applied exists but {project.schema}.applied__events, where apply_changes keeps" in said
        ), said
        project.dbt("run", "--select", "applied", "--full-refresh")
        assert project.rows("select * from {schema}.applied") == [(1, 1)]
        for table in ("applied", "s"):
            project.sql(f"drop table {{schema}}.{table}")
    finally:
        project.sql(f"drop schema {production} cascade")

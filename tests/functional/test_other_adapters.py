"""A project that has the package, and its dispatch entry, on a target that is not Spark: here DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from dbt.adapters.duckdb.connections import DuckDBConnectionManager

from dbt import selected_resources
from tests.support.project import Project

SNAPSHOTS = """
    snapshots:
      - name: s
        relation: ref('a')
        config: {{unique_key: id, strategy: check, check_cols: [v], hard_deletes: new_record, meta: {meta}}}
"""


@pytest.mark.one_format("iceberg")
def test_on_another_adapter_nothing_changes_and_what_asks_for_the_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "shop.duckdb"
    output = {"type": "duckdb", "path": str(database), "threads": 1}
    project = Project(tmp_path / "project", None, "main", {"file_format": "duckdb", "output": output})  # type: ignore[arg-type]
    project.configure(vars={"metadata_schema": {"of": "another package"}})
    project.write(
        {
            "models/a.sql": "{{ config(materialized='table') }} select * from ({{ env_var('ROWS') }}) as t(id, v)",
            "models/b.py": """
                def model(dbt, session):
                    dbt.config(materialized="table")
                    return dbt.ref("a")
            """,
            "snapshots/s.yml": SNAPSHOTS.format(meta="{dbt_cdc: {operational_metadata: false}}"),
        }
    )

    def rows(query: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(database)) as connection:
            return connection.sql(query).fetchall()

    monkeypatch.setenv("ROWS", "values (1, 'x'), (2, 'y')")
    project.dbt("build")
    monkeypatch.setenv("ROWS", "values (1, 'z')")
    project.dbt("build")
    assert rows("select table_name from information_schema.tables order by 1") == [("a",), ("b",), ("s",)]
    assert rows("select * from b") == [(1, "z")]
    history = "select id, v, dbt_valid_to is null, dbt_is_deleted from s order by id, dbt_valid_from, dbt_is_deleted"
    expected = [(1, "x", False, "False"), (1, "z", True, "False"), (2, "y", False, "False"), (2, "y", True, "True")]
    assert rows(history) == expected
    assert [name for name, *_ in rows("describe s")] == [
        "id", "v", "dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to", "dbt_is_deleted",
    ]  # fmt: skip

    project.write({"snapshots/s.yml": SNAPSHOTS.format(meta="{dbt_cdc: {operational_metadata: true}}")})
    said = project.error("build")
    assert "snapshot.consumer.s: dbt_cdc works on dbt-spark, and this target is of duckdb: run them on a target" in said
    assert "model.consumer" not in said
    assert rows(history) == expected
    project.configure(models={"+meta": {"dbt_cdc": {"ref_changes_by": "version"}}})  # of those that read by it
    project.dbt("build", "--exclude", "s")
    # `dbt retry` does not say what it runs
    monkeypatch.setenv("ROWS", "values (1, error('broken'))")
    project.error("build", "--exclude", "s")
    monkeypatch.setattr(selected_resources, "SELECTED_RESOURCES", [])  # as a process of its own begins
    said = project.error("retry")
    assert "Invalid Input Error: broken" in said and "dbt_cdc works on" not in said
    DuckDBConnectionManager.close_all_connections()

"""A project that has the package, and its dispatch entry, on a target that is not dbt-spark's: DuckDB, and one that builds on it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pytest
from dbt.adapters.base import AdapterPlugin
from dbt.adapters.duckdb.connections import DuckDBConnectionManager
from dbt.adapters.spark import SparkAdapter, SparkConnectionManager, SparkCredentials

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


#: What an adapter has of its own beside dbt-spark's, as dbt-databricks has.
LAKE_MACROS = """
    {% macro lake__create_view_as(relation, sql) -%}
        create or replace view {{ relation }} tblproperties ('made_by' = 'lake') as {{ sql }}
    {%- endmacro %}
    {% macro lake__tblproperties_clause() %}tblproperties ('made_by' = 'lake'){% endmacro %}
"""


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An adapter of type `lake` that builds on dbt-spark."""

    class Credentials(SparkCredentials):
        @property
        def type(self) -> str:
            return "lake"

    class Connections(SparkConnectionManager):
        TYPE = "lake"

    class LakeAdapter(SparkAdapter):
        ConnectionManager = Connections

    include = tmp_path / "lake"
    (include / "macros").mkdir(parents=True)
    (include / "dbt_project.yml").write_text(
        "{name: dbt_lake, version: 1.0.0, config-version: 2, macro-paths: [macros]}"
    )
    (include / "macros/lake.sql").write_text(LAKE_MACROS)
    module = ModuleType("dbt.adapters.lake")
    module.__path__ = []
    module.Plugin = AdapterPlugin(LakeAdapter, Credentials, str(include), ["spark"])  # type: ignore[attr-defined, arg-type]
    version = ModuleType("dbt.adapters.lake.__version__")
    version.version = "1.11.0"  # type: ignore[attr-defined]
    for made in (module, version):
        monkeypatch.setitem(sys.modules, made.__name__, made)


@pytest.mark.one_format("delta")
def test_on_an_adapter_that_builds_on_dbt_spark_all_is_its_own(project: Project, lake: None) -> None:
    profiles = project.folder / "profiles.yml"
    profiles.write_text(profiles.read_text().replace("type: spark", "type: lake"))
    project.write(
        {
            "models/a.sql": "{{ config(materialized='table') }} select {{ var('v') }} as v, 1 as id",
            "models/b.sql": "{{ config(materialized='view') }} select * from {{ ref('a') }}",
            "snapshots/s.yml": SNAPSHOTS.format(meta="{dbt_cdc: {operational_metadata: false}}"),
        }
    )
    for value in ("1", "2"):
        project.dbt("build", "--vars", f"{{v: {value}}}")
    for table in ("a", "b", "s"):
        assert ("made_by", "lake") in project.rows(f"show tblproperties {{schema}}.{table}"), table
    assert [name for name, _ in project.columns("s")] == [
        "v", "id", "dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to", "dbt_is_deleted",
    ]  # fmt: skip
    history = "select v, dbt_valid_to is null from {schema}.s"
    assert sorted(project.rows(history)) == [(1, False), (2, True)]
    project.write(
        {
            "models/c.sql": """
                {{ config(materialized='apply_changes', unique_key='id', meta={'dbt_cdc': {'sequence_by': 'v'}}) }}
                select * from {{ ref('a') }}
            """,
            "snapshots/s.yml": SNAPSHOTS.format(meta="{dbt_cdc: {operational_metadata: true}}"),
        }
    )
    said = project.error("build", "--vars", "{v: 3}")
    assert "model.consumer.c, snapshot.consumer.s: dbt_cdc works on dbt-spark, and this target is of lake: run" in said
    assert sorted(project.rows(history)) == [(1, False), (2, True)]
    assert project.tables() == {"a", "b", "s"}

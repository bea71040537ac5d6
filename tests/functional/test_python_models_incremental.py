"""Incremental Python models do what their SQL twins do: append, merge, insert_overwrite, schema changes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.project import Project

STRATEGIES: dict[str, dict[str, Any]] = {
    "append": {},
    "merge": {"unique_key": "id"},
    "insert_overwrite": {"partition_by": ["part"]},
    "merge_new_column": {"unique_key": "id", "on_schema_change": "append_new_columns"},
    "merge_synced": {"unique_key": "id", "on_schema_change": "sync_all_columns"},
}
FIRST = [(1, "a", 0), (2, "b", 1)]
SECOND = {
    "append": [(1, "a", 0), (2, "B", 1), (2, "b", 1), (3, "C", 1)],
    "merge": [(1, "a", 0), (2, "B", 1), (3, "C", 1)],
    "insert_overwrite": [(1, "a", 0), (2, "B", 1), (3, "C", 1)],
    "merge_new_column": [(1, "a", 0, None), (2, "B", 1, "new"), (3, "C", 1, "new")],
    "merge_synced": [(1, "a", 0, None), (2, "B", 1, "new"), (3, "C", 1, "new")],
}
FULL_REFRESH = [(2, "B", 1, "new"), (3, "C", 1, "new")]


def twins(file_format: str, names: list[str]) -> dict[str, str]:
    """A SQL and a Python model for each strategy, in one file format."""
    files = {}
    for name in names:
        settings = {"file_format": file_format, "materialized": "incremental", **STRATEGIES[name]}
        settings["incremental_strategy"] = name.removesuffix("_new_column").removesuffix("_synced")
        given = ", ".join(f"{key}={value!r}" for key, value in settings.items())
        files[f"models/sql_{name}_{file_format}.sql"] = (
            "{{ config(" + given + ") }} select * from {{ source('raw', 'events') }}"
        )
        files[f"models/python_{name}_{file_format}.py"] = f"""
            def model(dbt, spark):
                dbt.config({given})
                return dbt.source("raw", "events")
        """
    return files


def write_events(project: Project, query: str) -> None:
    project.sql("drop table if exists {schema}.events")
    project.sql(f"create table {{schema}}.events using {project.file_format} as {query}")


def assert_twins(project: Project, file_format: str, expected: dict[str, list[tuple[Any, ...]]]) -> None:
    for name, rows in expected.items():
        for language in ("sql", "python"):
            table = f"{language}_{name}_{file_format}"
            columns = ("id", "v", "part", "x")[: len(rows[0])]  # Parquet puts partition columns last
            found = sorted(project.rows(f"select {', '.join(columns)} from {{schema}}.{table}"), key=str)
            assert found == sorted(rows, key=str), table
        assert project.columns(f"python_{name}_{file_format}") == project.columns(f"sql_{name}_{file_format}")


def formats(project: Project) -> dict[str, list[str]]:
    """The strategies of each file format; Parquet has no merge, and Iceberg's catalog takes no Parquet tables."""
    named = {project.file_format: list(STRATEGIES)}
    return named if project.file_format == "iceberg" else {**named, "parquet": ["append", "insert_overwrite"]}


@pytest.mark.one_format("delta")
def test_incremental_python_models_do_what_their_sql_twins_do(project: Project) -> None:
    project.configure(**{"query-comment": {"append": False}})  # dbt-spark's insert_overwrite can't have it behind
    project.write({"models/raw.yml": f"sources: [{{name: raw, schema: {project.schema}, tables: [{{name: events}}]}}]"})
    for file_format, names in formats(project).items():
        project.write(twins(file_format, names))
    tables = {"events"} | {
        f"{language}_{name}_{file_format}"
        for file_format, names in formats(project).items()
        for name in names
        for language in ("sql", "python")
    }

    write_events(project, "values (1, 'a', 0), (2, 'b', 1) as t (id, v, part)")
    project.dbt("run")
    for file_format, names in formats(project).items():
        assert_twins(project, file_format, dict.fromkeys(names, FIRST))

    write_events(project, "values (2, 'B', 1, 'new'), (3, 'C', 1, 'new') as t (id, v, part, x)")
    project.dbt("run")
    for file_format, names in formats(project).items():
        assert_twins(project, file_format, {name: SECOND[name] for name in names})
    assert project.tables() == tables  # nothing intermediate stays

    project.dbt(
        "run", "--empty", "--select", f"python_append_{project.file_format}", f"sql_append_{project.file_format}"
    )
    assert_twins(project, project.file_format, {"append": SECOND["append"]})

    # it depends on the format and the partitions, not on the strategy
    project.dbt("run", "--full-refresh", "--select", f"*_merge_{project.file_format}", "*_insert_overwrite_*")
    for file_format, names in formats(project).items():
        assert_twins(project, file_format, dict.fromkeys({"merge", "insert_overwrite"} & {*names}, FULL_REFRESH))
    assert project.tables() == tables


@pytest.mark.one_format("iceberg")
def test_what_dbt_tells_a_python_model(project: Project) -> None:
    project.write(
        {
            "models/config.yml": """
                models:
                  - name: told
                    config: {region: north, meta: {owner: ada}}
            """,
            "models/upstream.sql": "{{ config(materialized='table') }} select 1 as id",
            "models/told.py": """
                def model(dbt, spark):
                    dbt.config(materialized="incremental", unique_key="run")
                    run = spark.table(str(dbt.this)).count() if dbt.is_incremental else 0
                    told = [str(dbt.this), dbt.this.schema, dbt.this.identifier, dbt.config.get("region")]
                    told += [dbt.config.get("none", "a default"), str(dbt.is_incremental)]
                    told += [str(dbt.ref("upstream").count())]
                    return spark.createDataFrame([(run, told)], "run int, told array<string>")
            """,
        }
    )
    project.dbt("run")
    project.dbt("run")
    schema = project.schema
    expected = [f"{schema}.told", schema, "told", "north", "a default"]
    assert project.rows("select * from {schema}.told order by run") == [
        (0, [*expected, "False", "1"]),
        (1, [*expected, "True", "1"]),
    ]


@pytest.mark.one_format("iceberg")
def test_schema_changes_that_are_refused_stop_a_run_before_the_target_changes(project: Project) -> None:
    """`fail`, and `sync_all_columns` where a column is gone: dbt-spark drops none from Delta and Iceberg tables."""
    project.write(
        {
            "models/strict.py": """
                def model(dbt, spark):
                    dbt.config(materialized="incremental", on_schema_change="fail")
                    return spark.sql("select 1 as id, 2 as extra" if dbt.is_incremental else "select 1 as id")
            """,
            "models/python_synced.py": """
                def model(dbt, spark):
                    dbt.config(materialized="incremental", on_schema_change="sync_all_columns")
                    return spark.sql("select 1 as id" if dbt.is_incremental else "select 1 as id, 2 as extra")
            """,
            "models/sql_synced.sql": """
                {{ config(materialized="incremental", on_schema_change="sync_all_columns") }}
                select 1 as id {{ '' if is_incremental() else ', 2 as extra' }}
            """,
        }
    )
    project.dbt("run")
    project.error("run")
    said = {name: result["message"] for name, result in project.run_results().items()}
    assert "out of sync" in said["strict"]
    assert project.rows("select * from {schema}.strict") == [(1,)]
    assert project.columns("strict") == [("id", "int")]

    refused = {table: re.sub(r"\w+_synced \(\S+\)", "twin", said[table]) for table in ("python_synced", "sql_synced")}
    assert "does not support dropping columns" in refused["python_synced"]
    assert refused["python_synced"] == refused["sql_synced"]
    for table in refused:
        assert project.rows(f"select * from {{schema}}.{table}") == [(1, 2)]

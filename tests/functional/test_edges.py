"""Models that read only what changed upstream since their own last successful run."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tests.support.project import Project

READER = "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}"


def edges(project: Project, schema: str = "{schema}") -> list[tuple[Any, ...]]:
    """All moves so far, oldest first: upstream, model (without schema), watermark."""
    query = f"""select source, destination, cdc_datetime_updated from {schema}.cdc_metadata
                order by source, destination, sequence"""
    return [(s.split(".")[1], d.split(".")[1], w) for s, d, w in project.rows(query)]


def said(project: Project) -> list[str]:
    """What dbt_cdc has logged, without the schema, in the order of the log."""
    lines = [line.split("dbt_cdc: ", 1)[1] for line in project.log().splitlines() if "dbt_cdc: " in line]
    return [line.replace(project.schema + ".", "") for line in lines]


def test_a_pipeline_reads_all_rows_first_and_then_only_the_new_ones(project: Project) -> None:
    project.write(
        {
            "models/input.sql": """
                {{ config(materialized='incremental', incremental_strategy='append') }}
                select id, name, timestamp '2024-01-01 00:00:00' + make_interval(0, 0, 0, {{ var('day') }})
                    as cdc_datetime_updated
                from values {{ var('customers') }} as t (id, name)
            """,
            "models/factors.sql": "{{ config(materialized='table') }} select 100 as factor",
            "models/processed.sql": f"""
                {READER}
                select id, name, concat(name, '_processed') as processed_name, cdc_datetime_updated
                from {{{{ dbt_cdc.ref_changes('input') }}}}
            """,
            "models/result.sql": f"""
                {READER}
                select id, name, processed_name, id * factor as score, '{{{{ var('day') }}}}' as day, cdc_datetime_updated
                from {{{{ dbt_cdc.ref_changes('processed') }}}} as p
                cross join {{{{ ref('factors') }}}}
            """,
        }
    )
    project.dbt("run", "--vars", "{day: 1, customers: \"(1, 'Alice'), (2, 'Bob')\"}")
    first, second = datetime(2024, 1, 2), datetime(2024, 1, 3)
    assert edges(project) == [("input", "processed", first), ("processed", "result", first)]

    project.dbt("run", "--vars", "{day: 2, customers: \"(3, 'Charlie'), (4, 'Diana')\"}")
    assert project.rows("select * from {schema}.result order by id") == [
        (1, "Alice", "Alice_processed", 100, "1", first),
        (2, "Bob", "Bob_processed", 200, "1", first),
        (3, "Charlie", "Charlie_processed", 300, "2", second),
        (4, "Diana", "Diana_processed", 400, "2", second),
    ]
    assert edges(project) == [
        ("input", "processed", first),
        ("input", "processed", second),
        ("processed", "result", first),
        ("processed", "result", second),
    ]
    assert said(project) == [
        "processed reads 2 rows of input (all of them), cdc_datetime_updated up to 2024-01-02 00:00:00",
        "result reads 2 rows of processed (all of them), cdc_datetime_updated up to 2024-01-02 00:00:00",
        "processed reads 2 rows of input (new ones), cdc_datetime_updated up to 2024-01-03 00:00:00",
        "result reads 2 rows of processed (new ones), cdc_datetime_updated up to 2024-01-03 00:00:00",
    ]
    assert project.tables() == {"input", "factors", "processed", "result", "cdc_metadata"}

"""Snapshots with operational metadata: which run wrote a record, which run closed it."""

from __future__ import annotations

import pytest

from tests.support.project import Project
from tests.support.snapshots import HIGH, SOURCES, snapshot, supply


@pytest.mark.one_format("iceberg")
def test_the_articles_three_days_give_its_nine_rows_with_three_process_ids(project: Project) -> None:
    project.write(
        {
            "models/sources.yml": SOURCES,
            "snapshots/s.yml": """
                snapshots:
                  - name: things_snapshot
                    relation: source('raw', 'things')
                    config:
                      unique_key: id
                      strategy: check
                      check_cols: [status]
                      meta: {dbt_cdc: {operational_metadata: true}}
            """,
        }
    )
    supply(project, "(1, 'PENDING'), (2, 'CLOSED'), (3, 'OPEN'), (4, 'CLOSED')")
    day_0 = snapshot(project)
    supply(project, "(1, 'OPEN'), (4, 'OPEN')")
    day_1 = snapshot(project)
    supply(project, "(1, 'CLOSED'), (3, 'CANCELED'), (4, 'CLOSED')")
    day_2 = snapshot(project)

    assert project.rows(
        "select id, status, insert_process_id, update_process_id from {schema}.things_snapshot "
        "order by id, insert_timestamp"
    ) == [
        (1, "PENDING", day_0, day_1),
        (1, "OPEN", day_1, day_2),
        (1, "CLOSED", day_2, None),
        (2, "CLOSED", day_0, None),
        (3, "OPEN", day_0, day_2),
        (3, "CANCELED", day_2, None),
        (4, "CLOSED", day_0, day_1),
        (4, "OPEN", day_1, day_2),
        (4, "CLOSED", day_2, None),
    ]
    rows = project.rows(
        "select effective_start_timestamp, dbt_valid_from, effective_end_timestamp, dbt_valid_to, "
        "insert_timestamp, update_timestamp, dbt_updated_at from {schema}.things_snapshot"
    )
    for start, valid_from, end, valid_to, inserted, updated, dbt_updated_at in rows:
        assert start == valid_from == inserted == dbt_updated_at
        assert end == (HIGH if valid_to is None else valid_to)
        assert updated == valid_to
    assert project.columns("things_snapshot") == [
        ("id", "int"),
        ("status", "string"),
        ("dbt_scd_id", "string"),
        ("dbt_updated_at", "timestamp"),
        ("dbt_valid_from", "timestamp"),
        ("dbt_valid_to", "timestamp"),
        ("insert_process_id", "string"),
        ("update_process_id", "string"),
        ("effective_start_timestamp", "timestamp_ntz"),
        ("effective_end_timestamp", "timestamp_ntz"),
        ("insert_timestamp", "timestamp"),
        ("update_timestamp", "timestamp"),
    ]
    assert project.tables() == {"things", "things_snapshot"}

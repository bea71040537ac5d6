"""What the tests of snapshots share: a source table that changes, and the run that wrote what."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from tests.support.project import Project

HIGH = datetime(9999, 12, 31, 23, 59, 59, 999999)

SOURCES = "sources: [{name: raw, schema: '{{ target.schema }}', tables: [{name: things}]}]"


def run_id(project: Project) -> str:
    """The invocation_id of the last dbt command."""
    return str(json.loads((project.folder / "target/run_results.json").read_text())["metadata"]["invocation_id"])


def snapshot(project: Project, *arguments: str) -> str:
    """Run the snapshots; the id of that run."""
    project.dbt("snapshot", *arguments)
    return run_id(project)


def supply(project: Project, rows: str, columns: str = "id, status", table: str = "things") -> None:
    """What the source holds from now on."""
    project.sql(
        f"create or replace table {{schema}}.{table} using {project.file_format} as "
        f"select * from values {rows} as t({columns})"
    )


def check_times(
    project: Project,
    name: str,
    times: Mapping[str, tuple[datetime, datetime]],
    open_end: datetime | None,
    valid: Sequence[str] = ("dbt_valid_from", "dbt_valid_to"),
) -> None:
    """The effective columns say what dbt's own (`valid`) say, the other two when the runs were, by `times`."""
    by_run = "insert_process_id, insert_timestamp, update_process_id, update_timestamp"
    effective = "effective_start_timestamp, effective_end_timestamp"
    for row in project.rows(f"select {', '.join(valid)}, {effective}, {by_run} from {{schema}}.{name}"):
        start_by_dbt, end_by_dbt, start, end, wrote, inserted, closed, updated = row
        assert start == start_by_dbt, (name, row)
        assert times[wrote][0] <= inserted <= times[wrote][1], (name, row)
        if closed is None:
            assert (end, end_by_dbt, updated) == (HIGH, open_end, None), (name, row)
        else:
            assert end == end_by_dbt, (name, row)
            assert times[closed][0] <= updated <= times[closed][1], (name, row)

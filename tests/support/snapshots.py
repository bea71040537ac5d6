"""What the tests of snapshots share: a source table that changes, and the run that wrote what."""

from __future__ import annotations

import json
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

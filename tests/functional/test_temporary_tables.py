"""The tables of one run leave nothing behind when it ends."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.spark import session

from tests.support.project import Project
from tests.support.snapshots import SOURCES, supply

FILES = {
    "models/sources.yml": SOURCES,
    "models/m.sql": """
        {{ config(materialized='apply_changes', unique_key='id',
                  meta={'dbt_cdc': {'sequence_by': 'seq', 'stored_as_scd_type': 2}}) }}
        select id, v, seq from {{ source('raw', 'things') }}
    """,
    "snapshots/s.yml": """
        snapshots:
          - name: s
            relation: source('raw', 'things')
            config: {unique_key: id, strategy: check, check_cols: [v], hard_deletes: invalidate}
    """,
}


def test_temporary_tables_go_with_their_files(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    as_outside, listings = session.Cursor.execute.__wrapped__, []  # of tests

    def execute(self: Any, sql: str, *parameters: Any) -> None:
        listings.extend(re.findall(r"show tables in \S+ like '\S*dbt_tmp\S*'", sql))
        as_outside(self, sql, *parameters)

    monkeypatch.setattr(session.Cursor, "execute", execute)
    project.write(FILES)
    for node in ("m", "s"):  # as runs leave that are killed
        project.sql(
            f"create table {{schema}}.{node}__dbt_tmp_20200101t000000000000_0badcafe using {project.file_format} as select 1 as id"
        )
    for rows in ("(1, 'a', 1), (2, 'b', 1)", "(1, 'c', 2)"):
        supply(project, rows, "id, v, seq")
        project.dbt("build")
    assert listings == [f"show tables in {project.schema} like '*__dbt_tmp_*'"] * 2  # one in each run
    assert project.rows("select id, v, __END_AT from {schema}.m order by 1, 2") == [
        (1, "a", 2),
        (1, "c", None),
        (2, "b", None),
    ]
    assert project.rows("select id, v, dbt_valid_to is null from {schema}.s order by 1, 2") == [
        (1, "a", False),
        (1, "c", True),
        (2, "b", False),
    ]
    assert project.tables() == folders_with_rows(project) == {"things", "m", "m__events", "s"}

    if project.file_format == "iceberg":
        monkeypatch.undo()  # as it is in every other test, which saves the time of a purge
        project.dbt("run")
        assert any(name.startswith("m__dbt_tmp") for name in folders_with_rows(project))


def folders_with_rows(project: Project) -> set[str]:
    warehouse = Path(project.spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:"))
    places = {"delta": warehouse / f"{project.schema}.db", "iceberg": warehouse / project.schema}
    folder = places[project.file_format]
    return {path.relative_to(folder).parts[0] for path in folder.rglob("*.parquet")}

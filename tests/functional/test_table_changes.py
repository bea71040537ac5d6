"""table_changes gives one meaning of a table's changes, whatever its format keeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.project import Project

FED = {
    "delta": "using delta tblproperties (delta.enableChangeDataFeed = true)",
    "iceberg": "using iceberg",
}


class Changes:
    """Writes tables of the format under test, and asks for their changes through models."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.feed = FED[project.file_format]

    def create(self, table: str, columns: str, properties: str = "") -> None:
        self.project.sql(f"create table {{schema}}.{table} ({columns}) {self.feed}")

    def versions(self, table: str) -> list[str]:
        """Ids of the table's commits, oldest first."""
        if self.project.file_format == "delta":
            rows = self.project.spark.sql(f"describe history {self.project.schema}.{table}").collect()
            return [str(row["version"]) for row in reversed(rows)]
        rows = self.project.rows(
            f"select cast(snapshot_id as string) from {{schema}}.{table}.snapshots order by committed_at"
        )
        return [row[0] for row in rows]

    def ask(self, **queries: str) -> None:
        """Builds one model for each query text; `{changes}` calls the macro."""
        files = {
            f"models/{name}.sql": "{{ config(materialized='table') }} select * from {{ dbt_cdc.table_changes("
            + call
            + ") }}"
            for name, call in queries.items()
        }
        self.project.write(files)

    def answer(self, name: str, *, images: Callable[[Any], Any] = lambda image: image) -> list[tuple[Any, ...]]:
        """op, before, after of a model's rows, as plain values, in commit order."""
        rows = self.project.spark.sql(f"select * from {self.project.schema}.{name}").collect()
        order = sorted(rows, key=lambda row: (row["ts"], str(row["before"]), str(row["after"])))
        return [(row["op"], plain(row["before"]), plain(row["after"])) for row in order]


def plain(image: Any) -> Any:
    return None if image is None else tuple(image.asDict(recursive=True).values())


@pytest.fixture
def changes(project: Project) -> Changes:
    return Changes(project)


def test_first(changes: Changes) -> None:
    changes.create("x", "id int, v string")
    changes.project.sql("insert into {schema}.x values (1, 'a'), (2, 'b')")
    changes.project.sql("update {schema}.x set v = 'c' where id = 1")
    changes.project.sql("delete from {schema}.x where id = 2")
    call = f"'{changes.project.schema}.x'"
    changes.ask(
        a=call + ", unique_key='id'",
        b=call,
        c=call + ", unique_key='id', format='net'",
        d=call + ", unique_key='id', format='latest_state'",
    )
    changes.project.dbt("run")
    for m in "abcd":
        print(m, changes.answer(m))
    print((changes.project.folder / "target/compiled/consumer/models/d.sql").read_text())
    print((changes.project.folder / "target/compiled/consumer/models/c.sql").read_text())
    assert 0

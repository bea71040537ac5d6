"""The log of apply_changes models, hash_diff models and snapshots: written with its change, streamed, replayed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.changes import Changes
from tests.support.project import Project

APPLIED = """
    {{ config(materialized='apply_changes', unique_key='id',
              meta={'dbt_cdc': {'sequence_by': 'seq', 'apply_as_deletes': "op = 'd'", 'except_column_list': ['op', 'seq'],
                                'change_log': 'data_before_after'}}) }}
    select * from {{ source('given', 'events') }} where batch <= {{ var('batch') }}
"""
REPLAYED = """
    {{ config(materialized='apply_changes', unique_key='id',
              meta={'dbt_cdc': {'sequence_by': 'ts', 'apply_as_deletes': "op = 'd'", 'except_column_list': ['op', 'ts']}}) }}
    select image.*, op, ts
    from (select if(op = 'd', before, after) as image, op, ts from {{ dbt_cdc.companion(ref('applied'), 'changes') }})
"""
HASHED = """
    def model(dbt, spark):
        dbt.config(materialized="hash_diff")
        return dbt.source("given", "rows")
"""
HASHED_SETTINGS = """
    models:
      - name: hashed
        config:
          unique_key: id
          meta: {dbt_cdc: {change_log: key_op, effective_date: "2024-01-0{{ var('batch') }}"}}
"""
SNAPSHOT = """
    snapshots:
      - name: snapped
        relation: source('given', 'rows')
        config: {unique_key: id, strategy: check, check_cols: [v], hard_deletes: invalidate,
                 meta: {dbt_cdc: {change_log: data_before}}}
"""
SOURCES = "sources: [{name: given, schema: '%s', tables: [{name: events}, {name: rows}]}]\n"


def stream(project: Project, checkpoint: Path) -> list[tuple[Any, ...]]:
    """Append what the log has gained to `streamed`; all that is there now."""
    name = f"{project.schema}.applied__changes"
    frame = project.spark.readStream.table(name)
    writer = frame.selectExpr("op", "version", "key.id as id").writeStream.format(project.file_format)
    options = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    options.toTable(f"{project.schema}.streamed").awaitTermination()
    return sorted(project.rows("select op, id from {schema}.streamed"))


def test_logs_of_all_capabilities_are_whole_stream_once_and_replay_exactly(project: Project, tmp_path: Path) -> None:
    changes = Changes(project)
    changes.create("events", "id int, v string, op string, seq int, batch int")
    changes.create("rows", "id int, v string")
    project.sql("create table {schema}.streamed (op string, version string, id int) using " + project.file_format)
    changes.write(
        "events",
        "insert into {t} values (1, 'a', 'u', 1, 1), (2, 'b', 'u', 1, 1), (1, 'c', 'u', 2, 2), (2, null, 'd', 2, 2),"
        " (3, 'e', 'u', 3, 2)",
    )
    project.write(
        {
            "models/applied.sql": APPLIED.replace("['op', 'seq']", "['op', 'seq', 'batch']"),
            "models/replayed.sql": REPLAYED,
            "models/hashed.py": HASHED,
            "models/hashed.yml": HASHED_SETTINGS,
            "models/sources.yml": SOURCES % project.schema,
            "snapshots/snapped.yml": SNAPSHOT,
        }
    )
    changes.write("rows", "insert overwrite {t} values (1, 'a'), (2, 'b')")
    project.dbt("build", "--vars", "{batch: 1}")
    assert stream(project, tmp_path / "checkpoint") == [("i", 1), ("i", 2)]
    changes.write("rows", "insert overwrite {t} values (1, 'c'), (3, 'e')")
    project.dbt("build", "--vars", "{batch: 2}")
    project.dbt("build", "--vars", "{batch: 2}")
    expected = [("d", 2), ("i", 1), ("i", 2), ("i", 3), ("u", 1)]
    assert stream(project, tmp_path / "checkpoint") == expected
    assert stream(project, tmp_path / "checkpoint") == expected

    assert sorted(project.rows("select id, v from {schema}.applied")) == [(1, "c"), (3, "e")]
    assert sorted(project.rows("select id, v from {schema}.replayed")) == [(1, "c"), (3, "e")]
    assert sorted(project.rows("select op, key.id from {schema}.applied__changes")) == expected

    ask = "{{ config(materialized='table') }} select op, before.v, after.v as w, %s as open from {{ dbt_cdc.table_changes(%s) }}"
    project.write(
        {
            "models/of_hashed.sql": ask % ("true", "ref('hashed')"),
            "models/of_snapped.sql": ask % ("after.dbt_valid_to is null", "ref('snapped')"),
        }
    )
    project.dbt("run", "--select", "of_hashed", "of_snapped", "--vars", "{batch: 2}")
    told = [("d", "b", None), ("i", None, "a"), ("i", None, "b"), ("i", None, "e"), ("u", "a", "c")]
    assert sorted(project.rows("select op, v, w from {schema}.of_hashed"), key=str) == told
    assert sorted(project.rows("select op, v, w, open from {schema}.of_snapped"), key=str) == [
        ("i", None, "a", True),
        ("i", None, "b", True),
        ("i", None, "c", True),
        ("i", None, "e", True),
        ("u", "a", "a", False),
        ("u", "b", "b", False),
    ]
    assert len(project.rows("select * from {schema}.hashed__changes")) == 5
    assert len(project.rows("select * from {schema}.snapped__changes")) == 6

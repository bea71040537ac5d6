"""Every option of dbt's snapshots, alone and combined, with operational metadata over four runs."""

from __future__ import annotations

from datetime import datetime, timezone
from itertools import pairwise
from typing import Any

import pytest
import yaml

from tests.support.project import Project
from tests.support.snapshots import SOURCES, check_times, run_id, snapshot, supply

ON = {"dbt_cdc": {"operational_metadata": True}}
TIMESTAMP = {"strategy": "timestamp", "updated_at": "updated_at", "meta": ON}
CHECK = {"strategy": "check", "check_cols": ["name"], "meta": ON}
COMPOSITE = {"unique_key": ["a", "b"]}
RENAMED = {
    "snapshot_meta_column_names": {
        "dbt_valid_from": "valid_from",
        "dbt_valid_to": "VALID_TO",
        "dbt_scd_id": "scd_id",
        "dbt_updated_at": "written_at",
        "dbt_is_deleted": "is_deleted",
    }
}
HIGH_VALID_TO = {"dbt_valid_to_current": "to_timestamp('9999-01-01')"}

SNAPSHOTS: dict[str, dict[str, Any]] = {
    "ts_ignore": {**TIMESTAMP, "unique_key": "a * 10 + b"},
    "ts_renamed": {**TIMESTAMP, "unique_key": "a * 10 + b", **RENAMED},
    "ts_high": {**TIMESTAMP, "unique_key": "a * 10 + b", **HIGH_VALID_TO},
    "ts_invalidate": {**TIMESTAMP, **COMPOSITE, "hard_deletes": "invalidate"},
    "ts_new_record": {**TIMESTAMP, **COMPOSITE, "hard_deletes": "new_record"},
    "ts_all_at_once": {**TIMESTAMP, **COMPOSITE, **RENAMED, **HIGH_VALID_TO, "hard_deletes": "new_record"},
    "check_ignore": {**CHECK, **COMPOSITE, **HIGH_VALID_TO},
    "check_renamed": {**CHECK, **COMPOSITE, **RENAMED, **HIGH_VALID_TO, "hard_deletes": "invalidate"},
    "check_off": {**CHECK, **COMPOSITE, "hard_deletes": "new_record", "meta": {}, "check_cols": "all"},
    # (1, 1) and (1, 2), or ('1|y', 'z') and ('1', 'y|z'), which dbt writes alike
    "own_parts": {
        **TIMESTAMP,
        "strategy": "by_id",
        "unique_key": ["if(b = 1, concat(a, '|y'), string(a))", "if(b = 1, 'z', 'y|z')"],
        "hard_deletes": "invalidate",
    },
    "own_strategy": {
        **TIMESTAMP,
        "strategy": "by_name",
        "unique_key": "concat(a, '-', b)",
        "hard_deletes": "invalidate",
    },
    # the timestamp strategy by another name, and what `hard_deletes: invalidate` was called before
    "own_times": {
        **TIMESTAMP,
        **COMPOSITE,
        "strategy": "dbt.timestamp",
        "invalidate_hard_deletes": True,
        "meta": {"dbt_cdc": {"operational_metadata": True, "max_delete_fraction": 1}},
    },
}

#: the SQL is the same on each format: on other ones than Iceberg these show that the format's writes are
ELSEWHERE = {"ts_all_at_once", "check_renamed", "check_off"}

#: strategies as a project may bring them
BY_NAME = """
{% macro snapshot_by_name_strategy(node, snapshotted_rel, current_rel, model_config, target_exists) %}
    {% set key = config.get('unique_key') %}
    {% do return({
        'unique_key': key,
        'updated_at': 'updated_at',
        'row_changed': snapshotted_rel ~ '.name <> ' ~ current_rel ~ '.name',
        'scd_id': snapshot_hash_arguments([key, 'updated_at', 'name']),
        'hard_deletes': config.get('hard_deletes'),
    }) %}
{% endmacro %}

{% macro snapshot_by_id_strategy(node, snapshotted_rel, current_rel, model_config, target_exists) %}
    {% set stock = dbt.snapshot_timestamp_strategy(node, snapshotted_rel, current_rel, model_config, target_exists) %}
    {% do return(dict(stock, row_changed=snapshotted_rel ~ '.dbt_scd_id <> ' ~ current_rel ~ '.dbt_scd_id')) %}
{% endmacro %}
"""

COLUMNS = "a, b, name, updated_at"
DAYS = [
    "(1, 1, 'ann', timestamp '2024-01-01'), (1, 2, 'bob', timestamp '2024-01-01'), "
    "(2, 1, 'cid', timestamp '2024-01-01')",
    "(1, 1, 'ann2', timestamp '2024-01-02'), (1, 2, 'bob', timestamp '2024-01-01'), "
    "(3, 1, 'dan', timestamp '2024-01-02')",
    # 2-1 returns with the updated_at that it had when it went
    "(1, 1, 'ann2', timestamp '2024-01-02'), (1, 2, 'bob', timestamp '2024-01-01'), "
    "(2, 1, 'cid', timestamp '2024-01-01'), (3, 1, 'dan', timestamp '2024-01-02')",
    # and then changes, at a time long before the run that saw it return
    "(1, 1, 'ann2', timestamp '2024-01-02'), (1, 2, 'bob', timestamp '2024-01-01'), "
    "(2, 1, 'cid4', timestamp '2024-01-03'), (3, 1, 'dan', timestamp '2024-01-02')",
]

SAME_FOR_ALL = [(1, 1, "ann", 1, 2), (1, 1, "ann2", 2, None), (1, 2, "bob", 1, None), (3, 1, "dan", 2, None)]
#: a, b, name, run that wrote, run that closed
EXPECTED = {
    "ignore": [*SAME_FOR_ALL, (2, 1, "cid", 1, 4), (2, 1, "cid4", 4, None)],
    "invalidate": [*SAME_FOR_ALL, (2, 1, "cid", 1, 2), (2, 1, "cid", 3, 4), (2, 1, "cid4", 4, None)],
    "new_record": [
        *SAME_FOR_ALL,
        (2, 1, "cid", 1, 2),
        (2, 1, "cid", 2, 3),
        (2, 1, "cid", 3, 4),
        (2, 1, "cid4", 4, None),
    ],
}


def write_project(project: Project, names: set[str]) -> None:
    entries = []
    for name in sorted(names):
        config = SNAPSHOTS[name]
        columns = RENAMED["snapshot_meta_column_names"] if "snapshot_meta_column_names" in config else {}
        valid_from, valid_to = (
            columns.get("dbt_valid_from", "dbt_valid_from"),
            columns.get("dbt_valid_to", "dbt_valid_to"),
        )
        high = f" or {valid_to} = {config['dbt_valid_to_current']}" if "dbt_valid_to_current" in config else ""
        key, is_open = config["unique_key"], f"{valid_to} is null{high}"
        versions = {"unique_key": key, "valid_from": valid_from, "valid_to": valid_to}
        tests: list[dict[str, Any]] = [
            {"dbt_cdc.one_open_record_per_key": {"arguments": {"unique_key": key, "is_open": is_open}}},
            {"dbt_cdc.no_overlapping_versions": {"arguments": versions}},
        ]
        if config["meta"]:
            tests += [
                {"dbt_cdc.open_records_carry_high_date": {"arguments": {"is_open": is_open}}},
                {"dbt_cdc.closed_records_carry_process_id": {"arguments": {"is_open": is_open}}},
            ]
        entries.append({"name": name, "relation": "source('raw', 'things')", "config": config, "data_tests": tests})
    project.write(
        {
            "models/sources.yml": SOURCES,
            "macros/by_name.sql": BY_NAME,
            "snapshots/s.yml": yaml.safe_dump({"snapshots": entries}),
        }
    )


def test_each_combination_writes_and_closes_what_it_must_over_four_runs(project: Project) -> None:
    names = set(SNAPSHOTS) if project.file_format == "iceberg" else ELSEWHERE
    write_project(project, names)
    runs, times = {}, {}
    for day, rows in enumerate(DAYS, 1):
        supply(project, rows, COLUMNS)
        began = datetime.now()
        runs[snapshot(project)] = day
        times[day] = (began, datetime.now())
    project.dbt("test")

    for name in names:
        config = SNAPSHOTS[name]
        unnamed = "invalidate" if config.get("invalidate_hard_deletes") else "ignore"
        expected = sorted(EXPECTED[config.get("hard_deletes", unnamed)], key=repr)
        scd_id = "scd_id" if "snapshot_meta_column_names" in config else "dbt_scd_id"
        count, ids = project.rows(f"select count(*), count(distinct {scd_id}) from {{schema}}.{name}")[0]
        assert count == ids == len(expected), name
        if not config["meta"]:
            assert project.rows(f"select name from {{schema}}.{name} order by name") == [
                (row[2],) for row in sorted(expected, key=lambda row: row[2])
            ]
            continue
        rows = project.rows(f"select a, b, name, insert_process_id, update_process_id from {{schema}}.{name}")
        by_run = [(a, b, n, runs[wrote], runs.get(closed)) for a, b, n, wrote, closed in rows]
        assert sorted(by_run, key=repr) == expected, name
        renamed = config.get("snapshot_meta_column_names", {})
        columns = [renamed.get(column, column) for column in ("dbt_valid_from", "dbt_valid_to")]
        open_end = datetime(9999, 1, 1) if "dbt_valid_to_current" in config else None
        check_times(project, name, {run: times[day] for run, day in runs.items()}, open_end, columns)
    assert project.tables() == {"things", *names}
    # whether a new key was there before is asked of the records that ended since the least time of new keys
    for day in (2, 1):
        assert (
            f"(`dbt_valid_from` >= cast('2024-01-0{day} 00:00:00' as timestamp" in project.log() or names == ELSEWHERE
        )

    deleted = "select name, is_deleted from {schema}.ts_all_at_once where a = 2 order by insert_timestamp"
    assert project.rows(deleted) == [("cid", "False"), ("cid", "True"), ("cid", "False"), ("cid4", "False")]
    assert [name for name, _ in project.columns("check_off")] == [
        "a", "b", "name", "updated_at",
        "dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to", "dbt_is_deleted",
    ]  # fmt: skip


#: Changes whose updated_at is NULL, and days for times: what was, and must be, cut at the times of the runs.
CUT = """
snapshots:
  - name: by_check
    relation: source('raw', 'things')
    config: {unique_key: id, strategy: check, check_cols: [status], updated_at: at, hard_deletes: invalidate}
  - name: by_time
    relation: source('raw', 'things')
    config: {unique_key: id, strategy: timestamp, updated_at: at, hard_deletes: new_record}
  - name: by_day
    relation: source('raw', 'things')
    config: {unique_key: id, strategy: timestamp, updated_at: day, hard_deletes: invalidate}
"""


@pytest.mark.one_format("iceberg")
def test_a_missing_or_coarse_updated_at_leaves_one_open_record_and_no_overlap(project: Project) -> None:
    # `--sample` takes rows of a window of this time
    project.write({"models/sources.yml": SOURCES.replace("name: things", "name: things, config: {event_time: at}")})
    project.write({"snapshots/s.yml": CUT})
    project.configure(snapshots={"+meta": ON})
    today = f"date'{datetime.now(timezone.utc).date()}'"
    first, null = f"timestamp '2024-01-01', {today}", "cast(null as timestamp)"
    days = [
        f"(1, 'a', {first}), (2, 'a', {first})",
        f"(1, 'b', {null}, {today})",
        f"(1, 'b', {null}, {today}), (2, 'a', {null}, {today})",
        f"(1, 'b', {null}, {today}), (2, 'c', timestamp '2100-01-01', {today})",
    ]
    runs = {}
    for day, rows in enumerate(days, 1):
        supply(project, rows, "id, status, at, day")
        runs[snapshot(project)] = day
    # a sample lacks rows: nothing is closed
    project.dbt("build", "--select", "resource_type:snapshot", "--sample", "{start: '2099-12-31', end: '2100-01-02'}")
    runs[run_id(project)] = 5

    # id, status, run that wrote, run that closed
    for name, expected in {
        "by_check": [(1, "a", 1, 2), (1, "b", 2, None), (2, "a", 1, 2), (2, "a", 3, 4), (2, "c", 4, None)],
        "by_time": [(1, "a", 1, None), (2, "a", 1, 2), (2, "a", 2, 3), (2, "a", 3, 4), (2, "c", 4, None)],
        "by_day": [(1, "a", 1, None), (2, "a", 1, 2), (2, "a", 3, None)],
    }.items():
        rows = project.rows(f"select id, status, insert_process_id, update_process_id from {{schema}}.{name}")
        by_run = [(key, status, runs[wrote], runs.get(closed)) for key, status, wrote, closed in rows]
        assert sorted(by_run, key=repr) == sorted(expected, key=repr), name
        ids = project.rows(f"select count(distinct dbt_scd_id) from {{schema}}.{name}")
        assert ids == [(len(expected),)], name
        times = f"select id, dbt_valid_from, dbt_valid_to from {{schema}}.{name} order by 1, 2, 3 nulls last"
        versions = project.rows(times)
        for (key, _, end), (next_key, start, _) in pairwise(versions):
            assert key != next_key or end <= start, (name, versions)


#: A second table of one name, in a schema of its own, which gets a column with an odd name later.
PLAIN = """
    {% snapshot plain %}
    {{ config(unique_key='id', strategy='check', check_cols='all', alias='odd', schema='b') }}
    select 1 as id LATER
    {% endsnapshot %}
"""


def test_names_of_any_kind_and_columns_that_come_later_are_kept(project: Project) -> None:
    project.write(
        {
            "models/sources.yml": SOURCES,
            "models/passed_on.sql": """
                {{ config(materialized='ephemeral') }}
                select * from {{ source('raw', 'things') }}
            """,
            "snapshots/plain.sql": PLAIN.replace("LATER", ""),
            "snapshots/s.sql": """
                {% snapshot odd %}
                {{ config(unique_key='`order id`', strategy='check', check_cols='all', hard_deletes='new_record') }}
                select * from {{ ref('passed_on') }} -- all of it {% endsnapshot %}
            """,
        }
    )
    project.configure(
        snapshots={"+meta": {"dbt_cdc": {"operational_metadata": True}}},
        vars={
            "operational_metadata_columns": {"insert_process_id": "Job", "update_process_id": "closed by"},
            "dbt_cdc": {"default_high_dttm": "9999-12-31"},
        },
    )
    rows = "('o''1', 1, 'x'), ('o2', 2, 'y')"
    mapping = "tblproperties ('delta.columnMapping.mode' = 'name')" if project.file_format == "delta" else ""
    odd = "`order id`, `select`, `Straße.ä`"
    make = "create or replace table {schema}.things using %s %s as select * from values %s as t(%s)"
    project.sql(make % (project.file_format, mapping, rows.replace("''", "\\'"), odd))
    threads = ("--threads", "2")
    first = snapshot(project, *threads)
    project.write({"snapshots/plain.sql": PLAIN.replace("LATER", ", 2 as `unit price`")})
    project.sql(make % (project.file_format, mapping, "('o2', 2, 'y', true)", odd + ", later"))
    second = snapshot(project, *threads)
    project.sql(make % (project.file_format, mapping, "('o2', 3, 'y', true)", odd + ", later"))
    third = snapshot(project, *threads)

    assert project.rows(
        "select `order id`, `select`, `Straße.ä`, later, dbt_is_deleted, Job, `closed by` from {schema}.odd "
        "order by `order id`, insert_timestamp"
    ) == [
        ("o'1", 1, "x", None, "False", first, second),
        ("o'1", 1, "x", None, "True", second, None),
        ("o2", 2, "y", None, "False", first, second),
        ("o2", 2, "y", True, "False", second, third),
        ("o2", 3, "y", True, "False", third, None),
    ]
    is_open = "effective_end_timestamp = timestamp_ntz '9999-12-31 00:00:00'"
    assert project.rows(f"select count(*) from {{schema}}.odd where {is_open}") == [(2,)]
    assert project.tables() == {"things", "odd"}
    assert project.rows("select id, `unit price`, Job from {schema}_b.odd order by insert_timestamp") == [
        (1, None, first),
        (1, 2, second),
    ]
    project.sql("drop table {schema}_b.odd")
    project.sql("drop schema {schema}_b")

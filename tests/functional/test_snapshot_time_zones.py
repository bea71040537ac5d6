"""Whatever the zones of writer and reader, the open records can be read and found."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import duckdb
import pyarrow as pa
import pytest

from tests.support.places import in_zone, write_zone
from tests.support.project import Project
from tests.support.snapshots import HIGH, SOURCES, snapshot, supply

ZONES = ["Pacific/Kiritimati", "Australia/Melbourne", "UTC", "Etc/GMT+12"]
EPOCH = datetime(1970, 1, 1)
FOUND = "effective_end_timestamp = timestamp_ntz '9999-12-31 23:59:59.999999'"
#: The last keeps its effective columns as instants, with a high date that can be shown in every zone.
CONFIG = """
snapshots:
  - name: instants
    relation: source('raw', 'things')
    config:
      unique_key: id
      strategy: timestamp
      updated_at: at
      hard_deletes: invalidate
      meta: {dbt_cdc: {operational_metadata: true}}
  - name: wall_clocks
    relation: source('raw', 'things')
    config:
      unique_key: id
      strategy: timestamp
      updated_at: local_at
      hard_deletes: invalidate
      meta: {dbt_cdc: {operational_metadata: true}}
  - name: kept_as_instants
    relation: source('raw', 'things')
    config:
      unique_key: id
      strategy: timestamp
      updated_at: local_at
      hard_deletes: invalidate
      meta: {dbt_cdc: {operational_metadata: true, effective_timestamp_type: timestamp}}
"""
SNAPSHOT_OF_HOURS = """
snapshots:
  - name: s
    relation: source('raw', 'things')
    config:
      unique_key: id
      strategy: timestamp
      updated_at: at
      meta: {dbt_cdc: {change_log: key_op}}
"""
KEPT = ("kept_as_instants", "--vars", "{default_high_dttm: '9999-12-30'}")
#: How docs/snapshots.md compares the package's times with dbt's own, whatever the session's zone.
DIFFER = "count_if(convert_timezone('UTC', current_timezone(), effective_start_timestamp) <> cast(dbt_valid_from as timestamp_ntz))"
#: The times that a run writes by itself, beside that time as an instant: 4 was closed in Melbourne and returned in
#: Etc/GMT+12, where 5 was closed.
BY_RUN = """
select id, effective_end_timestamp, cast(dbt_valid_to as timestamp_ntz), unix_micros(update_timestamp) from {schema}.TABLE
where id >= 4 and not (FOUND)
union all
select id, effective_start_timestamp, cast(dbt_valid_from as timestamp_ntz), unix_micros(insert_timestamp)
from {schema}.TABLE where id = 4 and FOUND
""".replace("FOUND", FOUND)


def second_engine(project: Project, table: str, end: str = "effective_end_timestamp") -> list[tuple[object, ...]]:
    """The open records through DuckDB, over delta-rs or over the data files.

    pyarrow, which is below delta-rs, takes instants that Spark has written for nanoseconds: DuckDB reads those itself.
    """
    query = f"select id, {end} from t where dbt_valid_to is null order by id"
    if project.file_format == "iceberg":
        files = [row[0] for row in project.rows(f"select file_path from {{schema}}.{table}.files")]
        t = duckdb.read_parquet([file.removeprefix("file:") for file in files])
        return duckdb.sql(query).fetchall()
    from deltalake import DeltaTable

    delta = DeltaTable(project.place(table))
    t = duckdb.read_parquet(delta.file_uris()) if table == KEPT[0] else delta.to_pyarrow_dataset()  # noqa: F841
    return duckdb.sql(query).fetchall()


@pytest.mark.one_format("delta")
def test_open_records_are_read_and_found_in_every_pairing_of_zones(project: Project) -> None:
    project.write({"models/sources.yml": SOURCES, "snapshots/s.yml": CONFIG})
    rows = [f"({n}, 0, timestamp '2024-03-01 00:00:00Z', timestamp_ntz '2024-03-01 00:00:00')" for n in range(6)]
    zone_of_tests = project.spark.conf.get("spark.sql.session.timeZone")
    there = [{4, 5}, {5}, {5}, {4}]
    try:
        for n, zone in enumerate(ZONES):
            rows[n] = f"({n}, 1, timestamp '2024-04-0{n + 1} 15:30:00Z', timestamp_ntz '2024-04-0{n + 1} 15:30:00')"
            supplied = [row for key, row in enumerate(rows) if key < 4 or key in there[n]]
            supply(project, ", ".join(supplied), "id, version, at, local_at")
            write_zone(project, zone)
            snapshot(project, "--exclude", KEPT[0])
            if n in (0, 3):
                snapshot(project, "--select", *KEPT)
        for zone in ZONES:
            project.spark.conf.set("spark.sql.session.timeZone", zone)
            for table in ("instants", "wall_clocks"):
                check(project, table, zone)
            check_instants(project, zone)
    finally:
        project.spark.conf.set("spark.sql.session.timeZone", str(zone_of_tests))


@pytest.mark.one_format("delta")
def test_versions_of_times_that_clocks_show_twice_have_ids_of_their_own(project: Project) -> None:
    project.write({"models/sources.yml": SOURCES, "snapshots/s.yml": SNAPSHOT_OF_HOURS})
    with in_zone(project, "America/New_York"):
        for at in ("05:30", "06:00", "06:30", "07:30"):
            supply(project, f"(1, timestamp '2024-11-03 {at}:00Z')", "id, at")
            snapshot(project)
        versions = project.rows(
            "select cast(dbt_valid_from as string), unix_seconds(dbt_valid_from) % 86400 / 3600, dbt_valid_to is null from"
            " {schema}.s order by 2"
        )
    assert versions == [
        ("2024-11-03 01:30:00", 5.5, False),
        ("2024-11-03 01:00:00", 6.0, False),
        ("2024-11-03 01:30:00", 6.5, False),
        ("2024-11-03 02:30:00", 7.5, True),
    ]
    with in_zone(project, "America/Los_Angeles"):  # shows of the next what New York showed of the last
        supply(project, "(1, timestamp '2024-11-03 10:30:00Z')", "id, at")
        snapshot(project)
    assert project.rows("select count(distinct dbt_scd_id) from {schema}.s") == [(5,)]
    assert project.rows("select op, count(*) from {schema}.s__changes group by op order by op") == [("i", 5), ("u", 4)]


def check(project: Project, table: str, zone: str) -> None:
    where = (table, zone)
    columns = "id, effective_start_timestamp, effective_end_timestamp"
    found = project.spark.sql(f"select {columns} from {project.schema}.{table} where {FOUND} order by id")
    expected = [(n, datetime(2024, 4, n + 1, 15, 30), HIGH) for n in range(4)]
    rows = [tuple(row) for row in found.collect()]
    assert rows[:4] == expected and [(row[0], row[2]) for row in rows[4:]] == [(4, HIGH)], where
    arrow = found.toArrow()
    assert arrow.column("effective_end_timestamp").to_pylist() == [HIGH] * 5, where
    assert arrow.schema.field("effective_end_timestamp").type == pa.timestamp("us"), where
    frame = arrow.to_pandas()  # pyspark's own toPandas makes nanoseconds, which end in 2262
    assert [str(value) for value in frame["effective_end_timestamp"]] == ["9999-12-31 23:59:59.999999"] * 5, where
    assert second_engine(project, table) == [(n, HIGH) for n in range(5)], where
    open_by_dbt = f"select count(*) from {{schema}}.{table} where dbt_valid_to is null and not ({FOUND})"
    assert project.rows(open_by_dbt) == [(0,)], where
    closed = f"select effective_end_timestamp, unix_micros(dbt_valid_to) from {{schema}}.{table} where not ({FOUND})"
    for end, micros in project.rows(closed) if table == "instants" else []:
        assert end == EPOCH + timedelta(microseconds=micros), where
    if table == "instants":
        assert project.rows(f"select {DIFFER} from {{schema}}.{table}") == [(0,)], where
    by_run = project.rows(BY_RUN.replace("TABLE", table))
    assert sorted(row[0] for row in by_run) == [4, 4, 5], where
    for _, effective, by_dbt, micros in by_run:
        assert effective == EPOCH + timedelta(microseconds=micros), where
        assert table == "instants" or by_dbt == effective, where


def check_instants(project: Project, zone: str) -> None:
    high = datetime(9999, 12, 30, tzinfo=timezone.utc)
    found = project.spark.sql(
        f"select id, unix_micros(effective_start_timestamp) as starts, effective_end_timestamp as ends "
        f"from {project.schema}.{KEPT[0]} where effective_end_timestamp = timestamp '9999-12-30 00:00:00Z' order by id"
    )
    assert [row.ends.astimezone(timezone.utc) for row in found.collect()] == [high] * 5, zone
    arrow = found.toArrow()
    assert arrow.column("id").to_pylist() == [0, 1, 2, 3, 4], zone
    starts = [EPOCH + timedelta(microseconds=micros) for micros in arrow.column("starts").to_pylist()]
    assert starts == [datetime(2024, 4, n + 1, 15, 30) for n in range(4)] + [datetime(2024, 3, 1)], zone
    assert arrow.column("ends").to_pylist() == [high] * 5, zone
    micros = (high.replace(tzinfo=None) - EPOCH) // timedelta(microseconds=1)
    assert second_engine(project, KEPT[0], "epoch_us(effective_end_timestamp)") == [(n, micros) for n in range(5)], zone
    deleted = "select id, effective_end_timestamp = update_timestamp from {schema}.kept_as_instants where id > 4"
    assert project.rows(deleted) == [(5, True)], zone

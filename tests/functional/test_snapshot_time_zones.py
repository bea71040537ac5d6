"""Whatever the zones of writer and reader, the open records can be read and found."""

from __future__ import annotations

from datetime import datetime

import duckdb
import pyarrow as pa
import pytest
import yaml

from tests.support.project import Project
from tests.support.snapshots import HIGH, SOURCES, snapshot, supply

ZONES = ["Pacific/Kiritimati", "Australia/Melbourne", "UTC", "Etc/GMT+12"]
FOUND = "effective_end_timestamp = timestamp_ntz '9999-12-31 23:59:59.999999'"
CONFIG = """
snapshots:
  - name: instants
    relation: source('raw', 'things')
    config:
      unique_key: id
      strategy: timestamp
      updated_at: at
      meta: {dbt_cdc: {operational_metadata: true}}
  - name: wall_clocks
    relation: source('raw', 'things')
    config:
      unique_key: id
      strategy: timestamp
      updated_at: local_at
      meta: {dbt_cdc: {operational_metadata: true}}
"""


def write_in(project: Project, zone: str) -> None:
    """dbt's session applies the profile's settings to the session, the zone too."""
    file = project.folder / "profiles.yml"
    profiles = yaml.safe_load(file.read_text())
    profiles["consumer"]["outputs"]["test"]["server_side_parameters"]["spark.sql.session.timeZone"] = zone
    file.write_text(yaml.safe_dump(profiles))


def second_engine(project: Project, table: str) -> list[tuple[object, ...]]:
    """The table through DuckDB, over delta-rs or over Iceberg's own data files."""
    query = "select id, effective_end_timestamp from t where dbt_valid_to is null order by id"
    if project.file_format == "delta":
        from deltalake import DeltaTable

        detail = project.spark.sql(f"describe detail {project.schema}.{table}").collect()[0]
        t = DeltaTable(detail["location"]).to_pyarrow_dataset()
        return duckdb.sql(query).fetchall()
    files = [row[0] for row in project.rows(f"select file_path from {{schema}}.{table}.files")]
    t = duckdb.read_parquet([file.removeprefix("file:") for file in files])  # noqa: F841
    return duckdb.sql(query).fetchall()


def test_open_records_are_read_and_found_in_every_pairing_of_zones(project: Project) -> None:
    project.write({"models/sources.yml": SOURCES, "snapshots/s.yml": CONFIG})
    rows = [f"({n}, 0, timestamp '2024-03-01 00:00:00Z', timestamp_ntz '2024-03-01 00:00:00')" for n in range(4)]
    zone_of_tests = project.spark.conf.get("spark.sql.session.timeZone")
    try:
        for n, zone in enumerate(ZONES):
            rows[n] = f"({n}, 1, timestamp '2024-04-0{n + 1} 15:30:00Z', timestamp_ntz '2024-04-0{n + 1} 15:30:00')"
            supply(project, ", ".join(rows), "id, version, at, local_at")
            write_in(project, zone)
            snapshot(project)
        for zone in ZONES:
            project.spark.conf.set("spark.sql.session.timeZone", zone)
            for table in ("instants", "wall_clocks"):
                check(project, table, zone)
    finally:
        project.spark.conf.set("spark.sql.session.timeZone", str(zone_of_tests))


def check(project: Project, table: str, zone: str) -> None:
    where = (table, zone)
    columns = "id, effective_start_timestamp, effective_end_timestamp"
    found = project.spark.sql(f"select {columns} from {project.schema}.{table} where {FOUND} order by id")
    expected = [(n, datetime(2024, 4, n + 1, 15, 30), HIGH) for n in range(4)]
    assert [tuple(row) for row in found.collect()] == expected, where
    arrow = found.toArrow()
    assert arrow.column("effective_end_timestamp").to_pylist() == [HIGH] * 4, where
    assert arrow.schema.field("effective_end_timestamp").type == pa.timestamp("us"), where
    frame = arrow.to_pandas()  # pyspark's own toPandas makes nanoseconds, which end in 2262
    assert [str(value) for value in frame["effective_end_timestamp"]] == ["9999-12-31 23:59:59.999999"] * 4, where
    assert second_engine(project, table) == [(n, HIGH) for n in range(4)], where
    open_by_dbt = f"select count(*) from {{schema}}.{table} where dbt_valid_to is null and not ({FOUND})"
    assert project.rows(open_by_dbt) == [(0,)], where
    closed = f"select effective_end_timestamp, unix_micros(dbt_valid_to) from {{schema}}.{table} where not ({FOUND})"
    for end, micros in project.rows(closed) if table == "instants" else []:
        assert (end - datetime(1970, 1, 1)).total_seconds() == pytest.approx(micros / 1e6), where

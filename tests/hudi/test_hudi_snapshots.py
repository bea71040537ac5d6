"""Snapshots on Hudi: what works, and what dbt-spark or Hudi refuses."""

from __future__ import annotations

import re

import pytest

from tests.support.project import Project
from tests.support.snapshots import HIGH, run_id, snapshot

pytestmark = pytest.mark.only_format("hudi")

SNAPSHOT = """
    snapshots:
      - name: {name}
        relation: source('raw', 'things')
        config: {{unique_key: {key}, strategy: check, check_cols: [status], {config}}}
"""
METADATA = "meta: {dbt_cdc: {operational_metadata: true}}"


@pytest.fixture
def project(project: Project) -> Project:
    """As Hudi comes: it tells the catalog of every write, which is what makes timestamp_ntz columns possible."""
    profiles = project.folder / "profiles.yml"
    text = profiles.read_text()
    profiles.write_text(re.sub("(hoodie.*sync.enable): .*", r"\1: 'true'", text))
    project.write(
        {"models/sources.yml": "sources: [{name: raw, schema: '{{ target.schema }}', tables: [{name: things}]}]"}
    )
    return project


def supply(project: Project, rows: str) -> None:
    project.sql(f"create or replace view {{schema}}.things as select * from values {rows} as t(id, part, status)")


def test_metadata_composite_keys_and_every_kind_of_delete(project: Project) -> None:
    for name, key, config in (
        ("single", "id", f"hard_deletes: invalidate, {METADATA}"),
        ("composite", "[id, part]", f"hard_deletes: new_record, {METADATA}"),
        ("stock", "id", "hard_deletes: ignore"),
    ):
        project.write({f"snapshots/{name}.yml": SNAPSHOT.format(name=name, key=key, config=config)})
    timed = SNAPSHOT.format(name="timed", key="id", config="hard_deletes: invalidate").replace(
        "check, check_cols: [status]", "timestamp, updated_at: \"timestamp '2020-01-01'\""
    )
    project.write({"snapshots/timed.yml": timed})
    supply(project, "(1, 'x', 'NEW'), (2, 'x', 'NEW'), (3, 'x', 'NEW')")
    day_0 = snapshot(project)
    supply(project, "(1, 'x', 'OLD'), (3, 'x', 'NEW')")
    day_1 = snapshot(project)
    supply(project, "(1, 'x', 'OLD'), (2, 'x', 'NEW'), (3, 'x', 'NEW')")
    day_2 = snapshot(project)

    query = (
        "select id, status{more}, insert_process_id, update_process_id from {{schema}}.{table} "
        "order by id, insert_timestamp"
    )
    assert project.rows(query.format(more="", table="single")) == [
        (1, "NEW", day_0, day_1),
        (1, "OLD", day_1, None),
        (2, "NEW", day_0, day_1),
        (2, "NEW", day_2, None),
        (3, "NEW", day_0, None),
    ]
    assert project.rows(query.format(more=", part, dbt_is_deleted", table="composite")) == [
        (1, "NEW", "x", "False", day_0, day_1),
        (1, "OLD", "x", "False", day_1, None),
        (2, "NEW", "x", "False", day_0, day_1),
        (2, "NEW", "x", "True", day_1, day_2),
        (2, "NEW", "x", "False", day_2, None),
        (3, "NEW", "x", "False", day_0, None),
    ]
    # a row that returns with its old time
    assert project.rows("select id, dbt_valid_to is null from {schema}.timed order by id, dbt_valid_from") == [
        (1, True),
        (2, False),
        (2, True),
        (3, True),
    ]
    assert project.rows("select id, status, dbt_valid_to is null from {schema}.stock order by id, dbt_valid_from") == [
        (1, "NEW", False),
        (1, "OLD", True),
        (2, "NEW", True),
        (3, "NEW", True),
    ]
    columns = "effective_start_timestamp, dbt_valid_from, effective_end_timestamp, dbt_valid_to, update_timestamp"
    for table in ("single", "composite"):
        for start, valid_from, end, valid_to, updated in project.rows(f"select {columns} from {{schema}}.{table}"):
            assert (start, end) == (valid_from, HIGH if valid_to is None else valid_to)
            assert updated == valid_to
    types = dict(project.columns("single"))
    assert types["effective_end_timestamp"] == types["effective_start_timestamp"] == "timestamp_ntz"
    assert "dbt_is_deleted" not in dict(project.columns("stock"))


def test_without_the_package_dbt_needs_a_record_key_of_its_own(project: Project) -> None:
    project.configure(dispatch=False)
    key = "tblproperties: {primaryKey: dbt_scd_id}"
    project.write({"snapshots/good.yml": SNAPSHOT.format(name="good", key="id", config=key)})
    project.write({"snapshots/bad.yml": SNAPSHOT.format(name="bad", key="id", config="enabled: true")})
    other = "tblproperties: {primaryKey: dbt_scd_id, type: mor}, partition_by: part"
    project.write({"snapshots/other.yml": SNAPSHOT.format(name="other", key="id", config=other)})
    supply(project, "(1, 'x', 'NEW'), (2, 'x', 'NEW')")
    project.dbt("snapshot")
    supply(project, "(1, 'x', 'OLD'), (2, 'x', 'NEW')")
    project.dbt("snapshot", "--select", "good", "bad")

    state = "select id, status, dbt_valid_to is null from {schema}.%s order by id, dbt_valid_from"
    assert project.rows(state % "good") == [(1, "NEW", False), (1, "OLD", True), (2, "NEW", True)]
    # dbt-spark makes the unique_key the record key: the record is closed, and where is the new one?
    assert project.rows(state % "bad") == [(1, "NEW", False), (2, "NEW", True)]

    project.configure()
    message = project.error("snapshot", "--select", "bad", "other")
    assert "is id, expected dbt_scd_id: Hudi keeps one row for each record key" in message
    assert "other is merge-on-read, expected copy-on-write" in message
    assert "other is partitioned by part, expected no partitions" in message
    assert message.count("drop the table, and leave") == 3
    assert project.rows(state % "bad") == [(1, "NEW", False), (2, "NEW", True)]


def test_history_is_adopted_and_tables_that_can_have_none_are_refused_before_they_are_made(project: Project) -> None:
    project.write({"snapshots/grown.yml": SNAPSHOT.format(name="grown", key="id", config="hard_deletes: ignore")})
    other = "tblproperties: {primaryKey: id, type: mor}, partition_by: [part]"
    project.write({"snapshots/other.yml": SNAPSHOT.format(name="other", key="id", config=other)})
    supply(project, "(1, 'x', 'NEW')")
    message = project.error("snapshot")
    assert "other is id, expected dbt_scd_id: Hudi keeps one row for each record key" in message
    assert "other is merge-on-read, expected copy-on-write" in message
    assert "other is partitioned by part, expected no partitions" in message
    assert project.tables() == {"things", "grown"}
    project.remove("snapshots/other.yml")
    supply(project, "(1, 'x', 'OLD')")
    project.dbt("snapshot")

    adopt = ["run-operation", "adopt_operational_metadata", "--args", "{snapshot: grown}"]
    project.write({"snapshots/grown.yml": SNAPSHOT.format(name="grown", key="id", config=METADATA)})
    columns = project.columns("grown")
    project.error(*adopt)
    assert "can't get columns of type timestamp_ntz, which Hive's metastore does not know" in project.log()
    assert project.columns("grown") == columns
    config = "meta: {dbt_cdc: {operational_metadata: true, effective_timestamp_type: timestamp}}"
    project.write({"snapshots/grown.yml": SNAPSHOT.format(name="grown", key="id", config=config)})
    project.dbt(*adopt)
    supply(project, "(1, 'x', 'THIRD')")
    project.dbt("snapshot")
    rows = project.rows(
        "select status, update_process_id is null, effective_end_timestamp = dbt_valid_to from {schema}.grown "
        "order by dbt_valid_from"
    )
    assert rows == [("NEW", False, True), ("OLD", False, True), ("THIRD", True, None)]
    newest = "select insert_process_id, effective_end_timestamp from {schema}.grown where dbt_valid_to is null"
    assert project.rows(newest) == [(run_id(project), HIGH)]
    # a column of nothing but NULL, in a new table
    project.write({"snapshots/untyped.yml": SNAPSHOT.format(name="untyped", key="id", config="hard_deletes: ignore")})
    supply(project, "(1, null, 'NEW')")
    said = project.error("snapshot", "--select", "untyped")
    assert "column 'part' of the source is void, which is no type, and no table of format 'hudi' gives it one" in said


def test_what_hudi_keeps_in_a_source_of_its_own_is_no_change(project: Project) -> None:
    all_columns = SNAPSHOT.format(name="every", key="id", config="hard_deletes: invalidate").replace("[status]", "all")
    project.write({"snapshots/every.yml": all_columns})
    project.sql(
        "create table {schema}.things (id int, part string, status string) using hudi tblproperties (primaryKey = 'id')"
    )
    project.sql("insert into {schema}.things values (1, 'x', 'NEW'), (2, 'x', 'NEW')")
    project.dbt("snapshot")
    # both rows are written anew, by another commit
    project.sql("insert into {schema}.things values (3, 'x', 'NEW')")
    project.sql("update {schema}.things set status = 'OLD' where id = 1")
    project.sql("update {schema}.things set status = 'NEW' where id = 2")
    project.dbt("snapshot")
    project.dbt("snapshot")
    assert project.rows("select id, part, status, dbt_valid_to is null from {schema}.every order by 1, 4") == [
        (1, "x", "NEW", False),
        (1, "x", "OLD", True),
        (2, "x", "NEW", True),
        (3, "x", "NEW", True),
    ]

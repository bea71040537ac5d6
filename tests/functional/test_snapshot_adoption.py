"""A snapshot made by stock dbt gets the operational columns, keeps its history, and can be given back."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from tests.support.project import Project
from tests.support.snapshots import HIGH, SOURCES, snapshot, supply

SNAPSHOT = """
snapshots:
  - name: s
    relation: source('raw', 'things')
    config:
      unique_key: id
      strategy: timestamp
      updated_at: updated_at
      hard_deletes: invalidate
"""
COLUMNS = "id, status, updated_at"
ON = {"+meta": {"dbt_cdc": {"operational_metadata": True}}}
ADOPT = ("run-operation", "adopt_operational_metadata", "--args", "{snapshot: s}")
BY_PROCESS = (
    "select id, status, insert_process_id, update_process_id, effective_start_timestamp, effective_end_timestamp "
    "from {schema}.s order by id, dbt_valid_from"
)


@pytest.mark.one_format("delta")
def test_a_stock_snapshot_adopts_the_columns_and_stock_dbt_can_go_on_with_it(project: Project) -> None:
    project.write({"models/sources.yml": SOURCES, "snapshots/s.yml": SNAPSHOT})
    project.configure(dispatch=False)
    others = ", (2, 'b', timestamp '2024-01-01'), (3, 'c', timestamp '2024-01-01')"
    supply(project, "(1, 'a', timestamp '2024-01-01')" + others, COLUMNS)
    project.dbt("snapshot")
    supply(project, "(1, 'a2', timestamp '2024-01-02')" + others, COLUMNS)
    project.dbt("snapshot")
    history = project.rows("select id, status, dbt_scd_id, dbt_valid_from, dbt_valid_to from {schema}.s order by 1, 4")

    project.configure(snapshots=ON)
    error = project.error("snapshot")
    assert "has no column(s) insert_process_id" in error
    assert "dbt run-operation adopt_operational_metadata --args '{snapshot: s}'" in error
    project.dbt(*ADOPT)
    adopted = project.rows(BY_PROCESS)
    process = adopted[0][2]
    assert adopted == [
        (1, "a", process, process, datetime(2024, 1, 1), datetime(2024, 1, 2)),
        (1, "a2", process, None, datetime(2024, 1, 2), HIGH),
        (2, "b", process, None, datetime(2024, 1, 1), HIGH),
        (3, "c", process, None, datetime(2024, 1, 1), HIGH),
    ]
    project.dbt(*ADOPT)
    assert project.rows(BY_PROCESS) == adopted
    kept = project.rows("select id, status, dbt_scd_id, dbt_valid_from, dbt_valid_to from {schema}.s order by 1, 4")
    assert kept == history

    supply(project, "(1, 'a3', timestamp '2024-01-03')" + others, COLUMNS)
    run = snapshot(project)
    assert project.rows(BY_PROCESS)[1:3] == [
        (1, "a2", process, run, datetime(2024, 1, 2), datetime(2024, 1, 3)),
        (1, "a3", run, None, datetime(2024, 1, 3), HIGH),
    ]

    # off: the columns stay, what is closed and written from now on has none; on again, the gap is told
    for rows in ("(1, 'a3', timestamp '2024-01-03')", "(1, 'a4', timestamp '2024-01-04')"):
        project.configure()
        supply(project, rows + ", (2, 'b', timestamp '2024-01-01')", COLUMNS)
        project.dbt("snapshot")
        project.configure(snapshots=ON)
        assert "records whose operational columns are not filled in" in project.error("snapshot")
    assert project.rows(BY_PROCESS)[3] == (1, "a4", None, None, None, None)
    assert project.rows(BY_PROCESS)[5] == (3, "c", process, None, datetime(2024, 1, 1), HIGH)
    # as where updated_at was NULL
    project.sql("update {schema}.s set dbt_updated_at = null where status = 'a4'")
    project.dbt(*ADOPT)
    stamps = "select insert_timestamp, update_timestamp from {schema}.s where status = 'a4'"
    assert project.rows(stamps) == [(datetime(2024, 1, 4), None)]
    rows = project.rows(BY_PROCESS)
    ends = [datetime(2024, 1, 2), datetime(2024, 1, 3), datetime(2024, 1, 4), HIGH, HIGH]
    assert [row[5] for row in rows[:5]] == ends
    closed_at = project.rows("select dbt_valid_to from {schema}.s where id = 3")[0][0]
    assert rows[5][3] is not None and rows[5][5] == closed_at
    assert all((row[3] is None) == (row[5] == HIGH) and row[2] for row in rows)

    # given back: stock dbt goes on
    drop = ("run-operation", "drop_operational_metadata", "--args", "{snapshot: s}")
    project.error(*drop)
    assert "still asks for the columns" in project.log()
    project.configure()
    project.dbt(*drop)
    project.dbt(*drop)
    project.configure(dispatch=False)
    supply(project, "(1, 'a5', timestamp '2024-01-05'), (2, 'b', timestamp '2024-01-01')", COLUMNS)
    project.dbt("snapshot")
    assert project.rows("select id, status, dbt_valid_to from {schema}.s order by id, dbt_valid_from") == [
        (1, "a", datetime(2024, 1, 2)),
        (1, "a2", datetime(2024, 1, 3)),
        (1, "a3", datetime(2024, 1, 4)),
        (1, "a4", datetime(2024, 1, 5)),
        (1, "a5", None),
        (2, "b", None),
        (3, "c", closed_at),
    ]
    dbt_columns = ["dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to"]
    assert [name for name, _ in project.columns("s")] == ["id", "status", "updated_at", *dbt_columns]
    assert project.tables() == {"things", "s"}


@pytest.mark.one_format("iceberg")
def test_adoption_says_what_it_needs(project: Project) -> None:
    project.write({"models/sources.yml": SOURCES, "snapshots/s.yml": SNAPSHOT})
    project.error(*ADOPT[:-1], "{snapshot: orders}")
    assert "unknown snapshot 'orders'" in project.new_log()
    project.error(*ADOPT[:2])
    assert "name one by --args '{snapshot: …}'. Known: s" in project.new_log()
    project.error(*ADOPT)
    assert "does not ask for the columns" in project.new_log()
    project.configure(snapshots=ON)
    project.error(*ADOPT)
    assert f"{project.schema}.s does not exist" in project.new_log()

    # a source's own columns are neither filled in nor dropped
    project.configure()
    supply(project, "(1, 'a', timestamp '2024-01-01', timestamp '2024-01-01')", COLUMNS + ", update_timestamp")
    project.dbt("snapshot")
    project.configure(snapshots=ON)
    project.error(*ADOPT)
    project.configure()
    project.error("run-operation", "drop_operational_metadata", "--args", "{snapshot: s}")
    assert project.log().count("has the column(s) update_timestamp of the source") >= 2
    assert project.rows("select id, update_timestamp from {schema}.s") == [(1, datetime(2024, 1, 1))]

    # a wrong var is no matter of a snapshot that does not go by it, and told to an operation that does
    wrong = ("--vars", "{operational_metadata_columns: [job_id]}")
    supply(project, "(1, 'b', timestamp '2024-01-02', timestamp '2024-01-02')", COLUMNS + ", update_timestamp")
    project.dbt("snapshot", *wrong)
    assert project.rows("select id, update_timestamp from {schema}.s order by 2") == [
        (1, datetime(2024, 1, 1)),
        (1, datetime(2024, 1, 2)),
    ]
    project.error("run-operation", "drop_operational_metadata", "--args", "{snapshot: s}", *wrong)
    assert "must map standard to own column names, got [" in project.new_log()


@pytest.mark.one_format("delta")
def test_a_snapshot_whose_name_another_package_has_too_is_named_with_its_package(project: Project) -> None:
    project.write(
        {
            "models/sources.yml": SOURCES,
            "snapshots/s.yml": SNAPSHOT,
            "dbt_packages/crm/dbt_project.yml": "{name: crm, version: 1.0.0, config-version: 2, profile: consumer}",
            "dbt_packages/crm/snapshots/s.yml": SNAPSHOT.replace("config:", "config:\n      alias: of_crm", 1),
        }
    )
    project.configure(snapshots={"crm": {"+file_format": project.file_format}})
    supply(project, "(1, 'a', timestamp '2024-01-01')", COLUMNS)
    project.dbt("snapshot")
    project.configure(snapshots={**ON, "crm": {"+file_format": project.file_format}})
    error = project.error("snapshot")
    for package in ("consumer", "crm"):
        assert f"adopt_operational_metadata --args '{{snapshot: {package}.s}}'" in error
    project.error(*ADOPT)
    assert "several packages have a snapshot 's': name one of consumer.s, crm.s" in project.log()
    project.dbt(*ADOPT[:-1], "{snapshot: crm.s}")
    assert "insert_process_id" not in dict(project.columns("s"))
    assert project.rows("select id, effective_end_timestamp from {schema}.of_crm") == [(1, HIGH)]


@pytest.mark.parametrize(
    ("key", "own"),
    [
        pytest.param("id", "dbt_", marks=pytest.mark.one_format("delta")),
        pytest.param("concat_ws('-', 'k', id)", "ROW_", marks=pytest.mark.one_format("iceberg")),
    ],
)
def test_deletions_that_stock_dbt_recorded_without_values_get_them(project: Project, key: str, own: str) -> None:
    """`own`: what the names of dbt's columns begin with."""
    names = {f"dbt_{name}": own + name for name in ("valid_from", "valid_to", "scd_id", "updated_at", "is_deleted")}
    compared = f"""unique_key: {key}
      strategy: check
      check_cols: [status]
      hard_deletes: new_record
      snapshot_meta_column_names: {json.dumps(names)}"""
    text = SNAPSHOT[: SNAPSHOT.index("unique_key")] + compared + "\n"
    project.write({"models/sources.yml": SOURCES, "snapshots/s.yml": text})
    project.configure(dispatch=False)
    whole = "(1, 'a', timestamp '2024-01-01'), (2, 'b', timestamp '2024-01-02'), (3, 'c', timestamp '2024-01-03')"
    supply(project, whole, COLUMNS)
    project.dbt("snapshot")
    supply(project, "(3, 'c', timestamp '2024-01-03')", COLUMNS)  # stock dbt records two deletions
    project.dbt("snapshot")
    supply(project, "(2, 'b', timestamp '2024-01-02'), (3, 'c', timestamp '2024-01-03')", COLUMNS)  # and a return
    project.dbt("snapshot")
    assert project.rows(f"select count(*), count(`{own}valid_to`) from {{schema}}.s where id is null") == [(2, 0)]

    project.configure(snapshots=ON)
    columns = ", ".join(f"`{own}{name}`" for name in ("scd_id", "is_deleted", "valid_from", "updated_at"))
    project.sql(f"insert into {{schema}}.s ({columns}) values ('of nobody', 'True', now(), now())")
    project.dbt(*ADOPT)
    assert f"1 record(s) of deletions in {project.schema}.s have no values, and it can't be told whose" in project.log()
    project.sql(f"delete from {{schema}}.s where `{own}scd_id` = 'of nobody'")
    query = f"""
        select id, status, updated_at, `{own}is_deleted`, effective_end_timestamp = timestamp_ntz '9999-12-31 23:59:59.999999' as open,
            `{own}valid_from` <=> lag(`{own}valid_to`) over (partition by id order by `{own}valid_from`) as follows
        from {{schema}}.s order by id, `{own}valid_from`
    """
    days = {n: datetime(2024, 1, n) for n in (1, 2, 3)}
    adopted = [
        (1, "a", days[1], "False", False, False),
        (1, "a", days[1], "True", True, True),
        (2, "b", days[2], "False", False, False),
        (2, "b", days[2], "True", False, True),
        (2, "b", days[2], "False", True, True),
        (3, "c", days[3], "False", True, False),
    ]
    assert project.rows(query) == adopted
    before = project.rows(f"select * from {{schema}}.s order by id, `{own}valid_from`")
    project.dbt(*ADOPT)
    assert project.rows(f"select * from {{schema}}.s order by id, `{own}valid_from`") == before

    # and the snapshot goes on: one returns, another is deleted
    supply(project, "(1, 'a', timestamp '2024-01-01'), (2, 'b', timestamp '2024-01-02')", COLUMNS)
    project.dbt("snapshot")
    assert project.rows(query) == [
        (1, "a", days[1], "False", False, False),
        (1, "a", days[1], "True", False, True),
        (1, "a", days[1], "False", True, True),
        *adopted[2:5],
        (3, "c", days[3], "False", False, False),
        (3, "c", days[3], "True", True, True),
    ]


COMPOSITE = SNAPSHOT.replace("unique_key: id", "unique_key: [id, region]")
OTHER_HIGH = ("--vars", "{default_high_dttm: '9999-12-30'}")
RENAMED = ("--vars", "{operational_metadata_columns: {insert_process_id: job_id}}")


@pytest.mark.one_format("delta")
def test_what_stock_dbt_left_behind_and_what_was_changed_since_is_told_or_mended(project: Project) -> None:
    project.write({"models/sources.yml": SOURCES, "snapshots/s.yml": COMPOSITE})
    project.configure(dispatch=False)
    columns = "id, region, status, updated_at"
    supply(project, "(1, 'eu', 'a', timestamp '2024-01-01'), (2, null, 'b', timestamp '2024-01-01')", columns)
    project.dbt("snapshot")
    supply(project, "(1, 'eu', 'a2', timestamp '2024-01-02')", columns)
    project.error("snapshot")
    assert "dbt_unique_key_1" in dict(project.columns("s"))

    # the columns that this left are passed over; a record without a whole key can't be told from a new one
    project.configure(snapshots=ON)
    project.dbt(*ADOPT)
    adopted = project.rows(BY_PROCESS)
    error = project.error("snapshot")
    assert "1 open record(s) in" in error and "have NULL in unique_key id, region" in error
    assert "close or delete them by hand" in error
    assert project.rows(BY_PROCESS) == adopted
    project.sql("delete from {schema}.s where region is null")
    run, process = snapshot(project), adopted[0][2]
    rows = [
        (1, "a", process, run, datetime(2024, 1, 1), datetime(2024, 1, 2)),
        (1, "a2", run, None, datetime(2024, 1, 2), HIGH),
    ]
    assert project.rows(BY_PROCESS) == rows

    # another high date, other names, another type
    error = project.error("snapshot", *OTHER_HIGH)
    assert "open ones with another high date than 9999-12-30; fill them in once: dbt run-operation" in error
    for command in (("snapshot",), ADOPT):
        project.error(*command, *RENAMED)
        said = project.new_log()
        assert "has no column(s) job_id, but insert_process_id: the var 'operational_metadata" in said, command
    instants = {"operational_metadata": True, "effective_timestamp_type": "timestamp"}
    project.configure(snapshots={"+meta": {"dbt_cdc": instants}})
    project.error(*ADOPT)
    assert "effective_end_timestamp' of " in project.log() and "is timestamp_ntz, expected timestamp" in project.log()
    assert project.rows(BY_PROCESS) == rows
    project.configure(snapshots=ON)
    project.dbt(*ADOPT, *OTHER_HIGH)
    assert project.rows(BY_PROCESS) == [rows[0], (*rows[1][:5], datetime(9999, 12, 30))]


@pytest.mark.one_format("iceberg")
def test_a_history_made_by_hand_without_dbt_updated_at_is_gone_on_with(project: Project) -> None:
    project.write({"models/sources.yml": SOURCES, "snapshots/s.yml": SNAPSHOT})
    project.sql(
        "create table {schema}.s (id int, status string, updated_at timestamp, dbt_scd_id string, dbt_valid_from timestamp,"
        " dbt_valid_to timestamp) using " + project.file_format
    )
    first, second = "timestamp '2024-01-01'", "timestamp '2024-01-02'"
    project.sql(
        f"insert into {{schema}}.s values (1, 'a', {first}, 'x', {first}, null), (2, 'b', {first}, 'y', {first}, null)"
    )
    columns = [*project.columns("s"), ("dbt_updated_at", "timestamp")]
    history = "select id, status, dbt_valid_from, dbt_valid_to from {schema}.s order by id, dbt_valid_from"
    began, changed = datetime(2024, 1, 1), datetime(2024, 1, 2)
    supply(project, f"(1, 'a2', {second}), (2, 'b', {first})", COLUMNS)
    # the second and third time, one has no dbt_updated_at, which stock dbt does not read either
    for updated_at in ("updated_at", "Updated_at", "coalesce(updated_at, null)"):
        project.write({"snapshots/s.yml": SNAPSHOT.replace("updated_at: updated_at", f"updated_at: {updated_at}")})
        project.dbt("snapshot")
        assert project.rows(history) == [
            (1, "a", began, changed),
            (1, "a2", changed, None),
            (2, "b", began, None),
        ]
        if updated_at == "updated_at":
            # what lies between a record's own time and its start is found by dbt_updated_at
            stamps = "select id, dbt_updated_at from {schema}.s where dbt_valid_to is null order by id"
            assert project.rows(stamps) == [(1, changed), (2, began)]
            project.sql("update {schema}.s set dbt_updated_at = null where id = 2")
    assert project.columns("s") == columns

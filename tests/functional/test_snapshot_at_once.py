"""Two dbt processes that run one snapshot at the same time, each in a session of its own on one warehouse."""

from __future__ import annotations

import re

import pytest
import yaml

from dbt_cdc._formats import format_of
from tests.support import connect
from tests.support.project import Project
from tests.support.snapshots import SOURCES, supply
from tests.support.statements import watch

SNAPSHOT = """
snapshots:
  - name: s
    relation: source('raw', 'things')
    config:
      unique_key: id
      strategy: check
      check_cols: [status]
      hard_deletes: invalidate
      meta: {dbt_cdc: {operational_metadata: true}}
"""
#: Each run waits for the other where it hurts most: before the first load is written, and in a later run between the
#: comparison and the merge, where dbt adds columns.
WAIT = """
{% macro default__build_snapshot_table(strategy, sql) %}
    {% do wait_for_the_other() %}
    {% do return(dbt_cdc.default__build_snapshot_table(strategy, sql)) %}
{% endmacro %}

{% macro spark__create_columns(relation, columns) %}
    {% do wait_for_the_other() %}
{% endmacro %}

{% macro wait_for_the_other() %}
    {% if execute and var('meeting', '') %}
        {% set meeting, both = target.schema ~ '.' ~ var('meeting'), namespace(there=false) %}
        {% do run_query("insert into " ~ meeting ~ " values ('" ~ invocation_id ~ "')") %}
        {% for _ in range(600) if not both.there %}
            {% do run_query('refresh table ' ~ meeting) %}
            {% set both.there = run_query('select count(*) from ' ~ meeting).rows[0][0] >= 2 %}
        {% endfor %}
        {% if not both.there %}{% do exceptions.raise_compiler_error('the other run did not come') %}{% endif %}
    {% endif %}
{% endmacro %}
"""
ROWS = "select id, status, dbt_valid_to is null, update_process_id is null from {schema}.s order by id, dbt_valid_from"


def two_runs(project: Project, meeting: str) -> list[tuple[bool, str]]:
    project.sql(f"create table {{schema}}.{meeting} (run string) using {project.file_format}")
    with connect.serving(project.spark) as remote:
        command = ("snapshot", "--vars", f"{{meeting: {meeting}}}")
        runs = [connect.start(remote, project.folder, *command) for _ in range(2)]
        outcomes = [connect.outcome(run) for run in runs]
    # Iceberg's catalog keeps what a session has read of a table for half a minute
    project.sql("refresh table {schema}.s")
    return outcomes


@pytest.mark.only_format("iceberg")
def test_a_first_load_does_not_replace_the_table_that_another_run_has_made_meanwhile(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"models/sources.yml": SOURCES, "snapshots/s.yml": SNAPSHOT})
    supply(project, "(1, 'b')")

    def look(sql: str) -> None:
        if "describe query" in sql and "s" not in project.tables():
            project.sql("create table {schema}.s using iceberg as select 1 as id, 'a' as status")

    watch(monkeypatch, after=look)
    error = project.error("snapshot")
    assert "another run has made" in error and "its history would be lost: run the snapshot again" in error
    assert project.rows("select * from {schema}.s") == [(1, "a")]


@pytest.mark.one_format("delta")
def test_two_processes_at_once_never_leave_two_open_records_of_a_key(project: Project) -> None:
    project.write({"models/sources.yml": SOURCES, "snapshots/s.yml": SNAPSHOT, "macros/wait.sql": WAIT})
    profiles = project.folder / "profiles.yml"
    outputs = yaml.safe_load(profiles.read_text())
    outputs["consumer"]["outputs"]["connect"] = {**connect.OUTPUT, "schema": project.schema}
    profiles.write_text(yaml.safe_dump(outputs))

    supply(project, "(1, 'a'), (2, 'a'), (3, 'a')")
    runs = two_runs(project, "first_load")
    assert any(succeeded for succeeded, _ in runs), runs
    conflict = format_of(project.file_format).conflict
    assert all(succeeded or re.search(f"another run has made|{conflict}", said) for succeeded, said in runs), runs
    assert project.rows(ROWS) == [(1, "a", True, True), (2, "a", True, True), (3, "a", True, True)]

    # 1 is changed, 2 deleted, 4 new: for both runs
    supply(project, "(1, 'b'), (3, 'a'), (4, 'b')")
    runs = two_runs(project, "later_run")
    assert sorted(succeeded for succeeded, _ in runs) == [False, True], runs
    _, said = min(runs)
    assert re.search(f"another run changed|{conflict}", said), said
    after = [(1, "a", False, False), (1, "b", True, True), (2, "a", False, False), (3, "a", True, True)]
    after += [(4, "b", True, True)]
    assert project.rows(ROWS) == after

    # the one that lost can be run again
    project.dbt("snapshot")
    assert project.rows(ROWS) == after

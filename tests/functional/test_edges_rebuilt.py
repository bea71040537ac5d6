"""A reader by version whose upstream dbt builds anew in every run, as a `table`, or which is taken back to an older version."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.support.project import Project

UPSTREAM = """
    {{ config(materialized='table') }}
    select * from values {{ var('rows') }} as t(id, v)
"""
READER = """
    {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
    select * from {{ dbt_cdc.ref_changes('orders', by='version', unique_key='id') }}
"""
FIRST = "(1, 'a'), (2, 'b'), (3, 'c')"
SECOND = "(1, 'a'), (2, 'B'), (4, 'd')"
BETWEEN = "(1, 'a'), (2, 'X'), (4, 'd'), (5, 'e')"
READ = "select id, v, _op from {schema}.reader order by id"


def build(project: Project, rows: str, *select: str) -> None:
    project.dbt("run", *select, "--vars", json.dumps({"rows": rows}))


def waiting(project: Project) -> dict[str, str]:
    """What cdc_summary says of rows that wait for each reader."""
    project.dbt("run-operation", "cdc_summary")
    edges = re.findall(rf"(?m)^{project.schema}\.\w+  .*$", project.new_log())
    cells = [re.split(" {2,}", edge) for edge in edges]
    return {destination.removeprefix(f"{project.schema}."): rows for _, destination, *_, rows, _ in cells}


LOGGED = UPSTREAM.replace(
    "materialized='table'",
    "materialized='apply_changes', unique_key='id', meta={'dbt_cdc': {'sequence_by': 'id', 'change_log': 'data_before'}}",
)


def test_a_table_that_is_made_anew_or_taken_back_is_compared_with_what_was_read(project: Project) -> None:
    upstreams = {"replaced": UPSTREAM, "logged": LOGGED, "gone_again": UPSTREAM, "taken_back": UPSTREAM}
    for name, text in upstreams.items():
        reader = READER.replace("'orders'", f"'{name}'")
        project.write({f"models/{name}.sql": text.replace("'rows'", f"'{name}'"), f"models/of_{name}.sql": reader})
    given = dict.fromkeys(upstreams, FIRST) | {"gone_again": SECOND}

    def run(*arguments: str) -> None:
        project.dbt("run", *arguments, "--vars", json.dumps(given))

    def read(name: str) -> list[tuple[Any, ...]]:
        return project.rows(READ.replace("reader", f"of_{name}"))

    run()
    first = [(1, "a", "i"), (2, "b", "i"), (3, "c", "i")]
    assert read("replaced") == read("logged") == read("taken_back") == first
    if project.file_format == "delta":
        back = "restore table {schema}.taken_back to version as of 0"
    else:
        ((snapshot,),) = project.rows("select snapshot_id from {schema}.taken_back.refs")
        back = f"call system.rollback_to_snapshot('{{schema}}.taken_back', {snapshot})"
    project.sql("delete from {schema}.taken_back where id = 1")
    project.sql("update {schema}.taken_back set v = 'B' where id = 2")
    given |= {"replaced": SECOND, "logged": SECOND, "gone_again": BETWEEN}
    # a log and its table are made anew, both
    run("--full-refresh", "--select", "replaced", "logged", "gone_again")
    told = waiting(project)
    assert (told["of_replaced"], told["of_logged"]) == ("3", "3")
    # a run was killed: its write was done, its watermark not moved
    project.sql("update {schema}.of_gone_again set v = 'X' where id = 2")
    project.sql("insert into {schema}.of_gone_again values (5, 'e', 'i')")
    given["gone_again"] = SECOND
    run("--exclude", "logged", "taken_back")
    second = [(1, "a", "i"), (2, "B", "u"), (3, "c", "d"), (4, "d", "i")]
    assert read("replaced") == read("logged") == second
    assert read("gone_again") == [(1, "a", "i"), (2, "B", "u"), (4, "d", "i"), (5, "e", "d")]
    assert read("taken_back") == [(1, "a", "d"), (2, "B", "u"), (3, "c", "i")]
    assert set(waiting(project).values()) == {"0"}
    if project.file_format == "iceberg":  # a branch holds what was read, and has rows that nobody publishes
        project.sql("alter table {schema}.taken_back create branch held")
        project.sql("insert into {schema}.taken_back.branch_held values (9, 'x')")
    project.sql(back)
    run("--select", "of_taken_back")
    assert read("taken_back") == [(1, "a", "i"), (2, "b", "u"), (3, "c", "i")]
    if project.file_format == "iceberg":  # a compaction is there in place of what was read
        table = "table => '{schema}.taken_back'"
        project.sql(f"call system.rewrite_data_files({table}, options => map('rewrite-all', 'true'))")
        older = "older_than => timestamp '2999-01-01', retain_last => 1"
        project.sql(f"call system.expire_snapshots({table}, {older})")
        assert waiting(project)["of_taken_back"] == "0"
        project.sql("insert into {schema}.taken_back values (5, 'e')")
        run("--select", "of_taken_back")
        assert read("taken_back") == [(1, "a", "i"), (2, "b", "u"), (3, "c", "i"), (5, "e", "i")]


@pytest.mark.only_format("iceberg")  # Delta's history goes on, and tells what was renamed
def test_a_table_made_anew_with_a_renamed_column_asks_for_a_full_refresh(project: Project) -> None:
    project.write({"models/orders.sql": UPSTREAM, "models/reader.sql": READER})
    build(project, FIRST)
    project.write({"models/orders.sql": UPSTREAM.replace("t(id, v)", "t(id, w)")})
    build(project, SECOND, "--select", "orders")
    assert waiting(project) == {"reader": "needs --full-refresh"}
    message = project.error("run", "--select", "reader", "--vars", json.dumps({"rows": SECOND}))
    assert "is no longer in its history" in message and "run this model with --full-refresh" in message


@pytest.mark.one_format("iceberg")
def test_a_full_refresh_over_lower_stamps_that_fails_after_its_write_leaves_rows_to_be_read_twice(
    project: Project,
) -> None:
    reader = READER.replace("by='version', unique_key='id'", "column='v'")
    reader += "where id in (select id from {{ dbt_cdc.ref_changes('orders', column=var('other', 'v')) }})"
    hooks = "models: [{name: reader, config: {post_hook: \"{{ var('hook', '') }}\"}}]"
    project.write({"models/orders.sql": UPSTREAM, "models/reader.sql": reader, "models/reader.yml": hooks})
    build(project, "(1, 10), (2, 90)")
    moves = "select tracked_by, watermark from {schema}.cdc_metadata order by sequence"
    assert project.rows(moves) == [("column", "90")]
    failing = {"rows": "(1, 10), (2, 20)", "other": "id"}
    error = project.error("run", "--full-refresh", "--vars", json.dumps(failing))
    assert "can't run, its watermarks went back to the start:" in error and "in two ways" in error
    assert project.rows(moves) == [("column", "90"), ("reset", None)]
    failing = {"rows": "(1, 10), (2, 20)", "hook": "not a statement"}
    project.error("run", "--full-refresh", "--vars", json.dumps(failing))
    assert project.rows("select id, v from {schema}.reader order by id") == [(1, 10), (2, 20)]
    assert project.rows(moves) == [("column", "90"), ("reset", None)]
    # by the watermark of before, what lands between the two would never be read
    build(project, "(1, 10), (2, 20), (3, 30)")
    assert project.rows("select id, v from {schema}.reader order by id") == [(1, 10), (2, 20), (3, 30)]
    assert project.rows(moves) == [("column", "90"), ("reset", None), ("column", "30")]
    # where the stamps have not become lower, nothing goes back
    failing["rows"] = "(1, 10), (2, 20), (3, 30), (4, 40)"
    project.error("run", "--full-refresh", "--vars", json.dumps(failing))
    assert project.rows(moves) == [("column", "90"), ("reset", None), ("column", "30")]
    build(project, failing["rows"], "--full-refresh")
    assert project.rows(moves) == [("column", "90"), ("reset", None), ("column", "30"), ("column", "40")]


@pytest.mark.one_format("iceberg")
def test_a_table_that_is_not_the_packages_keeps_no_watermarks(project: Project) -> None:
    project.write({"models/orders.sql": UPSTREAM, "models/reader.sql": READER})
    project.write({"models/cdc_metadata.sql": "{{ config(materialized='table') }} select 1 as id"})
    for selected in ([], ["--select", "cdc_metadata"]):  # alone it would replace the table that there is
        error = project.error("run", *selected, "--vars", json.dumps({"rows": FIRST}))
        told = f"model.consumer.cdc_metadata: is built as {project.schema}.cdc_metadata, where ref_changes keeps its watermarks"
        assert "nothing was written:" in error and told in error
    assert project.tables() == set()
    (project.folder / "models/cdc_metadata.sql").unlink()
    project.sql("create table {schema}.cdc_metadata (source string, destination string) using " + project.file_format)
    error = project.error("run", "--vars", json.dumps({"rows": FIRST})) + project.new_log()
    assert "cdc_metadata, which is there and was not made for it: expected a table of one of the formats delta" in error
    assert "rename it, or give another schema by the var 'metadata_schema'" in error
    rows = ("--vars", json.dumps({"rows": FIRST}))
    for command in (("compile",), ("run", "--empty", "--select", "reader"), ("run-operation", "cdc_summary")):
        error = project.error(*command, *rows) + project.new_log()
        assert "cdc_metadata, which is there and was not made for it" in error
    assert project.tables() == {"cdc_metadata"}

"""What a snapshot refuses, with one error and nothing written; and what two runs at once leave behind."""

from __future__ import annotations

import pytest

from tests.support.project import Project
from tests.support.snapshots import SOURCES, snapshot, supply

SNAPSHOT = """
snapshots:
  - name: s
    relation: source('raw', 'things')
    config:
      unique_key: [id, region]
      strategy: check
      check_cols: [status]
      hard_deletes: invalidate
      meta: {dbt_cdc: %s}
"""
COLUMNS = "id, region, status"
NAMES = {"insert_proces_id": "x", "insert_timestamp": "dbt_valid_from"}


def write(project: Project, options: str) -> None:
    project.write({"models/sources.yml": SOURCES, "snapshots/s.yml": SNAPSHOT % options})


def contents(project: Project) -> list[tuple[object, ...]]:
    return project.rows("select id, region, status, dbt_valid_to is null from {schema}.s order by id, dbt_valid_from")


@pytest.mark.one_format("iceberg")
def test_without_the_dispatch_entry_the_run_stops_at_once_with_the_lines_to_paste(project: Project) -> None:
    project.configure(dispatch=False)
    write(project, "{operational_metadata: true}")
    project.write({"models/a.sql": "select 1 as id"})
    supply(project, "(1, 'eu', 'a')", COLUMNS)
    error = project.error("build", "--vars", "{dbt_cdc: {metadata_schem: x}}")
    for part in (
        "unknown var 'metadata_schem', did you mean 'metadata_schema'?",  # all that keeps a run from starting, at once
        "snapshot.consumer.s",
        "- macro_namespace: dbt",
        "search_order: ['consumer', 'dbt_cdc', 'dbt']",
        "dbt_project.yml",
    ):
        assert part in error + project.new_log()
    write(project, "{max_delete_fraction: 0}")
    assert "search_order: ['consumer', 'dbt_cdc', 'dbt']" in project.error("snapshot") + project.new_log()
    assert project.tables() == {"things"}

    # what is not selected, or asks for nothing, is let be
    project.dbt("run", "--select", "a")
    write(project, "{operational_metadata: false}")
    project.dbt("snapshot")
    assert project.tables() == {"things", "a", "s"}


@pytest.mark.one_format("iceberg")
def test_a_snapshot_macro_of_the_project_itself_stops_the_run_unless_it_calls_the_packages(project: Project) -> None:
    write(project, "{operational_metadata: false}")
    supply(project, "(1, 'eu', 'a')", COLUMNS)
    macro = "{% macro spark__snapshot_merge_sql(target, source, insert_cols) %}{{ MERGE }}{% endmacro %}"
    called = macro.replace("MERGE", "dbt_cdc.spark__snapshot_merge_sql(target, source, insert_cols)")
    others = "dbt finds macro.consumer.spark__snapshot_merge_sql before this package's: take it out"
    project.write(
        {"macros/merge.sql": macro.replace("MERGE", "dbt.default__snapshot_merge_sql(target, source, insert_cols)")}
    )
    error = project.error("snapshot")
    assert (
        f"snapshot.consumer.s: dbt_cdc's snapshot macros work only together, and {others}" in error + project.new_log()
    )
    assert project.tables() == {"things"}
    # another macro of the package is not that one
    project.write({"macros/merge.sql": macro.replace("MERGE", "dbt_cdc.companion(target, 'changes')")})
    assert others in project.error("snapshot") + project.new_log()
    project.write({"macros/merge.sql": called})
    project.dbt("snapshot")
    supply(project, "(1, 'eu', 'b')", COLUMNS)
    # what makes the view of changes may be the project's: the view goes with the run
    view = "{% macro spark__create_view_as(relation, sql) %}create or replace view {{ relation }} as {{ sql }}{% endmacro %}"
    project.write({"macros/view.sql": view})
    project.dbt("snapshot")
    assert contents(project) == [(1, "eu", "a", False), (1, "eu", "b", True)]
    assert project.tables() == {"things", "s"}
    assert not project.spark.catalog.tableExists("s__dbt_tmp")

    # where all three are the project's, the package has no part in its snapshots
    table = "{% macro default__build_snapshot_table(strategy, sql) %}{{ dbt.default__build_snapshot_table(strategy, sql) }}{% endmacro %}"
    staging = (
        "{% macro default__snapshot_staging_table(strategy, source, target) %}"
        "{{ dbt.default__snapshot_staging_table(strategy, source, target) }}{% endmacro %}"
    )
    merge = macro.replace("MERGE", "dbt.spark__snapshot_merge_sql(target, source, insert_cols)")
    project.write({"macros/merge.sql": merge + table + staging})
    project.sql("drop table {schema}.s")
    # stock dbt-spark takes one key column only
    one_key = (SNAPSHOT % "{operational_metadata: false}").replace("[id, region]", "id")
    project.write({"snapshots/s.yml": one_key})
    project.dbt("snapshot")
    assert contents(project) == [(1, "eu", "b", True)]
    supply(project, "(1, 'eu', 'c', 2)", f"{COLUMNS}, size")
    project.dbt("snapshot")
    assert contents(project) == [(1, "eu", "b", False), (1, "eu", "c", True)]
    assert dict(project.columns("s"))["size"] == "int"
    assert "new" not in project.run_results()["s"]["message"]  # that is dbt's own
    write(project, "{operational_metadata: true}")
    assert "dbt finds macro.consumer." in project.error("snapshot") + project.new_log()


@pytest.mark.one_format("iceberg")
def test_all_wrong_options_and_names_are_told_at_once_before_anything_is_written(project: Project) -> None:
    project.configure(vars={"default_high_dttm": "the end", "dbt_cdc": {"operational_metadata_columns": NAMES}})
    write(
        project,
        "{operational_metadata: true, max_delete_fraction: 1.5, "
        "effective_timestamp_type: date, operationl_metadata: 1}",
    )
    supply(project, "(1, 'eu', 'a')", COLUMNS)
    error = project.error("snapshot")
    for part in (
        "snapshot.consumer.s",
        "unknown option 'operationl_metadata', did you mean 'operational_metadata'?",
        "'max_delete_fraction' must lie between 0 and 1, got 1.5",
        "'effective_timestamp_type' must be one of timestamp_ntz, timestamp, got \"date\"",
        "'default_high_dttm' must be a point in time",
        '"the end"',
        "unknown column 'insert_proces_id', did you mean 'insert_process_id'?",
        "an operational column has the name of a column of dbt's own: dbt_valid_from",
    ):
        assert part in error

    project.configure()
    wrong = SNAPSHOT.replace("invalidate", "new_recrd\n      snapshot_meta_column_names: {dbt_valid_from: Start Of}")
    project.write({"snapshots/s.yml": wrong % "{max_delete_fraction: 2}"})
    error = project.error("snapshot")
    assert (
        "snapshot_meta_column_names: dbt_valid_from must be a name of letters, digits and _, as dbt writes it" in error
    )
    assert 'without quotes, got "Start Of"' in error
    assert (
        "'hard_deletes' must be one of ignore, invalidate, new_record, got \"new_recrd\", did you mean 'new_r" in error
    )
    assert "'max_delete_fraction' must lie between 0 and 1, got 2" in error
    write(project, "{effective_timestamp_type: timestamp}")
    error = project.error("snapshot")
    assert (
        "'effective_timestamp_type' has a meaning under 'operational_metadata: true' only, got 'operational_metadata: false'"
        " (the default): change that" in error
    )
    write(project, "{operational_metadata: true}")
    columns = COLUMNS + ", Update_Timestamp, dbt_cdc_loaded_at, `#rows`, Dbt_unique_key_2"
    supply(project, "(1, 'eu', 'a', 'b', 'c', 'd', 5)", columns)
    error = project.error("snapshot")
    assert "the source has a column 'Update_Timestamp', which is the name of an operational column" in error
    assert "the source has a column 'dbt_cdc_loaded_at': names that begin with dbt_cdc_ are the package's own" in error
    assert "the source has a column '#rows': dbt-spark takes such a name for the end of a table's columns" in error
    assert "the source has a column 'Dbt_unique_key_2', as dbt calls the key while it compares: rename it" in error
    assert project.tables() == {"things"}


@pytest.mark.only_format("iceberg")  # Delta takes names with blanks only with column mapping
def test_columns_that_the_source_lacks_or_that_need_backticks_are_told_before_the_first_load(project: Project) -> None:
    project.configure(
        vars={"dbt_cdc": {"operational_metadata_columns": {"insert_process_id": "#p", "insert_timestamp": 3}}}
    )
    write(project, "{operational_metadata: true}")
    supply(project, "(1, 'eu', 'a', 5)", "id, `the region`, status, 2020_sales")
    error = project.error("snapshot")
    for name, got in {"insert_process_id": '"#p"', "insert_timestamp": "3"}.items():
        assert f"must give the name of a column for {name} (which does not begin with #), got {got}" in error
    same = {"insert_process_id": "p", "update_process_id": "P", "insert_timestamp": "dbt_valid_from"}
    project.configure(vars={"dbt_cdc": {"operational_metadata_columns": same}})
    error = project.error("snapshot")
    assert "var 'operational_metadata_columns' gives one name to several columns: P" in error
    assert "an operational column has the name of a column of dbt's own: dbt_valid_from" in error

    project.configure(vars={"default_high_dttm": "9000-12-31T23:59:59Z"})
    checked = "[statsu, The Region, lower(status), status.city]"
    wrong = f"{{operational_metadata: true}}}}, strategy: check, check_cols: {checked}, unique_key: [id, regoin]}}"
    config = SNAPSHOT.partition("config:")[0] + "config: {meta: {dbt_cdc: " + wrong
    project.write({"snapshots/s.yml": config})
    error = project.error("snapshot")
    assert "check_cols: the source has no such column: unknown column 'statsu', did you mean 'status'?" in error
    # columns only: a part of one, or what is made of one, is compared with nothing
    for part in ("lower(status)", "status.city"):
        assert f"check_cols: the source has no such column: unknown column '{part}'" in error
    assert "check_cols: the name of the column 'The Region' needs backticks" in error
    assert "write it as `The Region`" in error
    assert (
        "unique_key: the source has no such column: unknown column 'regoin'. Known: 2020_sales, id, status, the region"
        in error
    )
    assert project.tables() == {"things"}
    by_time = config.replace(f"strategy: check, check_cols: {checked}", "strategy: timestamp, updated_at: upd")
    project.write({"snapshots/s.yml": by_time})
    assert "updated_at: the source has no such column: unknown column 'upd'" in project.error("snapshot")

    right = config.replace(checked, "[status, '`The Region`', 2020_sales]").replace("regoin", "lower(`the region`)")
    project.write({"snapshots/s.yml": right})
    project.dbt("snapshot")
    supply(project, "(1, 'EU', 'a', 5)", "id, `the region`, status, 2020_sales")
    project.dbt("snapshot")
    assert project.rows(
        "select id, `the region`, cast(effective_end_timestamp as string) like '9000-12-31 23:59:59' from {schema}.s order by 2"
    ) == [(1, "EU", True), (1, "eu", False)]
    # dbt looks for them in the source before it comes to the package's checks
    project.write({"snapshots/s.yml": right.replace("[status,", "[statsu,")})
    error = project.error("snapshot")
    assert "check_cols: the source has no such column: unknown column 'statsu', did you mean 'status'?" in error
    # a key that was renamed in the source
    supply(project, "(1, 'EU', 'a', 5)", "order_id, `the region`, status, 2020_sales")
    project.write({"snapshots/s.yml": right.replace("[id,", "['`order_id`',")})
    error = project.error("snapshot")
    assert (
        f"{project.schema}.s has no column 'order_id', which unique_key names: rename the one that the table" in error
    )
    operational = [name for name, _ in project.columns("s") if name.startswith(("insert_", "update_", "effective_"))]
    project.sql(f"alter table {{schema}}.s drop columns ({', '.join(operational)})")
    adopt = ("run-operation", "adopt_operational_metadata", "--args", "{snapshot: s}")
    project.error(*adopt)
    assert f"{project.schema}.s has no column 'order_id', which unique_key names" in project.new_log()
    assert project.rows("select count(*) from {schema}.s") == [(2,)]


@pytest.mark.one_format("iceberg")
def test_duplicate_and_null_keys_are_refused_on_the_first_run_and_on_later_ones(project: Project) -> None:
    write(project, "{}")
    bad = "(1, 'eu', 'a'), (1, 'eu', 'b'), (2, 'eu', 'c'), (2, 'eu', 'c'), (3, 'us', 'd'), (null, 'us', 'e')"
    parts = ("unique_key id, region must be unique", "2 key(s)", "1, eu (2 rows)", "2, eu (2 rows)", "NULL in 1 row(s)")
    supply(project, bad, COLUMNS)
    error = project.error("snapshot")
    assert all(part in error for part in parts), error
    assert project.tables() == {"things"}

    supply(project, "(1, 'eu', 'a'), (2, 'eu', 'c'), (3, 'us', 'D'), (4, 'us', 'f')", COLUMNS)
    project.dbt("snapshot")
    # stock dbt leaves such: of a key that the source has, and of one that it no longer has
    project.sql("insert into {schema}.s select * from {schema}.s where id in (3, 4)")
    before = contents(project)
    supply(project, bad, COLUMNS)
    error = project.error("snapshot")
    assert all(part in error for part in parts), error
    assert "2 key(s) have several open records in" in error
    assert ", such as 3, us; 4, us: close all but one of each by hand" in error
    twice = [(3, "us", "D", True)] * 2 + [(4, "us", "f", True)] * 2
    assert contents(project) == before == [(1, "eu", "a", True), (2, "eu", "c", True), *twice]
    assert project.tables() == {"things", "s"}
    # of two open records, one that is as the source is found by the write
    project.sql("delete from {schema}.s where id > 1")
    twin = "select * except (status, dbt_scd_id), 'A' as status, 'another' as dbt_scd_id from {schema}.s"
    project.sql(f"insert into {{schema}}.s by name {twin}")
    supply(project, "(1, 'eu', 'A')", COLUMNS)
    before = contents(project)
    error = project.error("snapshot")
    assert "or key 1, eu has several open records there: no row was written by it" in error
    assert sorted(contents(project)) == sorted(before)


@pytest.mark.one_format("iceberg")
def test_an_empty_source_closes_nothing_beyond_the_allowed_share(project: Project) -> None:
    write(project, "{operational_metadata: true, max_delete_fraction: 0.5}")
    second = (SNAPSHOT % "{max_delete_fraction: 0.5}").replace("invalidate", "new_record").replace("name: s", "name: n")
    project.write({"snapshots/n.yml": second})
    supply(project, "(1, 'eu', 'a'), (2, 'eu', 'b'), (3, 'eu', 'c'), (4, 'eu', 'd')", COLUMNS)
    project.dbt("snapshot")
    project.dbt("snapshot", "--empty")
    assert len(contents(project)) == 4

    project.sql("delete from {schema}.things where true")
    error = project.error("snapshot")
    assert error.count("would close 4 of 4 live records") == 2 and "'max_delete_fraction' allows (0.5)" in error
    assert [row[3] for row in contents(project)] == [True] * 4

    supply(project, "(1, 'eu', 'a2'), (2, 'eu', 'b2')", COLUMNS)
    project.dbt("snapshot")
    assert contents(project) == [
        (1, "eu", "a", False),
        (1, "eu", "a2", True),
        (2, "eu", "b", False),
        (2, "eu", "b2", True),
        (3, "eu", "c", False),
        (4, "eu", "d", False),
    ]
    assert "OK (0 new, 2 changed, 2 deleted)" in project.run_results()["s"]["message"]
    assert project.run_results()["s"]["adapter_response"]["operations"] == {"I": 0, "U": 2, "D": 2}
    live = "select id, dbt_is_deleted from {schema}.n where dbt_valid_to is null order by id"
    assert project.rows(live) == [(1, "False"), (2, "False"), (3, "True"), (4, "True")]
    # the records of deletions are not live ones
    project.sql("delete from {schema}.things where true")
    assert project.error("snapshot", "--select", "n").count("would close 2 of 2 live records") == 1
    assert len(project.rows(live)) == 4
    supply(project, "(1, 'eu', 'a2'), (2, 'eu', 'b2')", COLUMNS)
    project.dbt("snapshot")
    assert "OK (0 new, 0 changed, 0 deleted)" in project.run_results()["s"]["message"]
    # also where another option closes them by now; and what returns is live again, without a change, too
    project.write({"snapshots/n.yml": second.replace("new_record", "invalidate")})
    supply(project, "(2, 'eu', 'b2'), (4, 'eu', 'd')", COLUMNS)
    project.dbt("snapshot", "--select", "n")
    assert project.rows(live) == [(2, "False"), (4, None)]


#: What another run does between this run's comparison and its merge: dbt adds columns just then.
OTHER_RUN = """
{% macro spark__create_columns(relation, columns) %}
    {% if var('other_run', '') %}
        {% do run_query(var('other_run').replace('TARGET', relation | string).replace('SCHEMA', relation.schema)) %}
    {% endif %}
{% endmacro %}
"""


def test_a_run_that_was_overtaken_by_another_fails_and_no_key_has_two_open_records(project: Project) -> None:
    write(project, "{operational_metadata: true}")
    project.write({"macros/other_run.sql": OTHER_RUN})
    supply(project, "(1, 'eu', 'a'), (2, 'eu', 'b')", COLUMNS)
    project.dbt("snapshot")

    columns = "id, region, status, dbt_scd_id, dbt_updated_at, dbt_valid_from, dbt_valid_to"
    insert = (
        f"insert into TARGET ({columns}) select %s, 'eu', '%s', '%s', current_timestamp(), current_timestamp(), null"
    )
    others = {
        "a key that is new to both": insert % (3, "z", "other"),
        "a record that the other closed": "update TARGET set dbt_valid_to = current_timestamp() where id = 1",
        "a record that the other deleted": "update TARGET set dbt_valid_to = current_timestamp() where id = 2",
    }
    supply(project, "(1, 'eu', 'a2'), (3, 'eu', 'c')", COLUMNS)
    for what, statement in others.items():
        project.sql(
            f"create or replace table {{schema}}.kept using {project.file_format} as select * from {{schema}}.s"
        )
        error = project.error("snapshot", "--vars", f'{{other_run: "{statement}"}}')
        assert "another run changed" in error and "Run the snapshot again" in error, what
        open_twice = "select id from {schema}.s where dbt_valid_to is null group by id having count(*) > 1"
        assert project.rows(open_twice) == [], what
        assert project.rows("select count(*) from {schema}.s where status in ('a2', 'c')") == [(0,)], what
        project.sql("insert overwrite {schema}.s select * from {schema}.kept")
    project.sql("drop table {schema}.kept")

    # left alone, the run goes through
    snapshot(project)
    assert contents(project) == [
        (1, "eu", "a", False),
        (1, "eu", "a2", True),
        (2, "eu", "b", False),
        (3, "eu", "c", True),
    ]


@pytest.mark.one_format("delta")  # which has Spark renew what is cached of a table, in all sessions, when it is written
def test_what_was_compared_and_checked_is_merged_whatever_the_source_has_become(project: Project) -> None:
    write(project, "{operational_metadata: true, max_delete_fraction: 0.1}")
    project.write({"macros/other_run.sql": OTHER_RUN})
    supply(project, "(1, 'eu', 'a'), (2, 'eu', 'b')", COLUMNS)
    project.dbt("snapshot")

    supply(project, "(1, 'eu', 'a2'), (2, 'eu', 'b'), (3, 'eu', 'c')", COLUMNS)
    project.dbt("snapshot", "--vars", '{other_run: "delete from SCHEMA.things"}')
    assert "OK (1 new, 1 changed, 0 deleted)" in project.run_results()["s"]["message"]
    assert project.rows("select * from {schema}.things") == []
    assert contents(project) == [
        (1, "eu", "a", False),
        (1, "eu", "a2", True),
        (2, "eu", "b", True),
        (3, "eu", "c", True),
    ]
    assert project.tables() == {"s", "things"}
    assert "would close 3 of 3 live records" in project.error("snapshot")
    assert project.tables() == {"s", "things"}


@pytest.mark.one_format("iceberg")  # where dbt-spark's view lies in no schema
def test_a_view_of_the_same_name_that_another_node_left_does_no_harm(project: Project) -> None:
    write(project, "{operational_metadata: true}")
    supply(project, "(1, 'eu', 'a')", COLUMNS)
    snapshot(project)
    columns = project.columns("s")

    # as dbt-spark's incremental models leave one in the session
    project.sql("create or replace temporary view s__dbt_tmp as select 1 as id, 'eu' as region, 2 as price")
    supply(project, "(1, 'eu', 'b', 2)", COLUMNS + ", size")
    snapshot(project)
    added = dict(project.columns("s")).keys() - dict(columns).keys()
    assert added == {"size"}
    assert contents(project) == [(1, "eu", "a", False), (1, "eu", "b", True)]
    # nor any to it: the incremental model may not have merged it yet
    assert project.rows("select * from s__dbt_tmp") == [(1, "eu", 2)]


@pytest.mark.only_format("delta")
def test_an_empty_text_that_delta_would_keep_as_null_is_refused(project: Project) -> None:
    config = "{{unique_key: [id, region], strategy: check, check_cols: [status], partition_by: [{}]}}"
    write(project, "{operational_metadata: false}")
    told = "column '{}' has an empty text in 1 row(s) of the source, and is one of partition_by, where delta keeps NULL"
    for column, rows in {"region": "(1, 'eu', 'a'), (1, '', 'a')", "status": "(1, 'eu', ''), (2, 'eu', 'a')"}.items():
        project.write({"snapshots/s.yml": SNAPSHOT.partition("config:")[0] + "config: " + config.format(column)})
        supply(project, "(1, 'eu', 'a')", COLUMNS)
        project.dbt("snapshot")
        held = contents(project)
        supply(project, rows, COLUMNS)
        # a table that is there keeps its own partitions, whatever the option says
        without = config.format(column).replace(f"partition_by: [{column}]", "partition_by: []")
        project.write({"snapshots/s.yml": SNAPSHOT.partition("config:")[0] + "config: " + without})
        error = project.error("snapshot")
        assert told.format(column) in error and "leave it out of partition_by and make the table anew" in error
        assert contents(project) == held
        project.write({"snapshots/s.yml": SNAPSHOT.partition("config:")[0] + "config: " + config.format(column)})
        project.sql("drop table {schema}.s")
        assert told.format(column) in project.error("snapshot")
        assert project.tables() == {"things"}


HOOKED = """
{% snapshot s %}
{{ config(unique_key='id', strategy='check', check_cols=['v'], post_hook='{{ current_view() }}',
    pre_hook="create or replace temporary view staged as select 1 as id, {{ var('run') }} as v") }}
select * from staged
{% endsnapshot %}
"""
CURRENT_VIEW = """
{% macro current_view() %}
    {% if execute %}
        {% set view = api.Relation.create(schema=this.schema, identifier='s_' ~ var('run'), type='view') %}
        {% do run_query(create_view_as(view, 'select v from ' ~ this ~ ' where dbt_valid_to is null')) %}
    {% endif %}
{% endmacro %}
"""


@pytest.mark.one_format("delta")
def test_a_snapshots_hooks_come_before_its_query_is_asked_and_make_views_of_their_own(project: Project) -> None:
    project.write({"snapshots/s.sql": HOOKED, "macros/current_view.sql": CURRENT_VIEW})
    for run in (1, 2):
        project.dbt("snapshot", "--vars", f"{{run: {run}}}")
        project.sql("drop view staged")
    assert project.rows("select id, v, dbt_valid_to is null from {schema}.s order by v") == [
        (1, 1, False),
        (1, 2, True),
    ]
    # both views ask the table as it is
    assert project.rows("select * from {schema}.s_1 union all select * from {schema}.s_2") == [(2,), (2,)]

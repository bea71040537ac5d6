"""Columns with names that a table format has for columns of its own."""

from __future__ import annotations

import pytest

from tests.support.project import Project
from tests.support.spark import session_conf

NAMES = {"delta": "_Metadata", "iceberg": "_Deleted"}
MODELS = {
    "models/sources.yml": """
        sources: [{name: raw, schema: "{{ target.schema }}", tables: [{name: rows}]}]
    """,
    "models/hashed.yml": """
        models:
          - name: hashed
            config: {meta: {dbt_cdc: {effective_date: "2024-01-0{{ var('day') }}"}}}
    """,
    "models/hashed.py": """
        def model(dbt, spark):
            dbt.config(materialized="hash_diff", unique_key="id")
            return dbt.source("raw", "rows")
    """,
    "models/applied.sql": """
        {{ config(materialized='apply_changes', unique_key='id', meta={'dbt_cdc': {'sequence_by': 'v'}}) }}
        select * from {{ source('raw', 'rows') }}
    """,
    "snapshots/snapped.yml": """
        snapshots:
          - name: snapped
            relation: source('raw', 'rows')
            config: {unique_key: id, strategy: check, check_cols: [v]}
    """,
}
TABLES = ("hashed__base", "hashed__history", "applied", "applied__events", "snapped")


def test_a_column_that_would_make_a_table_unusable_is_refused_before_and_after_the_first_run(project: Project) -> None:
    name = NAMES[project.file_format]
    project.write(MODELS)
    known, more = "(1, 1)", f"1 as id, {{}} as v, named_struct('file_path', 'x') as {name}"

    def refused(day: int) -> None:
        message = project.error("build", "--vars", f"{{day: {day}}}")
        said = f"column '{name}' has a name by which a table of format '{project.file_format}' fails"
        assert message.count(f"{said}: rename it, or leave it out") == 3
        assert message.count("column '${env:HOME}': Spark puts a setting in place of ${…}") == (3 if day == 1 else 0)

    given = project.spark.sql(f"select {more.format(1)}, 1 as dear").withColumnRenamed("dear", "${env:HOME}")
    given.write.format("parquet").saveAsTable(f"{project.schema}.rows")
    refused(1)
    assert not set(TABLES) & project.tables()
    project.sql("drop table {schema}.rows")
    project.sql(f"create table {{schema}}.rows using parquet as select * from values {known} as t(id, v)")
    project.dbt("build", "--vars", "{day: 1}")
    before = {table: project.contents(table) for table in TABLES}
    project.sql("drop table {schema}.rows")
    project.sql(f"create table {{schema}}.rows using parquet as select {more.format(2)}")
    refused(2)
    assert before == {table: project.contents(table) for table in TABLES}


@pytest.mark.only_format("delta")  # whose change feed has columns of its own, and fails by backticks
def test_a_column_that_would_end_a_log_is_refused_before_anything_is_written(project: Project) -> None:
    logged = {
        path: text.replace("meta: {dbt_cdc: {", "meta: {dbt_cdc: {change_log: key_op, ")
        for path, text in MODELS.items()
    }
    logged["models/applied.sql"] = MODELS["models/applied.sql"].replace(
        "{'sequence", "{'change_log': 'key_op', 'sequence"
    )
    logged["snapshots/snapped.yml"] = MODELS["snapshots/snapped.yml"].replace(
        "[v]}", "[v], meta: {dbt_cdc: {change_log: key_op}}}"
    )
    project.write(logged)
    project.sql("create table {schema}.rows using parquet as select 1 as id, 1 as v")
    project.dbt("build", "--vars", "{day: 1}")
    logs = tuple(f"{name}__changes" for name in ("hashed", "applied", "snapped"))
    before = {table: project.contents(table) for table in TABLES + logs}
    project.sql("drop table {schema}.rows")
    project.sql(
        "create table {schema}.rows using parquet as select 1 as id, 2 as v, 'x' as `a``b`, 'i' as _change_type"
    )
    message = project.error("build", "--vars", "{day: 2}")
    for name in ("a`b", "_change_type"):
        said = f"column '{name}' has a name by which a table of format 'delta' with a change log fails"
        assert message.count(f"{said}: rename it, or leave it out") == 3
    assert before == {table: project.contents(table) for table in TABLES + logs}
    project.sql("drop table {schema}.rows")
    project.sql("create table {schema}.rows using parquet as select 1 as id, 2 as v")
    project.dbt("build", "--vars", "{day: 2}")
    operations = {log: [op for (op,) in project.rows(f"select op from {{schema}}.{log} order by op")] for log in logs}
    # a snapshot closes a record and writes another
    assert operations == dict(zip(logs, (["i", "u"], ["i", "u"], ["i", "i", "u"]), strict=True))


@pytest.mark.only_format("delta")
def test_names_that_delta_maps_go_with_a_change_feed_from_the_first_run_on(project: Project) -> None:
    """A feed that the table's properties ask for, the change log, or the session: not of `applied` by the last run.

    The session asks to have all names mapped, so that `even` ones are.
    """
    by_default = "spark.databricks.delta.properties.defaults."
    feed = "tblproperties={'delta.enableChangeDataFeed': 'true'}"
    snapshot = MODELS["snapshots/snapped.yml"].replace("check_cols: [v]", "check_cols: all, " + feed.replace("=", ": "))
    applied, options = MODELS["models/applied.sql"], "'sequence_by': 'v'"
    logged = applied.replace(options, f"{options}, 'change_log': 'data_before_after'")
    table = (
        f"def model(dbt, spark):\n    dbt.config(materialized='table', {feed})\n    return dbt.source('raw', 'rows')"
    )
    fields = ", ".join(f"'f{n}', {n}" for n in range(30))  # of which Spark cuts the text
    project.write(
        {
            **MODELS,
            "models/hashed.py": MODELS["models/hashed.py"].replace('"id"', f'"id", {feed}'),
            "models/logged.sql": logged,
            "models/wide.sql": logged.replace("select *", f"select id, v, named_struct({fields}, 'o p', v) as s"),
            "models/copied.py": table,
            "models/even.sql": logged.replace("select *", "select id, v"),
            "models/even_copied.py": table + ".select('id', 'v')",
            "snapshots/snapped.yml": snapshot,
        }
    )
    tables = ("hashed__base", "hashed__history", "applied", "logged", "copied", "snapped", "even", "even_copied")
    for day in (1, 2, 3):
        project.sql("drop table if exists {schema}.rows")
        project.sql(f"create table {{schema}}.rows using parquet as select 1 as id, {day} as v, 'x{day}' as `a b`")
        defaults = {"enableChangeDataFeed": "true" if day < 3 else "false", "columnMapping.mode": "name"}
        with session_conf(project.spark, {by_default + name: value for name, value in defaults.items()}):
            project.dbt("build", *(["--full-refresh"] if day == 3 else []), "--vars", f"{{day: {day}}}")
        for name in ("applied", "logged", "copied", "hashed"):
            assert project.rows(f"select id, v, `a b` from {{schema}}.{name}") == [(1, day, f"x{day}")]
        for name in ("even", "even_copied"):
            assert project.rows(f"select * from {{schema}}.{name}") == [(1, day)]
        for name in tables:
            kept = dict(project.rows(f"show tblproperties {{schema}}.{name}"))
            is_on = "false" if name == "applied" and day == 3 else "true"
            assert (kept["delta.enableChangeDataFeed"], kept["delta.columnMapping.mode"]) == (is_on, "name"), name
    assert project.rows("select v, `a b` from {schema}.snapped order by v") == [(1, "x1"), (2, "x2"), (3, "x3")]
    assert project.rows("select op, before, after.`a b` from {schema}.logged__changes") == [("i", None, "x3")]
    assert project.rows("select op, before, after.s.`o p` from {schema}.wide__changes") == [("i", None, 3)]


@pytest.mark.only_format("delta")  # which takes no table from a mapping by id to one by name
def test_a_table_that_is_mapped_by_id_takes_names_that_have_to_be_mapped(project: Project) -> None:
    project.configure(
        models={"consumer": {"+tblproperties": {"delta.columnMapping.mode": "id"}}},
        snapshots={"consumer": {"+tblproperties": {"delta.columnMapping.mode": "id"}}},
    )
    grown = MODELS["models/applied.sql"].replace("unique_key", "on_schema_change='append_new_columns', unique_key")
    project.write({**MODELS, "models/applied.sql": grown})
    for day, more in ((1, ""), (2, ", 'x' as `a b`")):
        project.sql("drop table if exists {schema}.rows")
        project.sql(f"create table {{schema}}.rows using parquet as select 1 as id, {day} as v{more}")
        project.dbt("build", "--vars", f"{{day: {day}}}")
    for name in TABLES:
        kept = dict(project.rows(f"show tblproperties {{schema}}.{name}"))
        assert kept["delta.columnMapping.mode"] == ("name" if name == "applied__events" else "id"), name
    for name in ("hashed", "applied"):
        assert project.rows(f"select id, v, `a b` from {{schema}}.{name}") == [(1, 2, "x")]
    assert project.rows("select v, `a b` from {schema}.snapped order by v") == [(1, None), (2, "x")]


@pytest.mark.one_format("iceberg")
def test_a_column_that_hudi_alone_keeps_is_one_like_any_other(project: Project) -> None:
    rows = "select 1 as id, '{{ var('day') }}.csv' as _hoodie_file_name, {{ var('day') }} as seq"
    project.write(
        {
            "models/applied.sql": """
                {{ config(materialized='apply_changes', unique_key='id',
                          meta={'dbt_cdc': {'sequence_by': 'seq', 'except_column_list': ['seq'], 'change_log': 'data_before_after'}}) }}
            """
            + rows,
            "models/told.sql": "{{ config(materialized='table') }} select op, before, after from {{ dbt_cdc.table_changes(ref('applied')) }}",
            "snapshots/kept.sql": "{% snapshot kept %}{{ config(unique_key='id', strategy='check', check_cols='all') }}"
            "select 1 as id, 'x' as v, 'part 7' as _hoodie_partition_path -- a text{% endsnapshot %}",
        }
    )
    for day in (1, 2):
        project.dbt("build", "--vars", f"{{day: {day}}}")
    assert project.rows("select id, v, _hoodie_partition_path, dbt_valid_to from {schema}.kept") == [
        (1, "x", "part 7", None)
    ]
    images = "select op, before._hoodie_file_name, after._hoodie_file_name from {schema}.%s order by op"
    for table in ("applied__changes", "told"):
        assert project.rows(images % table) == [("i", None, "1.csv"), ("u", "1.csv", "2.csv")]

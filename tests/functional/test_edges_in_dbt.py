"""What a reader by ref_changes keeps of dbt: hooks, lineage, unit tests, state; how changing inputs are joined."""

from __future__ import annotations

import json
import re
import time

import pytest

from tests.support.project import Project
from tests.support.spark import ROOT

pytestmark = pytest.mark.one_format("iceberg")

READER = "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='%s') }}\n"


def test_hooks_lineage_unit_tests_and_state_selection_stay_as_they_are(project: Project) -> None:
    hook = "insert into {{ target.schema }}.hooks values ('%s')"
    project.configure(models={"consumer": {"+post-hook": [hook % "project"]}})
    project.sql(f"create table {{schema}}.hooks (which string) using {project.file_format}")
    for table in ["customers", "orders"]:
        columns = "customer int, name string" if table == "customers" else "id int, customer int, amount int"
        columns += ", cdc_datetime_updated timestamp"
        project.sql(f"create table {{schema}}.{table}_raw ({columns}) using {project.file_format}")
    first = "timestamp '2024-01-01'"
    project.sql(f"insert into {{schema}}.customers_raw values (1, 'Ann', {first}), (2, 'Bo', {first})")
    project.sql(f"insert into {{schema}}.orders_raw values (1, 1, 10, {first}), (2, 2, 20, {first})")
    project.write(
        {
            "models/customers.sql": "select * from {{ target.schema }}.customers_raw",
            "models/orders.sql": "select * from {{ target.schema }}.orders_raw",
            "models/totals.sql": READER % "customer"
            + """
                {{ config(post_hook="insert into {{ target.schema }}.hooks values ('own')") }}
                with touched as (
                    select customer from {{ dbt_cdc.ref_changes('orders') }}
                    union
                    select customer from {{ dbt_cdc.ref_changes('customers') }}
                )
                select customer, name, sum(amount) as amount, {{ var('run', 1) }} as run
                from {{ ref('customers') }}
                join {{ ref('orders') }} using (customer)
                where customer in (select customer from touched)
                group by all
            """,
            "models/models.yml": """
                models: [{name: totals}]
                unit_tests:
                  - name: totals_adds_up
                    model: totals
                    given:
                      - {input: ref('customers'), rows: [{customer: 1, name: Ann}]}
                      - {input: ref('orders'), rows: [{customer: 1, amount: 1}, {customer: 1, amount: 2}]}
                    expect: {rows: [{customer: 1, name: Ann, amount: 3}]}
            """,
        }
    )
    project.dbt("build", "--threads", "1")
    results = json.loads((project.folder / "target/run_results.json").read_text())["results"]
    statuses = {result["unique_id"].split(".")[-1]: result["status"] for result in results}
    assert statuses["totals_adds_up"] == "pass"
    assert project.rows("select * from {schema}.totals order by customer") == [(1, "Ann", 10, 1), (2, "Bo", 20, 1)]
    hooks = project.rows("select which, count(*) from {schema}.hooks group by which order by which")
    assert hooks == [("own", 1), ("project", 3)]
    assert project.rows("select count(*) from {schema}.cdc_metadata") == [(2,)]
    manifest = project.dbt("parse").result
    parents = manifest.nodes["model.consumer.totals"].depends_on.nodes
    assert sorted(parents) == ["model.consumer.customers", "model.consumer.orders"]

    state = str(project.folder / "state")
    manifest.write(f"{state}/manifest.json")
    changed = project.dbt("ls", "--select", "state:modified", "--state", state)
    assert changed.result == []
    totals = (project.folder / "models/totals.sql").read_text()
    project.write({"models/totals.sql": totals + "-- modified\n"})
    changed = project.dbt("ls", "--select", "state:modified", "--state", state, "--resource-type", "model")
    assert changed.result == ["consumer.totals"]

    # a change on one side reads what belongs to it on the other
    project.sql("insert into {schema}.orders_raw values (3, 2, 5, timestamp '2024-01-02')")
    project.dbt("run", "--select", "totals", "--vars", "{run: 2}")
    assert project.rows("select * from {schema}.totals order by customer") == [(1, "Ann", 10, 1), (2, "Bo", 25, 2)]
    change = "name = 'Anne', cdc_datetime_updated = timestamp '2024-01-03'"
    project.sql(f"update {{schema}}.customers_raw set {change} where customer = 1")
    project.dbt("run", "--select", "totals", "--vars", "{run: 3}")
    assert project.rows("select * from {schema}.totals order by customer") == [(1, "Anne", 10, 3), (2, "Bo", 25, 2)]

    # a Python model may call it by another name
    project.sql("drop table {schema}.cdc_metadata")
    project.write(
        {
            "models/renamed.py": """
                from dbt_cdc import ref_changes as changed

                def model(dbt, spark):
                    dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="id")
                    dbt.ref("orders")
                    return changed(dbt, spark, "orders")
            """,
        }
    )
    project.dbt("run", "--select", "renamed")
    assert project.rows("select watermark is not null, sequence from {schema}.cdc_metadata") == [(True, 1)]


def test_a_python_reader_beside_another_run_moves_no_watermark(project: Project) -> None:
    """Two runs of an incremental Python model keep their new rows in one table of dbt-spark's."""
    project.sql(f"create table {{schema}}.orders (id int, cdc_datetime_updated timestamp) using {project.file_format}")
    project.write(
        {
            "models/models.yml": f"""
                sources: [{{name: raw, schema: {project.schema}, tables: [{{name: orders}}]}}]
                models: [{{name: reader, config: {{then: "{{{{ var('then', '') }}}}"}}}}]
            """,
            "models/reader.py": """
                import dbt_cdc

                def model(dbt, spark):
                    dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="id")
                    dbt.source("raw", "orders")
                    orders = dbt_cdc.ref_changes(dbt, spark, "raw", "orders")
                    exec(dbt.config.get("then"))
                    return orders
            """,
        }
    )
    made, old = (" ".join(str(int(time.time()) - seconds)) for seconds in (1800, 3601))
    other = f"alter table {{schema}}.reader set tblproperties ('dbt_cdc.reader.other' = '{made}')"
    # what another run does before it writes rows of its own into reader__dbt_tmp
    then = '{then: "spark.sql(\\"' + other.replace("{schema}", project.schema) + '\\")"}'

    # and what one that had found this run's mark does when it ends first
    touch = f"""
for name, value in spark.sql("show tblproperties {project.schema}.reader").collect():
    if name.startswith("dbt_cdc.reader"):
        spark.sql(f"alter table {project.schema}.reader set tblproperties ('{{name}}' = '- {{value}}')")
"""

    def marks() -> list[str]:
        properties = project.rows("show tblproperties {schema}.reader")
        return [row[0] for row in properties if row[0].startswith("dbt_cdc.reader")]

    def add(number: int) -> None:
        project.sql(f"insert into {{schema}}.orders values ({number}, timestamp_seconds({number}))")

    watermarks = "select watermark from {schema}.cdc_metadata order by sequence"
    add(1)
    project.dbt("run")
    add(2)
    error = project.error("run", "--vars", then) + project.log()
    assert "model.consumer.reader can't run, its watermarks were not moved" in error
    assert "another run of this model was at work at the same time" in error
    assert project.rows(watermarks) == [("1000000",)]
    assert marks() == ["dbt_cdc.reader.other"]

    # the mark may be that of a killed run: this one's rows are there, and are read once more by the next. It stays for an
    # hour, as its run may be at work for longer than this one
    for mark in (["dbt_cdc.reader.other"], []):
        if not mark:
            project.sql(other.replace(made, old))
        add(3)
        project.dbt("run")
        assert "has ended without a word, or is still at work" in project.new_log()
        assert project.rows(watermarks) == [("1000000",)]
        assert project.rows("select id from {schema}.reader order by id") == [(1,), (2,), (3,)]
        assert marks() == mark
        shown = project.rows("show tblproperties {schema}.reader ('dbt_cdc.reader.other')")[0][1]
        assert shown.startswith("- 1") if mark else "does not have" in shown
        project.sql("delete from {schema}.orders where id = 3")
    add(3)
    assert "ValueError: 7" in project.error("run", "--vars", "{then: 'raise ValueError(7)'}")
    assert marks() == []
    # a run of a part of the rows puts its own into the table that both write
    for more in ([], ["--empty"]):
        error = project.error("run", *more, "--vars", json.dumps({"then": touch}))
        assert "another run of this model was at work" in error
    assert (marks(), project.rows(watermarks)) == ([], [("1000000",)])
    add(4)
    project.dbt("run")
    assert "reads 3 rows of" in project.log()
    assert project.rows("select id from {schema}.reader order by id") == [(1,), (2,), (3,), (4,)]
    assert project.rows(watermarks) == [("1000000",), ("4000000",)]


ORDERS = """
    {{ config(materialized='table') }}
    select id, timestamp_seconds(id) as cdc_datetime_updated from range({{ var('rows') }})
"""


def test_a_python_reader_that_calls_by_way_of_other_code_has_its_watermark_too(project: Project) -> None:
    """dbt_cdc sees no reader in its text, and so makes no cdc_metadata before the run."""
    project.write(
        {
            "models/orders.sql": ORDERS,
            "models/reader.py": """
                import dbt_cdc


                def model(dbt, spark):
                    dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="id")
                    dbt.ref("orders")
                    read = getattr(dbt_cdc, "ref_" + "changes")
                    return read(dbt, spark, "orders").selectExpr("id", f"{dbt.config.get('run')} as run")
            """,
            "models/reader.yml": "models: [{name: reader, config: {run: \"{{ var('rows') }}\"}}]",
        }
    )
    for rows in (1, 2):
        project.dbt("run", "--vars", f"{{rows: {rows}}}")
    assert project.rows("select id, run from {schema}.reader order by id") == [(0, 1), (1, 2)]
    moves = "select destination, watermark, sequence from {schema}.cdc_metadata order by sequence"
    reader = f"{project.schema}.reader"
    assert project.rows(moves) == [
        (reader, "0", 1),
        (reader, "1000000", 2),
    ]


def test_a_python_model_of_apply_changes_reads_what_is_new(project: Project) -> None:
    layout = 'clustered_by="id", buckets=2, ' if project.file_format == "iceberg" else ""
    project.write(
        {
            "models/orders.sql": ORDERS,
            "models/applied.py": """
                import dbt_cdc


                def model(dbt, spark):
                    dbt.config(materialized="apply_changes", LAYOUT unique_key="id", meta={"dbt_cdc": {"sequence_by": "id"}})
                    dbt.ref("orders")
                    return dbt_cdc.ref_changes(dbt, spark, "orders")
            """.replace("LAYOUT ", layout),
            "models/whole.py": """
                def model(dbt, spark):
                    dbt.config(materialized="apply_changes", unique_key="id", meta={"dbt_cdc": {"sequence_by": "id"}})
                    is_there = spark.catalog.tableExists(str(dbt.this))
                    return dbt.ref("orders").selectExpr("id", "'many' as n" if is_there else "1 as n")
            """,
        }
    )
    for rows in (1, 2):
        project.dbt("run", "--vars", f"{{rows: {rows}}}", *(["--exclude", "whole"] if rows > 1 else []))
        assert "reads 1 rows of" in project.new_log()
    assert project.rows("select id from {schema}.applied order by id") == [(0,), (1,)]
    project.dbt("run", "--empty", "--select", "whole")  # of rows that its table could not take, none is read
    assert project.run_results()["whole"]["message"] == "APPLY CHANGES (0 events: 0 inserted, 0 updated, 0 deleted)"
    batches = (
        "select id, count(*) over (partition by _dbt_cdc_batch) from {schema}.applied__events where id is not null"
    )
    assert project.rows(f"{batches} order by id") == [(0, 1), (1, 1)]
    moves = "select watermark from {schema}.cdc_metadata order by sequence"
    assert project.rows(moves) == [("0",), ("1000000",)]

    # rows that no longer hold may be deleted
    told = re.search(r"```sql\n(merge into cdc_metadata .*?)```", (ROOT / "docs/ref_changes.md").read_text(), re.DOTALL)
    assert told
    project.sql(told[1].replace("cdc_metadata", "{schema}.cdc_metadata"))
    assert project.rows(moves) == [("1000000",)]
    project.dbt("run", "--vars", "{rows: 3}", "--exclude", "whole")
    assert "reads 1 rows of" in project.new_log()
    assert project.rows("select id from {schema}.applied order by id") == [(0,), (1,), (2,)]
    assert project.rows(moves) == [("1000000",), ("2000000",)]


def test_names_that_need_backticks_are_found_as_keys_and_as_upstreams(project: Project) -> None:
    schema = project.schema
    project.configure(quoting={"identifier": True})
    project.sql(f"create table {{schema}}.`a.b` (`Key Id` int, v string) using {project.file_format}")
    project.sql("insert into {schema}.`a.b` values (1, 'a')")
    folder = f"{project.folder}/landed.d"
    stamped = "id, timestamp_seconds(id) as cdc_datetime_updated"
    landed = f"insert overwrite directory '{folder}' using parquet select {stamped}"
    project.sql(f"{landed} from range(1, 3)")
    files = f"{{name: files, schema: parquet, tables: [{{name: landed, identifier: {folder}, quoting: {{identifier: true}}}}]}}"
    raw = f"{{name: raw, schema: {schema}, tables: [{{name: dotted, identifier: a.b, quoting: {{identifier: true}}}}]}}"
    python = """
        import dbt_cdc

        def model(dbt, spark):
            dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="`Key Id`")
            dbt.source("raw", "dotted")
            return dbt_cdc.ref_changes(dbt, spark, "raw", "dotted", by="version", unique_key="Key Id")
    """
    key = READER % "`Key Id`"
    project.write(
        {
            "models/sources.yml": f"sources: [{raw}, {files}]",
            "models/of_files.sql": READER % "id" + "select * from {{ dbt_cdc.ref_changes(source('files', 'landed')) }}",
            "models/upstream.sql": key + "select * from {{ source('raw', 'dotted') }}",
            "models/by_version.sql": key
            + "select * from {{ dbt_cdc.ref_changes('upstream', by='version') }} -- the new",
            # the upstream has no key of its own: the reader's
            "models/dotted.sql": key + "select * from {{ dbt_cdc.ref_changes(source('raw', 'dotted'), by='version') }}",
            "models/dotted_python.py": python,
            "models/changes.sql": "{{ config(materialized='table') }} select op, after.`Key Id` as k, after.v as v"
            " from {{ dbt_cdc.table_changes(ref('upstream'), format='net') }}",
        }
    )
    project.dbt("run")
    for reader in ("by_version", "dotted", "dotted_python"):
        assert project.rows(f"select `Key Id`, v, _op from {{schema}}.{reader}") == [(1, "a", "i")], reader
    project.sql("insert into {schema}.`a.b` values (2, 'b')")
    project.sql(f"{landed} from range(1, 4)")
    project.dbt("run", "--select", "upstream", "by_version", "changes", "of_files")
    assert f"of_files reads 1 rows of parquet.`{folder}` (new ones)" in project.new_log()
    assert project.rows("select id from {schema}.of_files order by id") == [(1,), (2,), (3,)]
    assert project.rows("select `Key Id`, v, _op from {schema}.by_version order by 1") == [(1, "a", "i"), (2, "b", "i")]
    assert project.rows("select * from {schema}.changes order by k") == [("i", 1, "a"), ("i", 2, "b")]
    edges = "select distinct source, destination from {schema}.cdc_metadata order by all"
    assert set(project.rows(edges)) == {
        (f"{schema}.`a.b`", f"{schema}.dotted"),
        (f"{schema}.`a.b`", f"{schema}.dotted_python"),
        (f"{schema}.upstream", f"{schema}.by_version"),
        (f"parquet.`{folder}`", f"{schema}.of_files"),
    }
    project.dbt("run-operation", "cdc_summary")
    _, heading, edges_told = project.new_log().rpartition("rows waiting")
    assert heading and "gone" not in edges_told


def test_a_python_reader_takes_the_sample_of_a_source_that_dbt_gives(project: Project) -> None:
    project.sql(
        f"create table {{schema}}.orders using {project.file_format} as select 1 as id,"
        " timestamp '2024-01-01' as at, timestamp '2024-01-01' as cdc_datetime_updated"
        " union all select 2, current_timestamp(), timestamp '2024-01-02'"
    )
    source = f"{{name: raw, schema: {project.schema}, tables: [{{name: orders, config: {{event_time: at}}}}]}}"
    project.write(
        {
            "models/models.yml": f"""
                sources: [{source}]
                models: [{{name: reader, config: {{meta: {{run: "{{{{ var('run') }}}}"}}}}}}]
            """,
            "models/reader.py": """
                import dbt_cdc

                def model(dbt, spark):
                    dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="id")
                    dbt.source("raw", "orders")
                    run = dbt.config.meta_get("run")
                    return dbt_cdc.ref_changes(dbt, spark, "raw", "orders").selectExpr("id", f"{run} as run")
            """,
        }
    )
    project.dbt("run", "--vars", "{run: 0}")
    project.dbt("run", "--vars", "{run: 1}", "--sample", "1 day")
    assert project.rows("select id, run from {schema}.reader order by id") == [(1, 0), (2, 1)]
    assert project.rows("select sequence from {schema}.cdc_metadata") == [(1,)]


def test_a_unit_test_may_give_the_operations_of_a_reader_by_version(project: Project) -> None:
    project.sql(f"create table {{schema}}.orders using {project.file_format} as select 1 as id, 'a' as v")
    source = f"sources: [{{name: raw, schema: {project.schema}, tables: [{{name: orders}}]}}]"
    reader = (READER % "id") + "select * from {{ dbt_cdc.ref_changes(source('raw', 'orders'), by='version') }}"
    given = {
        "of_themselves": "rows: [{id: 1, v: a}]",
        "as_they_are": """format: sql, rows: "select 1 as id, 'a' as v, 'd' as _op union all select 2, 'b', 'u'\"""",
    }
    expected = {
        "of_themselves": "[{id: 1, v: a, _op: i}]",
        "as_they_are": "[{id: 1, v: a, _op: d}, {id: 2, v: b, _op: u}]",
    }
    tests = "".join(
        f"""
  - name: {name}
    model: reader
    given: [{{input: "source('raw', 'orders')", {rows}}}]
    expect: {{rows: {expected[name]}}}"""
        for name, rows in given.items()
    )
    project.write({"models/reader.sql": reader, "models/models.yml": f"{source}\nunit_tests:{tests}\n"})
    project.dbt("build")
    results = json.loads((project.folder / "target/run_results.json").read_text())["results"]
    statuses = {result["unique_id"].split(".")[-1]: result["status"] for result in results}
    assert [statuses[name] for name in ("of_themselves", "as_they_are", "reader")] == ["pass", "pass", "success"]
    assert project.rows("select id, v, _op from {schema}.reader") == [(1, "a", "i")]

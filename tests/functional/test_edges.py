"""Models that read only what changed upstream since their own last successful run."""

from __future__ import annotations

import re
from datetime import datetime
from itertools import takewhile
from typing import Any

import pytest

from tests.support.project import Project

READER = "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}"


def edges(project: Project, schema: str = "{schema}") -> list[tuple[Any, ...]]:
    """All moves so far, oldest first: upstream, model (without schema), watermark."""
    query = f"""select source, destination, cdc_datetime_updated from {schema}.cdc_metadata
                order by source, destination, sequence"""
    return [(s.split(".")[1], d.split(".")[1], w) for s, d, w in project.rows(query)]


def said(project: Project) -> list[str]:
    """What dbt_cdc has logged, without the schema, in the order of the log."""
    lines = [line.split("dbt_cdc: ", 1)[1] for line in project.log().splitlines() if "dbt_cdc: " in line]
    return [line.replace(project.schema + ".", "") for line in lines]


def summary(project: Project) -> list[list[str]]:
    """The cells of what cdc_summary prints of each edge, without the schema."""
    project.dbt("run-operation", "cdc_summary", "--vars", "{run: 0}")
    printed = re.split("source +destination", project.log())[-1].replace(f"{project.schema}.", "").splitlines()
    edge_lines = takewhile(lambda line: not re.match(r"=|\d\d:\d\d", line), printed[2:])
    return [[cell.strip() for cell in line.split("  ") if cell] for line in edge_lines]


@pytest.mark.one_format("iceberg")
def test_a_pipeline_reads_all_rows_first_and_then_only_the_new_ones(project: Project) -> None:
    project.write(
        {
            "models/input.sql": """
                {{ config(materialized='incremental', incremental_strategy='append') }}
                select id, name, timestamp '2024-01-01 00:00:00' + make_interval(0, 0, 0, {{ var('day') }})
                    as cdc_datetime_updated
                from values {{ var('customers') }} as t (id, name)
            """,
            "models/factors.sql": "{{ config(materialized='table') }} select 100 as factor",
            "models/processed.sql": f"""
                {READER}
                select id, name, concat(name, '_processed') as processed_name, cdc_datetime_updated
                from {{{{ dbt_cdc.ref_changes('input') }}}}
            """,
            "models/result.sql": f"""
                {READER}
                select id, name, processed_name, id * factor as score, '{{{{ var('day') }}}}' as day,
                    cdc_datetime_updated
                from {{{{ dbt_cdc.ref_changes('processed') }}}} as p
                cross join {{{{ ref('factors') }}}}
            """,
        }
    )
    project.dbt("run", "--vars", "{day: 1, customers: \"(1, 'Alice'), (2, 'Bob')\"}")
    first, second = datetime(2024, 1, 2), datetime(2024, 1, 3)
    assert edges(project) == [("input", "processed", first), ("processed", "result", first)]

    project.dbt("run", "--vars", "{day: 2, customers: \"(3, 'Charlie'), (4, 'Diana')\"}")
    assert project.rows("select * from {schema}.result order by id") == [
        (1, "Alice", "Alice_processed", 100, "1", first),
        (2, "Bob", "Bob_processed", 200, "1", first),
        (3, "Charlie", "Charlie_processed", 300, "2", second),
        (4, "Diana", "Diana_processed", 400, "2", second),
    ]
    assert edges(project) == [
        ("input", "processed", first),
        ("input", "processed", second),
        ("processed", "result", first),
        ("processed", "result", second),
    ]
    assert said(project) == [
        "processed reads 2 rows of input (all of them), cdc_datetime_updated up to 2024-01-02 00:00:00",
        "result reads 2 rows of processed (all of them), cdc_datetime_updated up to 2024-01-02 00:00:00",
        "processed reads 2 rows of input (new ones), cdc_datetime_updated up to 2024-01-03 00:00:00",
        "result reads 2 rows of processed (new ones), cdc_datetime_updated up to 2024-01-03 00:00:00",
    ]
    assert project.tables() == {"input", "factors", "processed", "result", "cdc_metadata"}


def read_by(call: str, *, select: str = "*", before: str = "") -> str:
    """A model that merges what `call` gives, and says in which of the test's runs it last got a row."""
    return f"{READER}{before} select {select}, {{{{ var('run') }}}} as run from {{{{ dbt_cdc.ref_changes({call}) }}}}"


EVENTS = "source('raw', 'events')"
AT = "timestamp '2024-01-01 00:00:00'"


@pytest.mark.one_format("iceberg")
def test_every_row_reaches_every_reader_once_whatever_happens_to_the_runs(project: Project) -> None:
    event = "insert into {schema}.events values (%s, timestamp '2024-01-01 00:00:%s', %s)"
    project.sql(
        "create table {schema}.events (id int, cdc_datetime_updated timestamp, `Größe` int)"
        f" using {project.file_format}"
    )
    project.sql(event % (1, "01", 1))
    project.sql(event % (2, "02", 2))
    project.sql("insert into {schema}.events values (3, null, null)")
    project.sql(
        f"create table {{schema}}.arrivals (id int, cdc_datetime_updated timestamp) using {project.file_format}"
    )
    arrival = "insert into {schema}.arrivals values (%s, timestamp '2024-01-01 00:00:%s')"
    project.sql(arrival % (1, "01"))
    breaks = "{{ exceptions.raise_compiler_error('broken') if execute and var('run') in [2, 6] }}"
    lands = "{% if var('run') == 2 %}" + (arrival % (9, "09")).format(schema=project.schema) + "{% endif %}"
    project.write(
        {
            "models/sources.yml": f"""
                sources: [{{name: raw, schema: {project.schema}, tables: [{{name: events}}, {{name: arrivals}}]}}]
            """,
            "models/seen.sql": "{{ config(materialized='view') }} select * from {{ source('raw', 'events') }}",
            "models/inline.sql": "{{ config(materialized='ephemeral') }} select * from {{ source('raw', 'events') }}",
            "models/stamped_now.sql": "{{ config(materialized='view') }}"
            "select id, current_timestamp() as cdc_datetime_updated from {{ source('raw', 'events') }}",
            "models/plain.sql": read_by(EVENTS),
            "models/behind_inline.sql": read_by("'inline'"),
            "models/other.sql": read_by(f"{EVENTS}, column='größe'"),
            "models/through_a_view.sql": read_by("'seen'"),
            "models/through_a_clock.sql": read_by("'stamped_now'"),
            "models/without_stamp.sql": read_by(f"{EVENTS}, column='loaded'"),
            # a row lands after the model has pinned what it reads and before it writes
            "models/busy.sql": read_by("source('raw', 'arrivals')", before='{{ config(pre_hook="' + lands + '") }}'),
            # a run that breaks before the write, and one that breaks between write and watermark
            "models/broken.sql": read_by(
                EVENTS, select="id, if({{ var('run') }} = 2, raise_error('broken'), 0) as zero"
            ),
            "models/unmoved.sql": read_by(EVENTS, before='{{ config(post_hook="' + breaks + '") }}'),
            "models/unmoved_versions.sql": read_by(
                f"{EVENTS}, by='version', unique_key='id'", before='{{ config(post_hook="' + breaks + '") }}'
            ),
            # what else ref takes, in both languages
            "models/kinds_v1.sql": "{{ config(materialized='view') }}"
            "select *, if(id = 3, double('NaN'), double(`Größe`)) as size from {{ source('raw', 'events') }}",
            "models/kinds_v2.sql": "{{ config(materialized='view') }} select 0 as id",
            "models/models.yml": """
                models:
                  - name: kinds
                    latest_version: 2
                    versions: [{v: 1}, {v: 2}]
                  - name: plain
                    columns: [{name: id, data_tests: [not_null]}]
                  - {name: in_python, config: {run: "{{ var('run') }}", meta: {dbt_cdc: {ref_changes_column: size}}}}
            """,
            "models/named.sql": read_by("'consumer', 'kinds', v=1"),
            "models/referred.sql": read_by("ref('consumer', 'kinds', v=1)"),
            "models/related.sql": read_by(
                "api.Relation.create(schema=target.schema, identifier='events')",
                before="{{ config(meta={'dbt_cdc': {'ref_changes_column': 'größe'}}) }}",
            ),
            "models/in_python.py": """
                import dbt_cdc

                def model(dbt, spark):
                    dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="id")
                    dbt.ref("consumer", "kinds", v=1)
                    rows = dbt_cdc.ref_changes(dbt, spark, "consumer", "kinds", version=1)
                    return rows.selectExpr("id", f"{dbt.config.get('run')} as run")
            """,
        }
    )

    def run(number: int, *arguments: str, broken: bool = False) -> None:
        command = ("run", "--vars", f"{{run: {number}}}", "--threads", "2", *arguments)
        project.error(*command) if broken else project.dbt(*command)

    def ids(model: str) -> dict[int, int]:
        """The run in which each row was last read."""
        return dict(project.rows(f"select id, run from {{schema}}.{model}"))

    run(1)
    readers = ["plain", "other", "through_a_view", "through_a_clock", "without_stamp", "broken", "unmoved"]
    readers += ["named", "referred", "related", "in_python"]
    assert {name: ids(name) for name in readers} == {name: {1: 1, 2: 1, 3: 1} for name in readers}
    assert ids("busy") == {1: 1}

    project.sql(event % (4, "04", 4))
    project.sql(arrival % (4, "04"))
    project.sql(event % (5, "02", 5))  # late: stamped at the watermark
    run(2, broken=True)
    assert ids("plain") == {1: 1, 2: 1, 3: 2, 4: 2}
    assert ids("other") == {1: 1, 2: 1, 3: 2, 4: 2, 5: 2}
    assert ids("through_a_view") == ids("named") == ids("referred") == {1: 1, 2: 1, 3: 2, 4: 2}
    assert ids("related") == ids("in_python") == ids("other")
    # what a view stamps with the clock is new in every run
    whole = {name: ids(name) for name in ["without_stamp", "behind_inline", "through_a_clock"]}
    assert whole == dict.fromkeys(whole, dict.fromkeys([1, 2, 3, 4, 5], 2))
    assert ids("busy") == {1: 1, 4: 2}
    assert ids("broken") == {1: 1, 2: 1, 3: 1}
    assert ids("unmoved") == {1: 1, 2: 1, 3: 2, 4: 2}
    # (by version a watermark's time is that of the commit)
    watermarks = {(s, d): w for s, d, w in edges(project) if d not in ["unmoved_versions", "through_a_clock"]}
    second, fourth = datetime(2024, 1, 1, 0, 0, 2), datetime(2024, 1, 1, 0, 0, 4)
    assert watermarks == {
        ("events", "plain"): fourth,
        ("events", "other"): None,
        ("seen", "through_a_view"): fourth,
        ("kinds_v1", "named"): fourth,
        ("kinds_v1", "referred"): fourth,
        ("kinds_v1", "in_python"): None,
        ("events", "related"): None,
        ("events", "without_stamp"): None,
        ("arrivals", "busy"): fourth,
        ("events", "broken"): second,
        ("events", "unmoved"): second,
    }

    for line in [
        "plain reads 2 rows of events (all of them), cdc_datetime_updated up to 2024-01-01 00:00:02,"
        " and 1 without cdc_datetime_updated, as in every run",
        "plain reads 1 rows of events (new ones), cdc_datetime_updated up to 2024-01-01 00:00:04,"
        " and 1 without cdc_datetime_updated, as in every run",
        "in_python reads 2 rows of kinds_v1 (all of them), size up to 2.0, and 1 without size, as in every run",
        "events has no column loaded, without_stamp reads all its rows",
    ]:
        assert line in said(project)

    moves = edges(project)
    vars_ = ("--vars", "{run: 3}")
    looked_at = len(said(project))
    project.dbt("compile", *vars_)
    compiled = (project.folder / "target/compiled/consumer/models/plain.sql").read_text()
    assert "cdc_datetime_updated` > timestamp_micros(" in compiled and "<=" not in compiled
    assert not [line for line in said(project)[looked_at:] if re.search(r"reads \d+ rows", line)]
    project.dbt("show", "--select", "plain", *vars_)
    project.dbt("docs", "generate", *vars_)
    tested = [(test.node.name, test.status) for test in project.dbt("test", *vars_).result.results]
    assert ("not_null_plain_id", "pass") in tested
    before = {name: ids(name) for name in readers}
    project.dbt("run", "--empty", *vars_)
    assert {name: ids(name) for name in readers} == before
    project.dbt("run", "--sample=1 day", "--select", "plain", *vars_)
    assert ids("plain") == dict.fromkeys([1, 2, 3, 4, 5], 3)
    assert edges(project) == moves

    run(3, "--select", "plain", "busy", "broken", "unmoved")
    assert ids("plain") == dict.fromkeys([1, 2, 3, 4, 5], 3)
    assert ids("busy") == {1: 1, 4: 2, 9: 3}
    assert ids("broken") == {1: 1, 2: 1, 3: 3, 4: 3}
    assert ids("unmoved") == {1: 1, 2: 1, 3: 3, 4: 3}

    run(4, "--full-refresh", "--select", "plain")
    assert ids("plain") == dict.fromkeys([1, 2, 3, 4, 5], 4)
    project.sql("drop table {schema}.busy")
    run(5, "--select", "plain", "busy")
    assert ids("busy") == dict.fromkeys([1, 4, 9], 5)
    assert ids("plain") == {1: 4, 2: 4, 3: 5, 4: 4, 5: 4}
    # an empty table made in the place of a full one has nothing of what the watermark says
    emptied = ["plain", "unmoved", "unmoved_versions"]
    run(6, "--empty", "--full-refresh", "--select", *emptied, broken=True)
    assert [ids(name) for name in emptied] == [{}, {}, {}]
    run(7, "--select", *emptied)
    assert [ids(name) for name in emptied] == [dict.fromkeys([1, 2, 3, 4, 5], 7)] * 3


@pytest.mark.one_format("iceberg")
def test_a_model_that_cannot_keep_a_watermark_is_refused_before_anything_is_written(project: Project) -> None:
    new = "select * from {{ dbt_cdc.ref_changes('orders') }}"
    bad = "{{ config(materialized='incremental', incremental_strategy='%s', %s) }} select * from {{ %s }}"
    project.write(
        {
            "models/orders.sql": "{{ config(materialized='table') }} select 1 as id, map('a', 1) as m",
            "models/as_table.sql": "{{ config(materialized='table') }}" + new,
            "models/as_view.sql": "{{ config(materialized='view') }}" + new,
            "models/inline.sql": "{{ config(materialized='ephemeral') }}" + new,
            "models/behind.sql": READER + "select * from {{ ref('inline') }}",
            "models/appends.sql": bad
            % ("append", "meta={'dbt_cdc': {'ref_changes_bye': 'version'}}", "dbt_cdc.ref_changes('orders')"),
            "models/misspelt.sql": bad % ("merge", "unique_key='id'", "dbt_cdc.ref_changes('orders', by='versoin')"),
            "models/unsortable.sql": bad % ("merge", "unique_key='id'", "dbt_cdc.ref_changes('orders', column='m')"),
            "models/idle_column.sql": READER
            + "select id from {{ dbt_cdc.ref_changes('orders', by='version', unique_key='id', column='id') }}",
            "models/idle_key.sql": READER
            + "select id from {{ dbt_cdc.ref_changes('orders', unique_key=['id', 'm']) }}",
            "models/mistyped.sql": READER
            + "select id from {{ dbt_cdc.ref_changes('orders', by='version', column=['a'], unique_key=3) }}",
            "models/empty.sql": READER + "select id from {{ dbt_cdc.ref_changes('orders', column='') }}",
            "models/of_a_version.sql": READER + "select id from {{ dbt_cdc.ref_changes(ref('orders'), v=2) }}",
            # an upstream without a key is taken to have its reader's, but it lacks that column
            "models/keyless.sql": bad
            % ("merge", "unique_key=['id', 'line']", "dbt_cdc.ref_changes('orders', by='version')"),
            "models/of_inline.sql": READER + "select 1 as id from {{ dbt_cdc.ref_changes('nothing', by='version') }}",
            "models/nothing.sql": "{{ config(materialized='ephemeral') }} select 1 as id",
            "models/imaged.sql": """
                {{ config(materialized='apply_changes', unique_key='id',
                          meta={'dbt_cdc': {'sequence_by': 'id', 'source_kind': 'snapshot'}}) }}
                select id from {{ dbt_cdc.ref_changes('orders', by='version', unique_key='id') }}
            """,
            "models/hashed.yml": "models: [{name: hashed, config: {meta: {dbt_cdc: {extract_type: delta}}}}]",
            "models/hashed.py": """
                from dbt_cdc import ref_changes as changed

                def model(dbt, spark):
                    dbt.config(materialized="hash_diff", unique_key="id")
                    dbt.ref("orders")
                    return changed(dbt, spark, "orders", column="id")
            """,
            "snapshots/kept.sql": "{% snapshot kept %}{{ config(unique_key='id', strategy='check', check_cols=['id']) }}"
            + "select id from {{ dbt_cdc.ref_changes('orders') }}{% endsnapshot %}",
            "tests/asked.sql": new,
            "models/unparsed.sql": READER
            + "select * from {% if execute %}{{ dbt_cdc.ref_changes('orders', column='id') }}"
            "{% else %}{{ ref('orders') }}{% endif %}",
            "models/logged.sql": READER + "{{ config(meta={'dbt_cdc': {'change_log': 'key_op'}}) }}" + new,
            "models/two_ways.sql": READER + new + " join {{ dbt_cdc.ref_changes('orders', column='id') }} using (id)",
            "models/of_two_keys.sql": READER
            + "select id from {{ dbt_cdc.ref_changes('orders', by='version', unique_key='id') }} join "
            + "{{ dbt_cdc.ref_changes('orders', by='version', unique_key=['id', 'm']) }} using (id)",
            "models/of_a_frame.py": """
                import dbt_cdc

                def model(dbt, spark):
                    dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="id")
                    return dbt_cdc.ref_changes(dbt, spark, dbt.ref("orders"))
            """,
            "models/unnamed.py": """
                import dbt_cdc

                def model(dbt, spark):
                    dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="id")
                    return dbt_cdc.ref_changes(dbt, spark, "orders")
            """,
        }
    )
    errors = [
        project.error("build", "--exclude", "asked"),
        project.error("test", "--select", "asked"),
    ]
    said = "\n".join(["", *errors]).replace(project.schema, "schema")
    for model, problem in {
        "as_table": "ref_changes works in incremental models only, got 'table', which keeps nothing between runs",
        "as_view": "got 'view'",
        "behind": "compilation error in referenced ephemeral model model.consumer.inline",
        "appends": "ref_changes needs incremental_strategy 'merge', got 'append'",
        "misspelt": "ref_changes: by must be one of column, version, got \"versoin\", did you mean 'version'?",
        "unsortable": "column m of schema.orders is of type map<string,int>",
        "idle_column": 'ref_changes: column has no meaning by version, got "id": take it out, or read by column',
        "idle_key": 'ref_changes: unique_key has no meaning by column, got ["id", "m"]: take it out, or read by version',
        "two_ways": "ref_changes reads schema.orders in two ways, by column cdc_datetime_updated and by column id",
        "of_two_keys": "ref_changes reads schema.orders in two ways, by version id and by version id, m: there is one",
        "keyless": "ref_changes by version needs the key of schema.orders, got none",
        "of_inline": "nothing is an ephemeral model: make it a table or an incremental model, or read by column",
        "imaged": "ref_changes by version gives changes, got source_kind 'snapshot'",
        "hashed": "got a hash_diff model, which takes what it is given for all of its effective date's load",
        "kept": "ref_changes works in incremental models only, got 'snapshot'",
        "asked": "ref_changes works in incremental models only, got 'test'",
        "unparsed": "take it out of the `if`; the first run reads everything anyway",
        "logged": "got 'key_op' on an incremental model; take it out",
        "mistyped": "ref_changes: unique_key must be of type list, got 3",
        "empty": 'ref_changes: column must name a column, got ""',
        "of_a_version": "ref_changes takes a version beside the name of a model or package, got 2 beside",
        "of_a_frame": "takes the names that dbt.ref or dbt.source takes, such as ref_changes(dbt, spark, 'orders'), got",
        "unnamed": "Add the line `dbt.ref('orders')`",
    }.items():
        message = said.split(f"\n{model}: ")[1].split("\nmodel.")[0]
        assert problem in message, message
    assert 'ref_changes: column must be of type string, got ["a"]' in said
    assert (
        "ref_changes needs a unique_key" in said
        and "unknown option 'ref_changes_bye', did you mean 'ref_changes_by'?" in said
    )
    assert "dbt_cdc: model.consumer.inline can't run, nothing was written:" in project.log()
    assert project.tables() == {"orders", "cdc_metadata"}
    assert edges(project) == []


@pytest.mark.one_format("delta")
def test_versions_give_every_change_once_deletes_too_in_sql_and_python(project: Project) -> None:
    project.sql(
        "create table {schema}.orders (id int, amount int, cdc_datetime_updated timestamp, shop struct<name: string>)"
        f" using {project.file_format}"
    )
    first, second = datetime(2024, 1, 1), datetime(2024, 1, 2)
    row = "insert into {schema}.orders values (%s, %s, timestamp '2024-01-0%s', null, null)"
    for key, amount in ((1, 10), (2, 20), (7, 70)):
        shop = "named_struct('name', 'North')" if key == 2 else "null"
        project.sql(f"insert into {{schema}}.orders values ({key}, {amount}, timestamp '2024-01-01', {shop})")
    # no version before the first run has them
    project.sql("alter table {schema}.orders add columns (note string)")
    project.sql("alter table {schema}.orders add columns (shop.city string)")
    killed = "{{ exceptions.raise_compiler_error('killed') if execute and var('run') == 'killed' }}"
    python = """
        import dbt_cdc

        def model(dbt, spark):
            dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="id")
            run = dbt.config.get("run")
            changes = dbt_cdc.ref_changes(dbt, spark, %s)
            %s
            return changes.selectExpr("*", f"{run} as run")
    """
    project.write(
        {
            "models/models.yml": f"""
                sources: [{{name: raw, schema: {project.schema}, tables: [{{name: orders}}]}}]
                models:
                  - name: python_changes
                    config: {{run: "{{{{ var('run') }}}}", meta: {{dbt_cdc: {{ref_changes_by: version}}}}}}
                  - name: python_rows
                    config: {{run: "{{{{ var('run') }}}}"}}
                  - name: python_second
                    config: {{run: "{{{{ var('run') }}}}"}}
            """,
            "models/changes.sql": read_by("source('raw', 'orders'), by='version'"),  # by the reader's own key
            # a reader of a reader's changes, which have an `_op` of their own
            "models/second.sql": read_by("'changes', by='version'", select="id, amount, _op"),
            # a run that is killed between write and watermark
            "models/killed.sql": read_by(
                "source('raw', 'orders'), by='version', unique_key='id'",
                before='{{ config(post_hook="' + killed + '") }}',
            ).replace("{{ var('run') }} as run", "2 as run"),
            "models/python_changes.py": python % ("'raw', 'orders'", "dbt.source('raw', 'orders')"),
            "models/python_rows.py": python % ("'raw', 'orders'", "dbt.source('raw', 'orders')"),
            "models/python_second.py": python
            % ("'python_rows'", "dbt.ref('python_rows'); changes = changes.drop('run')"),
        }
    )

    def run(number: int, *arguments: str) -> None:
        project.dbt("run", "--vars", f"{{run: {number}}}", *arguments)

    run(1)
    both = [
        (1, 10, first, None, None, "i", 1),
        (2, 20, first, ("North", None), None, "i", 1),
        (7, 70, first, None, None, "i", 1),
    ]
    assert project.rows("select * from {schema}.changes order by id") == both
    assert project.rows("select * from {schema}.python_changes order by id") == both
    assert [name for name, _ in project.columns("python_changes")] == [
        "id",
        "amount",
        "cdc_datetime_updated",
        "shop",
        "note",
        "_op",
        "run",
    ]
    assert project.rows("select id, run from {schema}.python_rows order by id") == [(1, 1), (2, 1), (7, 1)]
    second_rows = "select id, amount, _op, run from {schema}.second order by id"
    assert project.rows(second_rows) == [(1, 10, "i", 1), (2, 20, "i", 1), (7, 70, "i", 1)]

    project.sql("update {schema}.orders set amount = 11 where id = 1")
    project.sql("delete from {schema}.orders where id = 2")
    project.sql(row % (3, 30, 1))  # late: stamped at the watermark
    project.sql(row % (4, 40, 2))
    project.sql("update {schema}.orders set amount = 41 where id = 4")
    project.sql(row % (5, 50, 2))
    project.sql("update {schema}.orders set amount = 71 where id = 7")
    assert "killed" in project.error("run", "--vars", "{run: killed}", "--select", "killed")
    assert project.rows("select amount from {schema}.killed where id in (5, 7) order by id") == [(50,), (71,)]
    project.sql("delete from {schema}.orders where id = 5")
    project.sql("update {schema}.orders set amount = 70 where id = 7")
    run(2)
    after = [
        (1, 11, first, None, None, "u", 2),
        (2, 20, first, ("North", None), None, "d", 2),
        (3, 30, first, None, None, "i", 2),
        (4, 41, second, None, None, "u", 2),
        (5, 50, second, None, None, "d", 2),
        (7, 70, first, None, None, "u", 2),
    ]
    assert project.rows("select * from {schema}.changes order by id") == after
    assert project.rows("select * from {schema}.killed order by id") == after
    assert project.rows("select * from {schema}.python_changes order by id") == after
    # what the row of `changes` went through, whose `_op` says what happened to the order
    assert project.rows(second_rows) == [
        (1, 11, "u", 2),
        (2, 20, "u", 2),
        (3, 30, "i", 2),
        (4, 41, "i", 2),
        (5, 50, "i", 2),
        (7, 70, "u", 2),
    ]
    rows = [(1, 10, 1), (2, 20, 1), (4, 41, 2), (7, 70, 1)]
    assert project.rows("select id, amount, run from {schema}.python_rows order by id") == rows
    assert project.rows("select id, amount, run from {schema}.python_second order by id") == rows
    moves = edges(project)
    assert [(s, d) for s, d, _ in moves] == [
        *[("changes", "second")] * 2,
        *[("orders", name) for name in ["changes", "killed", "python_changes"] for _ in range(2)],
        *[("orders", "python_rows")] * 2,
        *[("python_rows", "python_second")] * 2,
    ]
    assert [w for _, d, w in moves if d == "python_second"] == [first, second]

    run(3, "--exclude", "second")  # nothing new
    run(4, "--empty", "--select", "changes", "python_second")
    assert project.rows("select * from {schema}.changes order by id") == after
    assert project.rows("select * from {schema}.python_changes order by id") == after
    assert project.rows("select id, amount, run from {schema}.python_second order by id") == rows
    assert edges(project) == moves

    project.sql(row % (6, 60, 3))
    version = project.rows(
        "select watermark from {schema}.cdc_metadata where destination like '%.changes' order by sequence desc limit 1"
    )[0][0]
    schema, (of_changes, *lines) = project.schema, summary(project)
    assert [*of_changes[:3], of_changes[4]] == ["changes", "second", "by version", "0"]
    lag = lines[0][-1]
    assert re.fullmatch(r"00:\d\d:\d\d", lag) and lag > "00:00:00"
    assert lines == [
        ["orders", "changes", "by version", version, "1", lag],
        ["orders", "killed", "by version", version, "1", lag],
        ["orders", "python_changes", "by version", version, "1", lag],
        ["orders", "python_rows", "by cdc_datetime_updated", "2024-01-02 00:00:00", "1", "1 d 00:00:00"],
        ["python_rows", "python_second", "by cdc_datetime_updated", "2024-01-02 00:00:00", "0", "00:00:00"],
    ]

    edge = f"{{source: {schema}.orders, destination: {schema}.%s}}"
    project.error("run-operation", "reset_watermarks", "--vars", "{run: 0}", "--args", edge % "python_row")
    assert f"unknown destination '{schema}.python_row', did you mean '{schema}.python_rows'?" in project.log()
    project.dbt("run-operation", "reset_watermarks", "--vars", "{run: 0}", "--args", edge % "python_rows")
    run(5)
    assert project.rows("select id, run from {schema}.python_rows order by id") == [
        (1, 5),
        (2, 1),
        (3, 5),
        (4, 5),
        (6, 5),
        (7, 5),
    ]

    def waiting_by_version() -> list[str]:
        return [line[4] for line in summary(project) if line[0] == "orders" and line[2] == "by version"]

    if project.file_format == "delta":
        project.sql(row % (8, 80, 4))
        project.sql("alter table {schema}.orders set tblproperties (delta.enableChangeDataFeed = true)")
        said = project.error("run", "--vars", "{run: 6}", "--select", "changes")
        assert "is older than what the table's changes can still be told from (its feed was switched on later" in said
        assert "run this model with --full-refresh" in said and "earliest" not in said
        assert waiting_by_version() == ["needs --full-refresh"] * 3
        project.dbt("compile", "--vars", "{run: 6}", "--select", "changes")
        assert "version as of" in (project.folder / "target/compiled/consumer/models/changes.sql").read_text()
    project.sql("drop table {schema}.orders")
    project.sql(f"create view {{schema}}.orders as select 1 as id, 10 as amount, {AT} as cdc_datetime_updated")
    assert waiting_by_version() == ["the upstream keeps no versions"] * 3


@pytest.mark.one_format("iceberg")  # where an ALTER is no commit
def test_a_first_read_by_version_has_the_names_that_the_upstreams_columns_have_now(project: Project) -> None:
    config = "materialized='incremental', incremental_strategy='merge', unique_key='id'"
    project.sql("create table {schema}.orders using iceberg as select 1 as id, 'a' as v")
    project.sql("alter table {schema}.orders rename column v to w")
    read = "dbt_cdc.ref_changes(source('raw', 'orders'), by='version', unique_key='id')"
    source = f"sources: [{{name: raw, schema: {project.schema}, tables: [{{name: orders}}]}}]"
    reader = f"{{{{ config({config}) }}}} select * from {{{{ {read} }}}}"
    project.write({"models/sources.yml": source, "models/reader.sql": reader})
    project.dbt("run")
    assert project.rows("select id, w, _op from {schema}.reader") == [(1, "a", "i")]
    project.sql("insert into {schema}.orders values (2, 'b')")
    project.dbt("run")
    assert project.rows("select id, w, _op from {schema}.reader order by id") == [(1, "a", "i"), (2, "b", "i")]


@pytest.mark.one_format("delta")
def test_what_was_deleted_upstream_reaches_apply_changes_whose_table_is_built_anew(project: Project) -> None:
    project.sql("create table {schema}.orders (id int, seq int) using " + project.file_format)
    project.sql("insert into {schema}.orders values (1, 1), (2, 1), (3, 1)")
    source = f"sources: [{{name: raw, schema: {project.schema}, tables: [{{name: orders}}]}}]"
    # the sequence of a delete is that of the row; it comes after it
    history = """
        {{ config(materialized='apply_changes', unique_key='id', meta={'dbt_cdc': {'sequence_by': 'seq', 'stored_as_scd_type': 2,
                  'apply_as_deletes': "_op = 'd'", 'except_column_list': ['_op']}}) }}
        select id, if(_op = 'd', seq + 1, seq) as seq, _op
        from {{ dbt_cdc.ref_changes(source('raw', 'orders'), by='version') }}
    """
    project.write({"models/sources.yml": source, "models/history.sql": history})
    project.dbt("run")
    history = "select id, seq, __START_AT, __END_AT from {schema}.history order by id, seq"
    assert project.rows(history) == [(1, 1, 1, None), (2, 1, 1, None), (3, 1, 1, None)]

    project.sql("delete from {schema}.orders where id = 2")
    project.sql("update {schema}.orders set seq = 5 where id = 3")
    project.sql("drop table {schema}.history")  # never the ledger, as the docs say
    project.dbt("run")
    assert project.rows(history) == [(1, 1, 1, None), (2, 1, 1, 2), (3, 1, 1, 5), (3, 5, 5, None)]

    # the version is gone: what was deleted is not known, and either way of going on is named with what it costs
    project.sql("drop table {schema}.orders")
    project.sql("create table {schema}.orders (id int, seq int) using " + project.file_format)
    project.sql("insert into {schema}.orders values (3, 6)")
    told = project.error("run")
    assert "is no longer in its history" in told
    assert "run this model with --full-refresh, which drops its events and their history" in told
    assert "or `dbt run-operation reset_watermarks` to read all rows and keep those that were deleted since" in told
    project.dbt("run-operation", "reset_watermarks", "--args", f"{{destination: {project.schema}.history}}")
    project.dbt("run")
    assert project.rows(history) == [(1, 1, 1, None), (2, 1, 1, 2), (3, 1, 1, 5), (3, 5, 5, 6), (3, 6, 6, None)]

    # where its ledger is gone too, everything is read
    project.sql("drop table {schema}.history")
    project.sql("drop table {schema}.history__events")
    project.dbt("run")
    assert project.rows(history) == [(3, 6, 6, None)]


def test_a_readers_key_that_is_not_its_upstreams_is_refused_where_changes_show_it(project: Project) -> None:
    project.sql(f"create table {{schema}}.orders (id int, customer int, amount int) using {project.file_format}")
    project.sql("insert into {schema}.orders values (1, 7, 10), (2, 7, 20), (3, 8, 30)")
    of_customer = READER.replace("'id'", "'customer'") + (
        "select customer, sum(amount) as amount from {{ dbt_cdc.ref_changes(source('raw', 'orders'), by='version') }}"
        " group by customer"
    )
    sources = f"sources: [{{name: raw, schema: {project.schema}, tables: [{{name: orders}}]}}]"
    project.write({"models/sources.yml": sources, "models/of_customer.sql": of_customer})
    project.dbt("run")
    both = [(7, 30), (8, 30)]
    assert project.rows("select * from {schema}.of_customer order by 1") == both
    project.sql("update {schema}.orders set amount = 11 where id = 1")
    project.sql("update {schema}.orders set amount = 21 where id = 2")
    said = project.error("run")
    refused = rf"changes of {project.schema}.orders: unique_key \(customer\) names several rows (of|up to) version"
    assert re.search(refused, said)
    ((*edge, _, waiting, _),) = summary(project)
    assert edge == ["orders", "of_customer", "by version"] and int(waiting) > 0
    assert project.rows("select * from {schema}.of_customer order by 1") == both
    assert len(edges(project)) == 1

"""Models that read only what changed upstream since their own last successful run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.project import Project
from tests.support.shared import shared_project

READER = "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}"


def edges(project: Project) -> list[tuple[Any, ...]]:
    """All moves so far, oldest first: upstream, model (without schema), watermark."""
    query = """select source, destination, cdc_datetime_updated from {schema}.cdc_metadata
                order by source, destination, sequence"""
    return [(s.split(".")[1], d.split(".")[1], w) for s, d, w in project.rows(query)]


def said(project: Project) -> list[str]:
    """What dbt_cdc has logged, without the schema, in the order of the log."""
    lines = [line.split("dbt_cdc: ", 1)[1] for line in project.log().splitlines() if "dbt_cdc: " in line]
    return [line.replace(project.schema + ".", "") for line in lines]


def summary(project: Project, **asked: str) -> list[list[str]]:
    """The cells of what cdc_summary prints of each edge, without the schema; `asked`: its arguments."""
    project.dbt("run-operation", "cdc_summary", "--vars", "{run: 0}", "--args", json.dumps(asked))
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


def at(second: int) -> str:
    return f"timestamp '2024-01-01 00:00:{second:02}'"


# a row lands after the model has pinned what it reads and before it writes
LANDS = "{% if var('run') == 2 %}insert into {{ target.schema }}.arrivals values (9, timestamp '2024-01-01 00:00:09'){% endif %}"
# a run that breaks between write and watermark
BREAKS = "{{ exceptions.raise_compiler_error('broken') if execute and var('run') in [2, 6] }}"

READERS = {
    "models/sources.yml": """
        sources: [{name: raw, schema: '{{ target.schema }}', tables: [{name: events}, {name: arrivals}, {name: landings}]}]
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
    "models/without_stamp.sql": read_by(f"{EVENTS}, column='cdc_datetime_update'"),
    "models/busy.sql": read_by("source('raw', 'arrivals')", before='{{ config(pre_hook="' + LANDS + '") }}'),
    "models/busy_versions.sql": read_by(
        "source('raw', 'landings'), by='version', unique_key='id'",
        before='{{ config(pre_hook="' + LANDS.replace("arrivals", "landings") + '") }}',
    ),
    # a run that breaks before the write
    "models/broken.sql": read_by(EVENTS, select="id, if({{ var('run') }} = 2, raise_error('broken'), 0) as zero"),
    "models/unmoved.sql": read_by(EVENTS, before='{{ config(post_hook="' + BREAKS + '") }}'),
    "models/unmoved_versions.sql": read_by(
        f"{EVENTS}, by='version', unique_key='id'", before='{{ config(post_hook="' + BREAKS + '") }}'
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


def all_in(run: int, ids: tuple[int, ...] = (1, 2, 3, 4, 5)) -> dict[int, int]:
    """Rows that were all last read in one run."""
    return dict.fromkeys(ids, run)


# 3 has no stamp, which is read in every run; 5 came late, stamped at the watermark
ANEW_AND_UNSTAMPED = {1: 1, 2: 1, 3: 2, 4: 2}
ALL_BUT_OLD = {**ANEW_AND_UNSTAMPED, 5: 2}
AFTER_BREAKS = {
    "plain": ANEW_AND_UNSTAMPED,
    "other": ALL_BUT_OLD,
    "through_a_view": ANEW_AND_UNSTAMPED,
    "through_a_clock": all_in(2),  # what a view stamps with the clock is new in every run
    "without_stamp": all_in(2),
    "broken": {1: 1, 2: 1, 3: 1},
    "unmoved": ANEW_AND_UNSTAMPED,
    "named": ANEW_AND_UNSTAMPED,
    "referred": ANEW_AND_UNSTAMPED,
    "related": ALL_BUT_OLD,
    "in_python": ALL_BUT_OLD,
}

#: step: model: the run in which each row was last read, by its id
READ: dict[str, dict[str, dict[int, int]]] = {
    "the first run": {**{name: all_in(1, (1, 2, 3)) for name in AFTER_BREAKS}, "busy": {1: 1}, "busy_versions": {1: 1}},
    "a run that breaks": {
        **AFTER_BREAKS,
        "behind_inline": all_in(2),
        "busy": {1: 1, 4: 2},
        "busy_versions": {1: 1, 4: 2},
    },
    "a run of no rows": AFTER_BREAKS,
    "a sample": {"plain": all_in(3)},
    "the run after the breaks": {
        "plain": all_in(3),
        "busy": {1: 1, 4: 2, 9: 3},
        "busy_versions": {1: 1, 4: 2, 9: 3},
        "broken": {1: 1, 2: 1, 3: 3, 4: 3},
        "unmoved": {1: 1, 2: 1, 3: 3, 4: 3},
    },
    "a full refresh": {"plain": all_in(4)},
    "a run without the table": {"busy": all_in(5, (1, 4, 9)), "plain": {1: 4, 2: 4, 3: 5, 4: 4, 5: 4}},
    "an emptying": {"plain": {}, "unmoved": {}, "unmoved_versions": {}},
    # an empty table made in the place of a full one has nothing of what the watermark says
    "the run after an emptying": {"plain": all_in(7), "unmoved": all_in(7), "unmoved_versions": all_in(7)},
}


@dataclass
class Readers:
    """Three sources and their readers: what was seen of them between the runs."""

    project: Project
    seen: dict[str, dict[str, list[tuple[int, int]]]] = field(default_factory=dict)
    moves: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    of_compile: list[str] = field(default_factory=list)
    compiled: str = ""
    tested: list[tuple[str, str]] = field(default_factory=list)

    def supply(self, table: str, *rows: str) -> None:
        for row in rows:
            self.project.sql(f"insert into {{schema}}.{table} values ({row})")

    def run(self, number: int, *arguments: str, broken: bool = False) -> None:
        command = ("run", "--vars", f"{{run: {number}}}", "--threads", "2", *arguments)
        self.project.error(*command) if broken else self.project.dbt(*command)

    def look(self, step: str) -> None:
        found = "select id, run from {schema}.%s order by 1, 2"
        self.seen[step] = {model: self.project.rows(found % model) for model in READ[step]}


def two_runs(readers: Readers) -> None:
    """A first run, and a second that breaks here and there."""
    project = readers.project
    columns = "id int, cdc_datetime_updated timestamp"
    project.sql(f"create table {{schema}}.events ({columns}, `Größe` int) using {project.file_format}")
    for table in ("arrivals", "landings"):
        project.sql(f"create table {{schema}}.{table} ({columns}) using {project.file_format}")
        readers.supply(table, f"1, {at(1)}")
    readers.supply("events", f"1, {at(1)}, 1", f"2, {at(2)}, 2", "3, null, null")
    project.write(READERS)
    readers.run(1)
    readers.look("the first run")

    readers.supply("events", f"4, {at(4)}, 4")
    for table in ("arrivals", "landings"):
        readers.supply(table, f"4, {at(4)}")
    readers.supply("events", f"5, {at(2)}, 5")  # late: stamped at the watermark
    readers.run(2, broken=True)
    readers.look("a run that breaks")
    readers.moves["a run that breaks"] = edges(project)
    readers.lines = said(project)


def commands_that_move_nothing(readers: Readers) -> None:
    project, vars_ = readers.project, ("--vars", "{run: 3}")
    project.dbt("compile", *vars_)
    readers.compiled = project.written("plain")
    readers.of_compile = said(project)[len(readers.lines) :]
    project.dbt("show", "--select", "plain", *vars_)
    project.dbt("docs", "generate", *vars_)
    readers.tested = [(test.node.name, test.status) for test in project.dbt("test", *vars_).result.results]
    project.dbt("run", "--empty", *vars_)
    readers.look("a run of no rows")
    project.dbt("run", "--sample=1 day", "--select", "plain", *vars_)
    readers.look("a sample")
    readers.moves["a sample"] = edges(project)


def later_runs(readers: Readers) -> None:
    readers.run(3, "--select", "plain", "busy", "busy_versions", "broken", "unmoved")
    readers.look("the run after the breaks")
    readers.run(4, "--full-refresh", "--select", "plain")
    readers.look("a full refresh")
    readers.project.sql("drop table {schema}.busy")
    readers.run(5, "--select", "plain", "busy")
    readers.look("a run without the table")
    readers.run(6, "--empty", "--full-refresh", "--select", *READ["an emptying"], broken=True)
    readers.look("an emptying")
    readers.run(7, "--select", *READ["an emptying"])
    readers.look("the run after an emptying")


@pytest.fixture(scope="module")
def readers(spark: SparkSession, target: dict[str, Any]) -> Iterator[Readers]:
    with shared_project(spark, target) as project:
        readers = Readers(project)
        two_runs(readers)
        commands_that_move_nothing(readers)
        later_runs(readers)
        yield readers


@pytest.mark.one_format("iceberg")
@pytest.mark.parametrize(("step", "model"), [(step, model) for step, models in READ.items() for model in models])
def test_every_row_reaches_every_reader_once_after(readers: Readers, step: str, model: str) -> None:
    assert readers.seen[step][model] == sorted(READ[step][model].items())


@pytest.mark.one_format("iceberg")
def test_the_watermark_of_a_reader_that_broke_stays_where_it_was(readers: Readers) -> None:
    # (by version a watermark's time is that of the commit)
    others = ("unmoved_versions", "busy_versions", "through_a_clock")
    moves = [move for move in readers.moves["a run that breaks"] if move[1] not in others]
    second, fourth = datetime(2024, 1, 1, 0, 0, 2), datetime(2024, 1, 1, 0, 0, 4)
    assert {(s, d): w for s, d, w in moves} == {
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


@pytest.mark.one_format("iceberg")
@pytest.mark.parametrize(
    "line",
    [
        "plain reads 2 rows of events (all of them), cdc_datetime_updated up to 2024-01-01 00:00:02,"
        " and 1 without cdc_datetime_updated, as in every run",
        "plain reads 1 rows of events (new ones), cdc_datetime_updated up to 2024-01-01 00:00:04,"
        " and 1 without cdc_datetime_updated, as in every run",
        "in_python reads 2 rows of kinds_v1 (all of them), size up to 2.0, and 1 without size, as in every run",
        "events has no column cdc_datetime_update, without_stamp reads all its rows, did you mean 'cdc_datetime_updated'?",
    ],
    ids=["all rows", "new rows", "a model in Python", "no such column"],
)
def test_a_reader_says_what_it_reads_and_which_rows_have_no_stamp(readers: Readers, line: str) -> None:
    assert line in readers.lines


@pytest.mark.one_format("iceberg")
def test_compiled_sql_reads_from_the_watermark_on_and_says_nothing_of_rows(readers: Readers) -> None:
    assert "cdc_datetime_updated` > timestamp_micros(" in readers.compiled and "<=" not in readers.compiled
    assert not [line for line in readers.of_compile if re.search(r"reads \d+ rows", line)]


@pytest.mark.one_format("iceberg")
def test_commands_that_run_no_model_whole_move_no_watermark(readers: Readers) -> None:
    assert ("not_null_plain_id", "pass") in readers.tested
    assert readers.moves["a sample"] == readers.moves["a run that breaks"]


NEW = "select * from {{ dbt_cdc.ref_changes('orders') }}"
BY_VERSION = "dbt_cdc.ref_changes('orders', by='version', unique_key=%s)"


@dataclass(frozen=True)
class Refused:
    """A node of a project, and what is said of it; `config` stands in the YAML beside a model."""

    text: str
    told: tuple[str, ...]
    path: str = "models/{name}.sql"
    config: str = ""


def refused(text: str, *told: str) -> Refused:
    return Refused(text, told)


def incremental(strategy: str, config: str, call: str) -> str:
    return f"{{{{ config(materialized='incremental', incremental_strategy='{strategy}', {config}) }}}} select * from {{{{ {call} }}}}"


REFUSED = {
    "as_table": refused(
        "{{ config(materialized='table') }}" + NEW,
        "ref_changes works in incremental and apply_changes models, got 'table', which keeps nothing between runs",
    ),
    "as_view": refused("{{ config(materialized='view') }}" + NEW, "got 'view'"),
    "behind": refused(
        READER + "select * from {{ ref('inline') }}",
        "compilation error in referenced ephemeral model model.consumer.inline",
    ),
    "appends": refused(
        incremental("append", "meta={'dbt_cdc': {'ref_changes_bye': 'version'}}", "dbt_cdc.ref_changes('orders')"),
        "ref_changes needs incremental_strategy 'merge', got 'append'",
        "ref_changes needs a unique_key",
        "unknown option 'ref_changes_bye', did you mean 'ref_changes_by'?",
    ),
    "predicated": refused(
        incremental(
            "merge",
            "unique_key='id', incremental_predicates=['DBT_INTERNAL_DEST.id > 7', 'DBT_INTERNAL_SOURCE.id > 8',"
            " 'DBT_INTERNAL_DEST.id = dbt_internal_source.id']",
            "dbt_cdc.ref_changes('orders')",
        ),
        "ref_changes: incremental_predicates must be a list of comparisons of DBT_INTERNAL_DEST with DBT_INTERNAL_SOURCE, in a"
        ' column that never changes for a key, got "DBT_INTERNAL_DEST.id > 7": a row that is read once more',
        'changes for a key, got "DBT_INTERNAL_SOURCE.id > 8": a row',
    ),
    "isolated": refused(
        READER + "{{ config(tblproperties={'write.merge.isolation-level': 'snapshot'}) }}" + NEW,
        "tblproperties: 'write.merge.isolation-level' must be serializable (Iceberg's default), got \"snapshot\"",
    ),
    "predicate_as_text": refused(
        incremental(
            "merge",
            "unique_key='id', incremental_predicates='DBT_INTERNAL_DEST.id = DBT_INTERNAL_SOURCE.id'",
            "dbt_cdc.ref_changes('orders')",
        ),
        'in a column that never changes for a key, got "DBT_INTERNAL_DEST.id = DBT_INTERNAL_SOURCE.id": a row',
    ),
    "misspelt": refused(
        incremental("merge", "unique_key='id'", "dbt_cdc.ref_changes('orders', by='versoin')"),
        "ref_changes: by must be one of column, version, got \"versoin\", did you mean 'version'?",
    ),
    "misspelt_option": refused(
        "{{ config(materialized='apply_changes', unique_key='id',"
        " meta={'dbt_cdc': {'ref_changes_by': 'versoin', 'stored_as_scd_type': 3}}) }}" + NEW,
        "option 'ref_changes_by' must be one of column, version, got \"versoin\", did you mean 'version'?",
        "option 'stored_as_scd_type' must be one of 1, 2, bitemporal, got 3",
        "option 'sequence_by' is required",
    ),
    "unsortable": refused(
        incremental("merge", "unique_key='id'", "dbt_cdc.ref_changes('orders', column='m')"),
        "column m of schema.orders is of type map<string,int>, which can't be a watermark: ref_changes needs a timestamp, date,",
    ),
    "of_what_is_not_there": refused(
        incremental("merge", "unique_key='id'", "dbt_cdc.ref_changes(source('raw', 'absent'))"),
        "model.consumer.of_what_is_not_there can't run, nothing was written:",
        "ref_changes: schema.absent does not exist; build it first",
    ),
    "idle_column": refused(
        READER + "select id from {{ dbt_cdc.ref_changes('orders', by='version', unique_key='id', column='id') }}",
        'ref_changes: column has no meaning by version, got "id": take it out, or read by column',
    ),
    "idle_key": refused(
        READER + "select id from {{ dbt_cdc.ref_changes('orders', unique_key=['id', 'm']) }}",
        'ref_changes: unique_key has no meaning by column, got ["id", "m"]: take it out, or read by version',
    ),
    "mistyped": refused(
        READER + "select id from {{ dbt_cdc.ref_changes('orders', by='version', column=['a'], unique_key=3) }}",
        "ref_changes: unique_key must be of type list, got 3",
        'ref_changes: column must be of type string, got ["a"]',
    ),
    "empty": refused(
        READER + "select id from {{ dbt_cdc.ref_changes('orders', column='') }}",
        'ref_changes: column must name a column, got ""',
    ),
    "of_a_version": refused(
        READER + "select id from {{ dbt_cdc.ref_changes(ref('orders'), v=2) }}",
        "ref_changes takes a version beside the name of a model or package, got 2 beside",
    ),
    # an upstream without a key is taken to have its reader's, but it lacks that column
    "keyless": refused(
        incremental("merge", "unique_key=['id', 'line']", "dbt_cdc.ref_changes('orders', by='version')"),
        "ref_changes by version needs the key of schema.orders, got none",
    ),
    "of_inline": refused(
        READER + "select 1 as id from {{ dbt_cdc.ref_changes('nothing', by='version') }}",
        "nothing is an ephemeral model: make it a table or an incremental model, or read by column",
    ),
    "imaged": refused(
        "{{ config(materialized='apply_changes', unique_key='id',"
        " meta={'dbt_cdc': {'sequence_by': 'id', 'source_kind': 'snapshot'}}) }}"
        f"select id from {{{{ {BY_VERSION % repr('id')} }}}}",
        "ref_changes by version gives changes, got source_kind 'snapshot'",
    ),
    "hashed": Refused(
        """
            from dbt_cdc import ref_changes as changed

            def model(dbt, spark):
                dbt.config(materialized="hash_diff", unique_key="id")
                dbt.ref("orders")
                return changed(dbt, spark, "orders", column="id")
        """,
        ("got a hash_diff model, which takes what it is given for all of its effective date's load",),
        path="models/{name}.py",
        config="{meta: {dbt_cdc: {extract_type: delta}}}",
    ),
    "kept": Refused(
        "{% snapshot kept %}{{ config(unique_key='id', strategy='check', check_cols=['id']) }}"
        "select id from {{ dbt_cdc.ref_changes('orders') }}{% endsnapshot %}",
        ("ref_changes works in incremental and apply_changes models, got 'snapshot'",),
        path="snapshots/{name}.sql",
    ),
    "asked": Refused(
        NEW, ("ref_changes works in incremental and apply_changes models, got 'test'",), path="tests/{name}.sql"
    ),
    "unparsed": refused(
        READER + "select * from {% if execute %}{{ dbt_cdc.ref_changes('orders', column='id') }}"
        "{% else %}{{ ref('orders') }}{% endif %}",
        "take it out of the `if`; the first run reads everything anyway",
    ),
    "logged": refused(
        READER + "{{ config(meta={'dbt_cdc': {'change_log': 'key_op'}}) }}" + NEW,
        "got 'key_op' on an incremental model; take it out",
    ),
    "two_ways": refused(
        READER + NEW + " join {{ dbt_cdc.ref_changes('orders', column='id') }} using (id)",
        "ref_changes reads schema.orders in two ways, by column cdc_datetime_updated and by column id",
    ),
    "with_a_text_for_options": refused(
        READER + "{{ config(meta={'dbt_cdc': 'version'}) }}" + f"select id from {{{{ {BY_VERSION % repr('id')} }}}}",
        'meta.dbt_cdc must be a mapping of options, got "version"',
    ),
    "of_two_keys": refused(
        READER
        + f"select id from {{{{ {BY_VERSION % repr('id')} }}}} join {{{{ {BY_VERSION % ['id', 'm']} }}}} using (id)",
        "ref_changes reads schema.orders in two ways, by version id and by version id, m: there is one",
    ),
    "of_a_frame": Refused(
        """
            import dbt_cdc

            def model(dbt, spark):
                dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="id")
                return dbt_cdc.ref_changes(dbt, spark, dbt.ref("orders"))
        """,
        (
            "takes the names that dbt.ref or dbt.source takes, such as ref_changes(dbt, spark, 'orders'), and all else by keyword, got",
        ),
        path="models/{name}.py",
    ),
    "unnamed": Refused(
        """
            import dbt_cdc

            def model(dbt, spark):
                dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="id")
                return dbt_cdc.ref_changes(dbt, spark, "orders")
        """,
        ("Add the line `dbt.ref('orders')`",),
        path="models/{name}.py",
    ),
}


@pytest.fixture(scope="module")
def refusals(spark: SparkSession, target: dict[str, Any]) -> Iterator[tuple[Project, dict[str, str]]]:
    """The project of all that is refused, and what dbt said of each, without the schema."""
    with shared_project(spark, target) as project:
        project.write({case.path.format(name=name): case.text for name, case in REFUSED.items()})
        configs = {name: case.config for name, case in REFUSED.items() if case.config}
        project.write(
            {
                "models/orders.sql": "{{ config(materialized='table') }} select 1 as id, map('a', 1) as m",
                "models/inline.sql": "{{ config(materialized='ephemeral') }}" + NEW,
                "models/nothing.sql": "{{ config(materialized='ephemeral') }} select 1 as id",
                "models/raw.yml": f"sources: [{{name: raw, schema: {project.schema}, tables: [{{name: absent}}]}}]",
                **{f"models/{n}.yml": f"models: [{{name: {n}, config: {config}}}]" for n, config in configs.items()},
            }
        )
        results = [project.invoke("build", "--exclude", "asked"), project.invoke("test", "--select", "asked")]
        nodes = [node for result in results for node in result.result.results]
        yield project, {node.node.name: str(node.message).replace(project.schema, "schema") for node in nodes}


@pytest.mark.one_format("iceberg")
@pytest.mark.parametrize("model", REFUSED)
def test_a_model_that_cannot_keep_a_watermark_is_refused(refusals: tuple[Project, dict[str, str]], model: str) -> None:
    message = refusals[1][model]
    for problem in REFUSED[model].told:
        assert problem in message, message


@pytest.mark.one_format("iceberg")
def test_nothing_is_written_where_all_is_refused(refusals: tuple[Project, dict[str, str]]) -> None:
    project, _ = refusals
    assert "dbt_cdc: model.consumer.inline can't run, nothing was written:" in project.log()
    assert project.tables() == {"orders", "cdc_metadata"}
    assert edges(project) == []


@pytest.mark.one_format("iceberg")
def test_a_reader_in_batches_of_time_is_refused_before_dbt_begins_with_them(project: Project) -> None:
    config = incremental(
        "microbatch", "event_time='at', begin='2024-01-01', batch_size='day'", "dbt_cdc.ref_changes('orders')"
    )
    project.write(
        {
            "models/orders.sql": "{{ config(materialized='table') }} select 1 as id",
            "models/in_batches.sql": config,
            "models/applied.sql": "{{ config(materialized='apply_changes', unique_key='id', incremental_strategy='microbatch',"
            " meta={'dbt_cdc': {'sequence_by': 'id'}}) }} select * from {{ dbt_cdc.ref_changes('orders') }}",
        }
    )
    error = project.error("run")
    assert "nothing was written:" in error
    assert "model.consumer.in_batches: ref_changes needs incremental_strategy 'merge', got 'microbatch'" in error
    assert project.tables() == set()
    project.dbt("run", "--exclude", "in_batches")  # a strategy says nothing to another materialization
    assert project.rows("select * from {schema}.applied") == [(1,)]


PYTHON = """
    import dbt_cdc

    def model(dbt, spark):
        dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="id")
        run = dbt.config.get("run")
        changes = dbt_cdc.ref_changes(dbt, spark, %s)
        %s
        return changes.selectExpr("*", f"{run} as run")
"""
# a run that is killed between write and watermark
KILLED = "{{ exceptions.raise_compiler_error('killed') if execute and var('run') == 'killed' }}"

BY_VERSION_AND_NOT = {
    "models/models.yml": """
        sources:
          - {name: raw, schema: '{{ target.schema }}', tables: [{name: orders}]}
          - {name: whole, schema: 'spark_catalog.{{ target.schema }}', tables: [{name: orders}]}
        models:
          - name: changes
            config: {meta: {dbt_cdc: {ref_changes_by: version}}}
          - name: python_changes
            config: {run: "{{ var('run') }}", meta: {dbt_cdc: {ref_changes_by: version}}}
          - name: python_rows
            config: {run: "{{ var('run') }}"}
          - name: python_second
            config: {run: "{{ var('run') }}"}
    """,
    # by the reader's own key; a name with the session's catalog is the same edge
    "models/changes.sql": read_by("source('whole', 'orders')"),
    # a reader of a reader's changes, which have an `_op` of their own
    "models/second.sql": read_by("'changes', by='version'", select="id, amount, _op"),
    "models/killed.sql": read_by(
        "source('raw', 'orders'), by='version', unique_key='id'", before='{{ config(post_hook="' + KILLED + '") }}'
    ).replace("{{ var('run') }} as run", "2 as run"),
    "models/python_changes.py": PYTHON % ("'raw', 'orders'", "dbt.source('raw', 'orders')"),
    "models/python_rows.py": PYTHON % ("'raw', 'orders'", "dbt.source('raw', 'orders')"),
    "models/python_second.py": PYTHON % ("'python_rows'", "dbt.ref('python_rows'); changes = changes.drop('run')"),
}

#: what is asked of a model
ASKED = {
    **dict.fromkeys(["changes", "killed", "python_changes"], "*"),
    "second": "id, amount, _op, run",
    **dict.fromkeys(["python_rows", "python_second"], "id, amount, run"),
}
ON_1ST, ON_2ND = datetime(2024, 1, 1), datetime(2024, 1, 2)
#: id, amount, cdc_datetime_updated, shop, note, _op, run
FIRST_CHANGES = [
    (1, 10, ON_1ST, None, None, "i", 1),
    (2, 20, ON_1ST, ("North", None), None, "i", 1),
    (7, 70, ON_1ST, None, None, "i", 1),
]
LATER_CHANGES = [
    (1, 11, ON_1ST, None, None, "u", 2),
    (2, 20, ON_1ST, ("North", None), None, "d", 2),
    (3, 30, ON_1ST, None, None, "i", 2),
    (4, 41, ON_2ND, None, None, "u", 2),
    (5, 50, ON_2ND, None, None, "d", 2),
    (7, 70, ON_1ST, None, None, "u", 2),
]
LATER_ROWS = [(1, 10, 1), (2, 20, 1), (4, 41, 2), (7, 70, 1)]

#: step: model: its rows
CHANGED: dict[str, dict[str, list[tuple[Any, ...]]]] = {
    "the first run": {
        "changes": FIRST_CHANGES,
        "python_changes": FIRST_CHANGES,
        "python_rows": [(1, 10, 1), (2, 20, 1), (7, 70, 1)],
        "second": [(1, 10, "i", 1), (2, 20, "i", 1), (7, 70, "i", 1)],
    },
    "the second run": {
        "changes": LATER_CHANGES,
        "killed": LATER_CHANGES,
        "python_changes": LATER_CHANGES,
        # what the row of `changes` went through, whose `_op` says what happened to the order
        "second": [
            (1, 11, "u", 2),
            (2, 20, "u", 2),
            (3, 30, "i", 2),
            (4, 41, "i", 2),
            (5, 50, "i", 2),
            (7, 70, "u", 2),
        ],
        "python_rows": LATER_ROWS,
        "python_second": LATER_ROWS,
    },
    "runs with nothing new": {
        "changes": LATER_CHANGES,
        "python_changes": LATER_CHANGES,
        "python_second": LATER_ROWS,
    },
    "a reset of the watermark": {
        "python_rows": [(1, 11, 5), (2, 20, 1), (3, 30, 5), (4, 41, 5), (6, 60, 5), (7, 70, 5)],
    },
}


@dataclass
class Versions:
    """A table of orders and its readers by version and by column: what was seen of them between the runs."""

    project: Project
    seen: dict[str, dict[str, list[tuple[Any, ...]]]] = field(default_factory=dict)
    moves: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    killed: list[tuple[Any, ...]] = field(default_factory=list)
    newest: str = ""
    summary: list[list[str]] = field(default_factory=list)
    waiting: dict[str, list[str]] = field(default_factory=dict)
    told: str = ""
    compiled: str = ""

    def order(self, id_: int, amount: int, day: int, more: str = "null, null") -> None:
        """A new order; `more` are its shop and, once there is such a column, its note."""
        self.project.sql(f"insert into {{schema}}.orders values ({id_}, {amount}, timestamp '2024-01-0{day}', {more})")

    def set_amount(self, id_: int, amount: int) -> None:
        self.project.sql(f"update {{schema}}.orders set amount = {amount} where id = {id_}")

    def run(self, number: int, *arguments: str) -> None:
        self.project.dbt("run", "--vars", f"{{run: {number}}}", *arguments)

    def look(self, step: str) -> None:
        self.seen[step] = {
            model: self.project.rows(f"select {ASKED[model]} from {{schema}}.{model} order by id")
            for model in CHANGED[step]
        }

    def wait(self, step: str) -> None:
        """What the summary says is waiting for the readers by version."""
        lines = summary(self.project)
        self.waiting[step] = [line[4] for line in lines if line[0] == "orders" and line[2] == "by version"]


def four_runs(versions: Versions) -> None:
    """A first run, one of changes of all kinds after one that is killed, and two that have nothing to read."""
    project = versions.project
    columns = "id int, amount int, cdc_datetime_updated timestamp, shop struct<name: string>"
    project.sql(f"create table {{schema}}.orders ({columns}) using {project.file_format}")
    versions.order(1, 10, 1, "null")
    versions.order(2, 20, 1, "named_struct('name', 'North')")
    versions.order(7, 70, 1, "null")
    # no version before the first run has them
    project.sql("alter table {schema}.orders add columns (note string)")
    project.sql("alter table {schema}.orders add columns (shop.city string)")
    project.write(BY_VERSION_AND_NOT)
    versions.run(1)
    versions.look("the first run")

    versions.set_amount(1, 11)
    project.sql("delete from {schema}.orders where id = 2")
    versions.order(3, 30, 1)  # late: stamped at the watermark
    versions.order(4, 40, 2)
    versions.set_amount(4, 41)
    versions.order(5, 50, 2)
    versions.set_amount(7, 71)
    assert "killed" in project.error("run", "--vars", "{run: killed}", "--select", "killed")
    versions.killed = project.rows("select amount from {schema}.killed where id in (5, 7) order by id")
    project.sql("delete from {schema}.orders where id = 5")
    versions.set_amount(7, 70)
    versions.run(2)
    versions.look("the second run")
    versions.moves["the second run"] = edges(project)

    versions.run(3, "--exclude", "second")  # nothing new
    versions.run(4, "--empty", "--select", "changes", "python_second")
    versions.look("runs with nothing new")
    versions.moves["runs with nothing new"] = edges(project)


def a_reset(versions: Versions) -> None:
    """One more order, which a reader gets after its watermark was reset."""
    project, schema = versions.project, versions.project.schema
    versions.order(6, 60, 3)
    of_changes = "select watermark from {schema}.cdc_metadata where destination like '%.changes'"
    versions.newest = project.rows(f"{of_changes} order by sequence desc limit 1")[0][0]
    versions.summary = summary(project)
    edge = f"{{source: {schema}.orders, destination: {schema}.%s}}"
    project.error("run-operation", "reset_watermarks", "--vars", "{run: 0}", "--args", edge % "python_row")
    project.dbt("run-operation", "reset_watermarks", "--vars", "{run: 0}", "--args", edge % "python_rows")
    versions.run(5, "--select", "python_rows")
    versions.look("a reset of the watermark")


def the_end_of_versions(versions: Versions) -> None:
    """A feed that is switched on too late, where there is one, and a view in the place of the table."""
    project = versions.project
    if project.file_format == "delta":
        versions.order(8, 80, 4)
        project.sql("alter table {schema}.orders set tblproperties (delta.enableChangeDataFeed = true)")
        versions.told = project.error("run", "--vars", "{run: 6}", "--select", "changes")
        versions.wait("a feed switched on")
        project.dbt("compile", "--vars", "{run: 6}", "--select", "changes")
        versions.compiled = project.written("changes")
    project.sql("drop table {schema}.orders")
    project.sql(f"create view {{schema}}.orders as select 1 as id, 10 as amount, {at(0)} as cdc_datetime_updated")
    versions.wait("a view")


@pytest.fixture(scope="module")
def versions(spark: SparkSession, target: dict[str, Any]) -> Iterator[Versions]:
    with shared_project(spark, target) as project:
        versions = Versions(project)
        four_runs(versions)
        a_reset(versions)
        the_end_of_versions(versions)
        yield versions


@pytest.mark.one_format("delta")
@pytest.mark.parametrize(("step", "model"), [(step, model) for step, models in CHANGED.items() for model in models])
def test_versions_give_every_change_once_deletes_too_after(versions: Versions, step: str, model: str) -> None:
    assert versions.seen[step][model] == CHANGED[step][model]


@pytest.mark.one_format("delta")
def test_a_reader_in_python_gets_the_columns_that_the_upstream_has_now(versions: Versions) -> None:
    assert [name for name, _ in versions.project.columns("python_changes")] == [
        "id",
        "amount",
        "cdc_datetime_updated",
        "shop",
        "note",
        "_op",
        "run",
    ]


@pytest.mark.one_format("delta")
def test_a_run_that_is_killed_after_its_write_has_written(versions: Versions) -> None:
    assert versions.killed == [(50,), (71,)]


@pytest.mark.one_format("delta")
def test_each_run_that_reads_moves_the_watermark_of_each_edge_once(versions: Versions) -> None:
    moves = versions.moves["the second run"]
    assert [(s, d) for s, d, _ in moves] == [
        *[("changes", "second")] * 2,
        *[("orders", name) for name in ["changes", "killed", "python_changes"] for _ in range(2)],
        *[("orders", "python_rows")] * 2,
        *[("python_rows", "python_second")] * 2,
    ]
    assert [w for _, d, w in moves if d == "python_second"] == [ON_1ST, ON_2ND]
    assert versions.moves["runs with nothing new"] == moves


@pytest.mark.one_format("delta")
def test_the_summary_says_of_each_edge_what_waits_and_for_how_long(versions: Versions) -> None:
    of_changes, *lines = versions.summary
    assert [*of_changes[:3], of_changes[4]] == ["changes", "second", "by version", "0"]
    lag = lines[0][-1]
    assert re.fullmatch(r"00:\d\d:\d\d", lag) and lag > "00:00:00"
    assert lines == [
        ["orders", "changes", "by version", versions.newest, "1", lag],
        ["orders", "killed", "by version", versions.newest, "1", lag],
        ["orders", "python_changes", "by version", versions.newest, "1", lag],
        ["orders", "python_rows", "by cdc_datetime_updated", "2024-01-02 00:00:00", "1", "1 d 00:00:00"],
        ["python_rows", "python_second", "by cdc_datetime_updated", "2024-01-02 00:00:00", "0", "00:00:00"],
    ]


@pytest.mark.one_format("delta")
def test_a_reset_of_a_reader_that_is_not_there_names_the_one_meant(versions: Versions) -> None:
    schema = versions.project.schema
    said = versions.project.log()
    assert f"unknown destination '{schema}.python_row', did you mean '{schema}.python_rows'?" in said


@pytest.mark.only_format("delta")  # whose feed alone can be switched on
def test_a_feed_switched_on_after_the_watermark_asks_for_a_full_refresh(versions: Versions) -> None:
    told = versions.told
    assert "is older than what the table's changes can still be told from (its feed was switched on later" in told
    assert "run this model with --full-refresh" in told and "earliest" not in told
    assert versions.waiting["a feed switched on"] == ["needs --full-refresh"] * 3
    assert "version as of" in versions.compiled


@pytest.mark.one_format("delta")
def test_the_summary_says_that_a_view_keeps_no_versions(versions: Versions) -> None:
    assert versions.waiting["a view"] == ["the upstream keeps no versions"] * 3


@pytest.mark.only_format("iceberg")  # where alone an ALTER is no commit
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
    for number in range(2):  # up to a version of that number
        project.sql(f"alter table {{schema}}.orders set tblproperties (owned = '{number}')")
    told = project.error("run")
    assert "has another commit time now (the table was made anew, its files were copied, or Delta's" in told
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


@pytest.mark.one_format("iceberg")
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

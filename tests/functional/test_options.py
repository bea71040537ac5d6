"""Options under `meta: {dbt_cdc: …}`: every fault at once, with what was got, what is allowed and the nearest name."""

from __future__ import annotations

import json

import pytest

from dbt import selected_resources
from tests.support.project import Project
from tests.support.spark import session_conf

pytestmark = pytest.mark.one_format("iceberg")

SPEC = """
    {% macro spec() %}{% do return({
        'mode': {'type': 'string', 'values': ['full', 'delta'], 'default': 'full'},
        'keys': {'type': 'list', 'required': true},
        'share': {'type': 'number'},
        'days': {'type': 'number', 'default': 2},
        'strict': {'type': 'boolean', 'default': false},
    }) %}{% endmacro %}
"""


def model(meta: str) -> str:
    # of a kind that checks its options itself, later than this
    return (
        "{{ config(materialized='apply_changes', meta={'dbt_cdc': " + meta + "}) }}\n"
        "{% set options = dbt_cdc._check_options(spec(), ['a rule between options'] if var('rule', false) else []) %}\n"
        "select {{ dbt_cdc._literal(options | tojson) }} as options"
    )


def test_options_are_read_with_their_defaults_and_a_string_stands_for_a_list(project: Project) -> None:
    project.write({"macros/spec.sql": SPEC, "models/m.sql": model("{'keys': 'id', 'share': 0.5}")})
    results = project.dbt("compile").result.results  # type: ignore[union-attr]
    (compiled,) = [result.node.compiled_code for result in results if result.node.name == "m"]
    assert json.loads(project.rows(compiled)[0][0]) == {
        "mode": "full",
        "keys": ["id"],
        "share": 0.5,
        "days": 2,
        "strict": False,
    }


def test_all_faults_are_listed_in_one_error(project: Project) -> None:
    given = "{'mode': 'ful', 'kyes': ['id'], 'days': 'two', 'strict': 1, 'share': true}"
    project.write({"macros/spec.sql": SPEC, "models/m.sql": model(given)})
    error = project.error("run", "--vars", "{rule: true}")
    for sentence in (
        "model.consumer.m can't run, nothing was written:",
        "unknown option 'kyes', did you mean 'keys'? Known: days, keys, mode, share, strict",
        "option 'keys' is required (list)",
        "option 'mode' must be one of full, delta, got \"ful\", did you mean 'full'?",
        "option 'days' must be of type number, got \"two\"",
        "option 'strict' must be of type boolean, got 1",
        "option 'share' must be of type number, got true",
        "a rule between options",
    ):
        assert sentence in error
    assert project.tables() == set()


def test_options_that_are_no_mapping_are_refused(project: Project) -> None:
    project.write({"macros/spec.sql": SPEC, "models/m.sql": model("['keys']")})
    assert 'meta.dbt_cdc must be a mapping of options, got ["keys"]' in project.error("run")


def test_options_that_nothing_reads_are_told(project: Project) -> None:
    forgotten = "{'sequence_by': 'seq', 'stored_as_scd_type': 2}"
    project.write(
        {
            "models/forgotten.sql": "{{ config(meta={'dbt_cdc': " + forgotten + "}) }} select 1 as id, 1 as seq",
            "models/mixed.sql": "{{ config(meta={'dbt_cdc': {'sequence_by': 'seq', 'effective_date': 'x'}}) }} select 1 as id",
            # an option that a folder may have for those of its models that read by ref_changes
            "models/plain.sql": "{{ config(meta={'dbt_cdc': {'ref_changes_by': 'version'}}) }} select 1 as id",
        }
    )
    project.dbt("run")
    told = sorted(line.partition("dbt_cdc: nothing reads ")[2] for line in project.log().splitlines())
    assert [line for line in told if line] == [
        "effective_date, sequence_by in meta.dbt_cdc of model.consumer.mixed, which is materialized as 'view'; take them out",
        "sequence_by, stored_as_scd_type in meta.dbt_cdc of model.consumer.forgotten, which is materialized as 'view'; "
        "apply_changes would: make it one of these, or take them out",
    ]


def test_options_that_nothing_knows_stop_the_run_before_its_first_node(project: Project) -> None:
    typo = (
        "{'sequence_by': 'seq', 'ref_change_by': 'version', 'ref_changes_by': 'versoin', 'ref_changes_column': 2,"
        " 'change_log': 'key_op', 'other': 1}"
    )
    apart = "columns: [{name: id}, {name: ssn, config: {meta: {dbt_cdc: {sensitive: true}}}}]"
    project.write(
        {
            "models/apart.sql": "{{ config(materialized='apply_changes', unique_key='id', meta={'dbt_cdc': {'sequence_by': 'ssn'}}) }}"
            " select 1 as id, 2 as ssn",
            "models/apart.yml": f"models: [{{name: apart, {apart}}}]",
            "models/apart__events.sql": "select 1 as id",
            "models/sound.sql": "select 1 as id",
            "models/spelt.sql": "{{ config(meta={'dbt-cdc': {'sequence_by': 'seq'}}) }} select 1 as id",
            "models/typo.sql": "{{ config(materialized='table', meta={'dbt_cdc': " + typo + "}) }} select 1 as id",
        }
    )
    message = project.error("run")
    assert "dbt_cdc: nothing was written:" in message
    for fault in (
        "option 'change_log' keeps the changes of hash_diff and apply_changes models and of snapshots, got 'key_op' on "
        "model.consumer.typo (table)",
        "model.consumer.typo (table): unknown option 'ref_change_by', did you mean 'ref_changes_by'? Correct it in its "
        "meta.dbt_cdc, or take it out",
        "model.consumer.typo (table): unknown option 'other'. Correct it in its meta.dbt_cdc, or take it out",
        "model.consumer.typo (table): option 'ref_changes_by' must be one of column, version, got \"versoin\", did you mean "
        "'version'?",
        "model.consumer.typo (table): option 'ref_changes_column' must be of type string, got 2",
        "model.consumer.apart (apply_changes): column 'ssn' has meta.dbt_cdc, got {\"sensitive\": true}, but only hash_diff models "
        "have options of columns: take it out, or make it one",
        "model.consumer.spelt: nothing reads 'dbt-cdc' in meta: write it dbt_cdc",
        f"model.consumer.apart: keeps a table of its own, {project.schema}.apart__events, which model.consumer.apart__events is "
        "built as, too: give one of the two another alias",
    ):
        assert fault in message, message
    alone = project.error("run", "--select", "apart__events")  # which would replace a ledger that is there
    assert "apart__events, which model.consumer.apart__events is built as, too" in alone
    ephemeral = "{{ config(materialized='ephemeral') }} select 1 as id"
    # beside meta dbt keeps it without a word, and what stands on a source is read by nothing
    project.write(
        {
            "models/apart__events.sql": ephemeral,
            "models/beside.sql": "{{ config(materialized='table', dbt_cdc={'ref_changes_by': 'version'}) }} select 1 as id, 2 as ssn",
            "models/beside.yml": "models: [{name: beside, columns: [{name: ssn, dbt_cdc: {sensitive: true}}]}]",
            "models/given.yml": "sources: [{name: raw, tables: [{name: t, config: {meta: {dbt_cdc: {unique_key: id}}}}, {name: u}]}]",
            "models/of_source.sql": "select * from {{ source('raw', 't') }}",
        }
    )
    message = project.error("run", "--select", "beside", "of_source", "apart__events")
    assert "keeps a table of its own" not in message
    for fault in (
        'model.consumer.beside: dbt_cdc stands beside meta, where nothing reads it, got {"ref_changes_by": "version"}: '
        "move it to meta: {dbt_cdc: {…}}",
        "model.consumer.beside: dbt_cdc stands beside meta at column 'ssn', where nothing reads it, got {\"sensitive\": true}: "
        "move it to meta: {dbt_cdc: {…}}",
        'source.consumer.raw.t: nothing reads meta.dbt_cdc of a source, got {"unique_key": "id"}: take it out; '
        "table_changes and ref_changes take a key as unique_key",
    ):
        assert fault in message, message
    message = project.error("run", "--select", "sound", "--vars", "{dbt_cdc: much}")
    assert "vars: dbt_cdc must be a mapping of vars (default_high_dttm, operational_metadata_columns, " in message
    assert 'synthetic), got "much"' in message
    # what the command line gives of the mapping is not all of it
    project.configure(vars={"dbt_cdc": {"metadata_shcema": "ops"}})
    message = project.error("run", "--select", "sound", "--vars", "{dbt_cdc: {metadata_schema: null}}")
    assert "vars of dbt_cdc: unknown var 'metadata_shcema', did you mean 'metadata_schema'?" in message
    project.configure()
    assert project.tables() == set()
    project.dbt("run", "--select", "sound")


def test_a_retry_checks_what_a_run_checks(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write({"models/broken.sql": "{{ config(materialized='table') }} select raise_error('broken') as id"})
    project.error("run")
    project.write(
        {"models/broken.sql": "{{ config(materialized='table', meta={'dbt_cdc': {'other': 1}}) }} select 1 as id"}
    )
    monkeypatch.setattr(selected_resources, "SELECTED_RESOURCES", [])  # as a process of its own begins
    assert "model.consumer.broken (table): unknown option 'other'" in project.error("retry")
    assert project.tables() == set()
    # of a command that runs no models, theirs are nothing to it
    failing = "{% test always(model) %}select 1 as id{% endtest %}"
    source = "sources: [{name: raw, tables: [{name: t, identifier: broken, data_tests: [always]}]}]"
    project.write({"macros/failing.sql": failing, "models/raw.yml": source})
    project.error("test")
    monkeypatch.setattr(selected_resources, "SELECTED_RESOURCES", [])
    failed = project.error("retry")
    assert "Got 1 result" in failed + project.new_log()
    assert "unknown option" not in failed
    # nor is what the package's own hook asks, where no node uses it
    project.write({"models/broken.sql": "{{ config(materialized='table') }} select raise_error('broken') as id"})
    project.error("build", "--exclude", "sound")
    monkeypatch.setattr(selected_resources, "SELECTED_RESOURCES", [])
    with session_conf(project.spark, {"spark.sql.caseSensitive": "true"}):
        failed = project.error("retry")
    assert "broken" in failed and "must be" not in failed


def test_vars_are_those_of_the_project_wherever_they_are_asked(project: Project) -> None:
    reader = "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}"
    source = f"sources: [{{name: raw, schema: {project.schema}, tables: [{{name: orders}}]}}]"
    project.write(
        {
            "models/sources.yml": source,
            "models/reader.sql": reader + " select * from {{ dbt_cdc.ref_changes(source('raw', 'orders')) }}",
        }
    )
    project.sql("create table {schema}.orders (id int, cdc_datetime_updated timestamp) using " + project.file_format)
    project.sql("insert into {schema}.orders values (1, timestamp '2024-01-01')")
    project.configure(vars={"dbt_cdc": {"metadata_schema": "{{ target.schema }}"}})
    project.dbt("run")
    # the narrower place counts; of a mapping that the command line gives in part, the rest is as the file has it
    own = {"dbt_cdc": {"metadata_schema": f"{project.schema}_meta", "synthetic": {}}}
    project.configure(vars={"metadata_schema": "what another package calls so", **own})
    try:
        project.dbt("run", "--vars", "{dbt_cdc: {synthetic: {no_keys: 1}}}")
        assert project.rows("select count(*) from {schema}_meta.cdc_metadata") == [(1,)]
        assert project.rows("select count(*) from {schema}.cdc_metadata") == [(1,)]
        project.dbt("run", "--vars", f"{{dbt_cdc: {{metadata_schema: {project.schema}}}}}")
        assert project.rows("select count(*) from {schema}_meta.cdc_metadata") == [(1,)]
    finally:
        project.sql("drop table {schema}_meta.cdc_metadata")
        project.sql("drop schema {schema}_meta")


def test_names_and_values_can_not_change_a_statement(project: Project) -> None:
    name, value = "a`b'c\"d\\e", 'it\'s \\ "x" `y` %'
    project.write(
        {
            "models/m.sql": """
                {{ config(materialized='table', tblproperties={'delta.columnMapping.mode': 'name'}) }}
                select {{ dbt_cdc._literal(var('value')) }} as {{ dbt_cdc._quote(var('name')) }},
                    cast({{ dbt_cdc._literal(none) }} as string) as nothing
            """
        }
    )
    project.configure(vars={"name": name, "value": value})
    project.dbt("run")
    assert project.rows("select * from {schema}.m") == [(value, None)]
    assert [column for column, _ in project.columns("m")] == [name, "nothing"]

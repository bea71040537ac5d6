"""dbt's unit tests of models that use the package's macros: the rows given stand for what the model would have read."""

from __future__ import annotations

import hashlib
import json

import pytest

from tests.support.project import Project

HASHED = """
    def model(dbt, spark):
        dbt.config(
            materialized="hash_diff", submission_method="session", unique_key="id",
            meta={"dbt_cdc": {"effective_date": "2024-01-01", "change_log": "key_op"}},
        )
        return spark.sql("select 1 as id, 'a' as v")
"""
#: The texts of two rows by the rule.
DIGESTED = (b'{"amount":2,"id":1}', b'{"id":2}')
ENVELOPE = json.dumps({"before": None, "after": {"id": 7}, "op": "c", "ts_ms": 0})
READER = "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}"
GIVEN = """
    unit_tests:
      - name: all_rows_are_new
        model: reader
        given: [{input: "source('raw', 'orders')", rows: [{id: 1, amount: 2}]}]
        expect: {rows: [{id: 1, amount: 2, _op: i}]}
      - name: history_as_given
        model: history
        given: [{input: ref('hashed'), format: sql, rows: "select 3 as id, 'D' as operation"}]
        expect: {rows: [{id: 3, operation: D}]}
      - name: log_as_given
        model: logged
        given: [{input: ref('hashed'), format: sql, rows: "select named_struct('keyhash', 'k') as key, 'd' as op"}]
        expect: {rows: [{keyhash: k, op: d}]}
      - name: changes_as_given
        model: changed
        given:
          - input: "source('raw', 'orders')"
            format: sql
            rows: "select 'u' as op, named_struct('amount', 1) as before, named_struct('amount', 5) as after"
        expect: {rows: [{op: u, more: 4}]}
      - name: envelopes_as_given
        model: from_envelopes
        given: [{input: "source('raw', 'envelopes')", rows: [{value: %r}]}]
        expect: {rows: [{id: 7, _op: i}]}
      - name: rows_of_dms_as_given
        model: from_rows
        given: [{input: "source('raw', 'dms')", rows: [{Op: D, id: "7", at: "2024-01-01 00:00:00"}]}]
        expect: {rows: [{id: 7, _op: d}]}
      - name: digests_of_what_is_given
        model: digests
        given: [{input: "source('raw', 'orders')", rows: [{id: 1, amount: 2}, {id: 2, amount: null}]}]
        expect: {rows: [{id: 1, digest: %s}, {id: 2, digest: %s}]}
"""
#: model: what it reads
PARENTS = {
    "reader": "source.consumer.raw.orders",
    "history": "model.consumer.hashed",
    "logged": "model.consumer.hashed",
    "changed": "source.consumer.raw.orders",
    "from_envelopes": "source.consumer.raw.envelopes",
    "of_inner_envelopes": "model.consumer.inner_envelopes",
    "from_rows": "source.consumer.raw.dms",
    "changes_of_model": "model.consumer.hashed",
}


@pytest.mark.one_format("iceberg")
def test_the_rows_given_stand_for_what_the_model_would_have_read(project: Project) -> None:
    for table in ("orders (id int, amount int)", "envelopes (value string)", "dms (Op string, id string, at string)"):
        project.sql(f"create table {{schema}}.{table} using {project.file_format}")
    project.sql(f"insert into {{schema}}.envelopes values ('{ENVELOPE}')")
    project.sql("insert into {schema}.dms values ('I', '8', '2024-01-01 00:00:00')")
    ephemeral = "{{ config(materialized='ephemeral') }} select * from {{ source('raw', '%s') }}"
    table = "{{ config(materialized='table') }} "
    debezium = table + "select id, _op from {{ dbt_cdc.from_debezium(%s, columns={'id': 'int'}) }}"
    dms = table + "select id, _op from {{ dbt_cdc.from_dms(%s, columns={'id': 'int'}, timestamp='at') }}"
    project.write(
        {
            "models/sources.yml": f"""
                sources: [{{name: raw, schema: {project.schema}, tables: [name: orders, name: envelopes, name: dms]}}]
            """.replace("name: orders, name: envelopes, name: dms", "{name: orders}, {name: envelopes}, {name: dms}"),
            "models/unit_tests.yml": GIVEN % (ENVELOPE, *(hashlib.md5(text).hexdigest() for text in DIGESTED)),
            "models/hashed.py": HASHED,
            "models/reader.sql": READER
            + "select * from {{ dbt_cdc.ref_changes(source('raw', 'orders'), by='version', unique_key='id') }}",
            "models/history.sql": "select id, operation from {{ dbt_cdc.companion(ref('hashed'), 'history') }}",
            "models/logged.sql": "select key.keyhash, op from {{ dbt_cdc.companion(ref('hashed'), 'changes') }}",
            "models/changed.sql": """
                select op, after.amount - before.amount as more
                from {{ dbt_cdc.table_changes(source('raw', 'orders'), unique_key='id') }}
            """,
            "models/changes_of_model.sql": "select op, after from {{ dbt_cdc.table_changes(ref('hashed')) }}",
            "models/digests.sql": """
                select id, {{ dbt_cdc.hash(['id', 'amount']) }} as digest from {{ source('raw', 'orders') }}
            """,
            "models/from_envelopes.sql": debezium % "source('raw', 'envelopes')",
            "models/from_rows.sql": dms % "source('raw', 'dms')",
            "models/inner_envelopes.sql": ephemeral % "envelopes",
            "models/inner_rows.sql": ephemeral % "dms",
            "models/of_inner_envelopes.sql": debezium % "'inner_envelopes'",
            "models/of_inner_rows.sql": dms % "ref('inner_rows')",
            "models/untyped_rows.sql": table + "select * from {{ dbt_cdc.from_dms(ref('inner_rows')) }}",
            "models/untyped.sql": table + "select * from {{ dbt_cdc.from_debezium(ref('inner_envelopes')) }}",
            "models/beside.sql": "select * from {{ dbt_cdc.companion(ref('inner_rows'), 'changes') }}",
        }
    )
    refused = ["untyped", "untyped_rows", "beside"]
    nodes = project.dbt("parse").result.nodes
    assert {name: nodes[f"model.consumer.{name}"].depends_on.nodes for name in PARENTS} == {
        name: [parent] for name, parent in PARENTS.items()
    }
    for options in (["--empty"], []):
        results = project.dbt("build", *options, "--exclude", *refused).result.results
        assert len([result for result in results if result.node.resource_type == "unit_test"]) == 7
    for name, row in {"from_envelopes": (7, "i"), "of_inner_envelopes": (7, "i"), "of_inner_rows": (8, "i")}.items():
        assert project.rows(f"select * from {{schema}}.{name}") == [row]
    error = project.error("run", "--select", *refused)
    for told in [
        "__dbt__cte__inner_rows, an ephemeral model or a unit test's input, can't be asked for its columns before it is read,",
        "JSON has no types, got no `columns`, expected a mapping of names to types",
        "inner_rows is an ephemeral model, which keeps no tables beside it",
    ]:
        assert told in error, error


@pytest.mark.one_format("iceberg")
def test_a_table_named_by_text_is_none_that_a_unit_test_gives(project: Project) -> None:
    project.write(
        {
            "models/by_text.sql": "{{ config(materialized='table') }} select op from {{ dbt_cdc.table_changes('a.orders') }}",
            "models/by_text.yml": "unit_tests: [{name: given, model: by_text, given: [], expect: {rows: [{op: i}]}}]",
        }
    )
    error = project.error("test")
    assert "a unit test can give no rows for a table that is named by text, got 'a.orders': name it by source" in error

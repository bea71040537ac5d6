"""Values of a feed that a cast would change are refused; those that fit are read, within arrays and structs, too."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from tests.support.project import Project

pytestmark = pytest.mark.one_format("iceberg")

#: case: (type asked for, value in JSON, its schema part's type name if there is one, what the error shows)
REFUSED: dict[str, tuple[str, Any, str | None, str]] = {
    "decimal_within": ("array<struct<x:decimal(3,0)>>", [{"x": 1.5}], None, "column v (decimal(3,0)) can not be read from: 1.5"),
    "number_within": ("array<timestamp>", [1700000000123456], None, "(timestamp) can not be read from: 1700000000123456"),
    "time_within": ("map<string,timestamp>", {"a": "12:00:00"}, None, "(timestamp) can not be read from: 12:00:00"),
    "more_than_a_day": ("struct<`a b`: date>", {"a b": "2024-01-31T10:30:00Z"}, None, "(date) can not be read from: 2024-01-31T"),
    "long_text_within": ("array<varchar(3)>", ["abcd"], None, "column v (varchar(3)) can not be read from: abcd"),
    "date_with_time": ("date", 1700000000123, "io.debezium.time.Timestamp", "(date) can not be read from: 1700000000123"),
    "infinite_date_within": ("array<date>", [2147483647], None, "(date) can not be read from: 2147483647"),
    "infinite_time_within": ("array<timestamp>", ["+294247-01-10T04:00:25.2Z"], None, "from: +294247-01-10T04"),
    "infinite_date": ("date", -2147472692, "io.debezium.time.Date", "(date) can not be read from: -2147472692"),
    "endless_date": ("date", 2147483647, "io.debezium.time.Date", "(date) can not be read from: 2147483647"),
    "infinite_micros": ("timestamp", 9223372036854775807, "io.debezium.time.MicroTimestamp", "from: 9223372036854775807"),
    "infinite_nanos": ("timestamp", -9223372036854775808, "io.debezium.time.NanoTimestamp", "from: -9223372036854775808"),
    "infinite_text": ("timestamp", "+294247-01-10T04:00:25.2Z", "io.debezium.time.IsoTimestamp", "from: +294247-01-10T04"),
    "long_text": ("varchar(5)", "abcdef", None, "column v (varchar(5)) can not be read from: abcdef"),
}  # fmt: skip

#: case: (type asked for, value in SQL, what the error shows)
TYPED_REFUSED = {
    "cut_number": ("int", "3.7D", "(int) can not be read from: 3.7"),
    "cut_decimal": ("bigint", "cast(3.7 as decimal(38,10))", "(bigint) can not be read from: 3.7"),
    "cut_time": ("date", "timestamp'2024-01-31 10:30:00'", "(date) can not be read from: 2024-01-31 10:30:00"),
    "inexact_double": ("double", "9007199254740993L", "(double) can not be read from: 9007199254740993"),
    "seconds": ("bigint", "timestamp'2024-01-31 10:30:00'", "(bigint) can not be read from: 2024-01-31 10:30:00"),
    "no_boolean": ("boolean", "3.7D", "(boolean) can not be read from: 3.7"),
}

MODEL = "{{ config(materialized='table') }} select * from "


def envelope(value: Any, kind: str | None) -> str:
    payload = {
        "before": None,
        "after": {"id": 1, "v": value},
        "op": "c",
        "ts_ms": 1,
        "source": {"connector": "postgresql", "lsn": 1},
    }
    if kind is None:
        return json.dumps(payload)
    fields = [{"field": "id", "type": "int32"}, {"field": "v", "type": "int64", "name": kind}]
    return json.dumps({"schema": {"fields": [{"field": "after", "fields": fields}]}, "payload": payload})


def test_what_a_cast_would_change_is_refused(project: Project) -> None:
    models = {}
    for name, (kind, value, schema, _) in REFUSED.items():
        project.sql(f"create table {{schema}}.raw_{name} as select '{envelope(value, schema)}' as value")
        read = f"dbt_cdc.from_debezium(target.schema ~ '.raw_{name}', columns={{'id': 'int', 'v': '{kind}'}})"
        models[f"models/{name}.sql"] = f"{MODEL}{{{{ {read} }}}}"
    for name, (kind, value, _) in TYPED_REFUSED.items():
        columns = f"columns={{'id': 'int', 'v': '{kind}'}}"
        after = f"named_struct('id', 1, 'v', {value})"
        source = "map('connector', 'postgresql', 'lsn', '1')"
        flat = (
            f"select if(false, {after}, null) as before, {after} as after, 'c' as op, {source} as source, 1L as ts_ms"
        )
        project.sql(f"create table {{schema}}.flat_{name} as {flat}")
        project.sql(f"create table {{schema}}.dms_{name} as select 'I' as Op, 1 as id, {value} as v, 1 as seq")
        flat_read = f"dbt_cdc.from_debezium(target.schema ~ '.flat_{name}', {columns})"
        dms_read = f"dbt_cdc.from_dms(target.schema ~ '.dms_{name}', {columns}, sequence='seq')"
        models |= {
            f"models/flat_{name}.sql": f"{MODEL}{{{{ {flat_read} }}}}",
            f"models/dms_{name}.sql": f"{MODEL}{{{{ {dms_read} }}}}",
        }
    project.write(models)
    result = project.invoke("run")
    told = {r.node.name: str(r.message) for r in result.result.results}
    for name, (*_, shown) in REFUSED.items():
        assert shown in told[name], name
    for name, (*_, shown) in TYPED_REFUSED.items():
        assert f"from_debezium: column v {shown}" in told[f"flat_{name}"], name
        assert f"from_dms: column v {shown}" in told[f"dms_{name}"], name
    raw = {f"raw_{name}" for name in REFUSED} | {f"{kind}_{name}" for kind in ("flat", "dms") for name in TYPED_REFUSED}
    assert project.tables() == raw


def test_what_fits_is_read_within_nested_types_and_out_of_a_query(project: Project) -> None:
    value = {
        "at": ["2024-01-31T10:30:00Z", None],
        "days": {"a": 19753, "b": "2024-01-31"},
        "sums": [{"x": 1.50, "y z": None}, {"x": "12345678901234567.89", "y z": "q"}],
    }
    nested = (
        "struct<at: array<timestamp>, days: map<string, date>, sums: array<struct<x: decimal(19,2), `y z`: string>>>"
    )
    project.sql(f"create table {{schema}}.raw (value string, at int) using {project.file_format}")
    project.sql(f"insert into {{schema}}.raw values ('{envelope(value, None)}', 1)")
    reader = f"""
        {{{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}}}
        select id, v from {{{{ dbt_cdc.from_debezium(
            dbt_cdc.ref_changes(source('raw', 'raw'), column='at'), columns={{'id': 'int', 'v': '{nested}'}}) }}}}
    """
    source = f"sources: [{{name: raw, schema: {project.schema}, tables: [{{name: raw}}]}}]"
    unit_test = f"""
        unit_tests:
          - name: reads_rows
            model: reader
            overrides: {{macros: {{is_incremental: false}}}}
            given:
              - input: source('raw', 'raw')
                rows: [{{value: '{envelope(None, None)}'}}]
            expect: {{rows: [{{id: 1}}]}}
    """
    project.write({"models/sources.yml": source, "models/reader.sql": reader, "models/tests.yml": unit_test})
    project.dbt("test")
    project.dbt("compile")
    project.dbt("run")
    ((number, row),) = project.rows("select id, v from {schema}.reader")
    assert (number, row.at, row.days) == (
        1,
        [datetime(2024, 1, 31, 10, 30), None],
        {"a": date(2024, 1, 31), "b": date(2024, 1, 31)},
    )
    assert [tuple(part) for part in row.sums] == [(Decimal("1.50"), None), (Decimal("12345678901234567.89"), "q")]
    later = envelope({"at": [], "days": {}, "sums": []}, None).replace('"id": 1', '"id": 2')
    project.sql(f"insert into {{schema}}.raw values ('{later}', 2)")
    # what PostgreSQL has for JSON's own null
    of_json = envelope("null", None).replace('"id": 1', '"id": 3')
    project.sql(f"insert into {{schema}}.raw values ('{of_json}', 3)")
    project.dbt("run")
    times = "select id, if(v is null, null, size(v.at)) from {schema}.reader order by id"
    assert project.rows(times) == [(1, 2), (2, 0), (3, None)]
    assert project.rows("select watermark from {schema}.cdc_metadata order by sequence") == [("1",), ("3",)]


def test_a_feed_that_can_not_be_asked_for_is_refused(project: Project) -> None:
    project.sql("create table {schema}.raw as select 'x' as value")
    project.write({"landing/rows.json": '{"Op": "I", "id": 7, "seq": 1}'})
    project.sql("create table {schema}.taken as select 'I' as Op, 1 as id, 2 as _ts, 1 as seq")
    calls = {
        "no_value": "from_debezium(target.schema ~ '.raw', columns={'id': 'int'}, value=none)",
        "not_there": "from_debezium(target.schema ~ '.nowhere', columns={'id': 'int'})",
        "twice": "from_debezium(target.schema ~ '.raw', columns={'id': 'int', 'Id': 'int'})",
        "keys": "from_debezium(target.schema ~ '.raw', columns={'id': 'map<int, string>'})",
        "taken": "from_dms(target.schema ~ '.taken', sequence='seq')",
    }
    project.write({f"models/{name}.sql": f"{MODEL}{{{{ dbt_cdc.{call} }}}}" for name, call in calls.items()})
    path = f"'json.`{project.folder}/landing`', sequence='seq'"
    project.write({"models/of_files.sql": f"{MODEL}{{{{ dbt_cdc.from_dms({path}) }}}}"})
    told = {r.node.name: str(r.message) for r in project.invoke("run").result.results}
    assert project.rows("select id, _op from {schema}.of_files") == [(7, "i")]
    assert "from_debezium: value must name the column of the envelopes, got" in told["no_value"]
    assert (
        f"from_debezium: {project.schema}.nowhere does not exist or has no columns; build it first" in told["not_there"]
    )
    assert "from_debezium: the column 'Id' stands twice: give it once" in told["twice"]
    assert (
        "from_debezium: column 'id': keys of a map are text in JSON, expected map<string, …>, got map<int"
        in told["keys"]
    )
    assert "from_dms: the feed has a column '_ts' itself: give the table's one another name before" in told["taken"]

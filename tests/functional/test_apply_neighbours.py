"""What lies around an apply_changes model: names, types and tables that are others', and another session's writes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.project import Project
from tests.support.statements import meanwhile

pytestmark = pytest.mark.one_format("iceberg")

KEYS = ["seen", "fresh", "processed_at", "last_event"]


def model(query: str, *, config: str = "", **meta: Any) -> str:
    options = {"sequence_by": "seq", "apply_as_deletes": "op = 'D'", "except_column_list": ["op", "seq"], **meta}
    return f"{{{{ config(materialized='apply_changes', meta={{'dbt_cdc': {options!r}}}, {config}) }}}}\n{query}"


def test_keys_and_columns_may_have_any_names(project: Project) -> None:
    """Those of steps within the package's queries, and such as dbt-spark takes for headings."""
    key = ", ".join(f"'{n}' || id as {n}" for n in KEYS)
    events = f"select id, {key}, n as `#items`, city, op, seq from values {{}} as t(id, n, city, op, seq)"
    first = events.format("(1, 5, 'Oslo', 'U', 1), (2, 6, 'Rome', 'U', 1), (3, null, null, 'D', 1)")
    second = events.format("(1, 7, 'Oslo', 'U', 2), (2, null, null, 'D', 2)")
    query = f"{{% if var('run') == 1 %}}{first}{{% else %}}{second}{{% endif %}}"
    # old deletes are looked for in every run
    options = {"tombstone_retention": "0 seconds", "max_delete_fraction": 0.5}
    config = f"unique_key={['id', *KEYS]!r}"
    project.write(
        {
            "models/one.sql": model(query, config=config, **options),
            "models/two.sql": model(query, config=config, stored_as_scd_type=2, **options),
        }
    )
    project.dbt("run", "--vars", "{run: 1}")
    aged = "set _dbt_cdc_processed_at = _dbt_cdc_processed_at - interval 3 days"
    project.sql(f"update {{schema}}.two__events {aged} where _dbt_cdc_kind in ('begun', 'applied')")
    project.dbt("run", "--vars", "{run: 2}")
    columns = ["id", *KEYS, "#items", "city"]
    assert [name for name, _ in project.columns("one")] == columns
    assert [name for name, _ in project.columns("two")] == [*columns, "__START_AT", "__END_AT"]
    assert project.rows("select * from {schema}.one") == [(1, *[f"{n}1" for n in KEYS], 7, "Oslo")]
    assert project.rows("select id, seen, `#items`, city, __START_AT, __END_AT from {schema}.two order by 1, 5") == [
        (1, "seen1", 5, "Oslo", 1, 2),
        (1, "seen1", 7, "Oslo", 2, None),
        (2, "seen2", 6, "Rome", 1, 2),
    ]
    # the delete of a key that never was has been forgotten
    deletes = "select id, _dbt_cdc_sequence from {schema}.two__events where _dbt_cdc_kind = 'delete'"
    assert project.rows(deletes) == [(2, 2)]
    # and that the first batch is done
    marked = (
        "select _dbt_cdc_kind, count(*) from {schema}.%s__events where _dbt_cdc_kind in ('begun', 'applied') group by 1"
    )
    assert sorted(project.rows(marked % "one")) == [("applied", 2), ("begun", 2)]
    assert sorted(project.rows(marked % "two")) == [("applied", 1), ("begun", 1)]
    project.write(
        {"models/one.sql": model("select 1 as _dbt_cdc_id, 1 as seq, 'U' as op", config="unique_key='_dbt_cdc_id'")}
    )
    assert (
        "the column '_dbt_cdc_id' of the key or of an interval has a name that apply_changes uses itself: rename it"
        in project.error("run", "--select", "one", "--full-refresh", "--vars", "{run: 1}")
    )


def test_a_table_of_anothers_that_has_the_name_of_the_events_stays(project: Project) -> None:
    project.sql("create table {schema}.stripe__events (id int, op string, seq int) using " + project.file_format)
    project.sql("insert into {schema}.stripe__events values (1, 'U', 1)")
    source = f"sources: [{{name: raw, schema: {project.schema}, tables: [{{name: stripe__events}}]}}]"
    query = "select * from {{ source('raw', 'stripe__events') }}"
    project.write({"models/raw.yml": source, "models/stripe.sql": model(query, config="unique_key='id'")})
    for command in (["run"], ["run", "--full-refresh"]):
        message = project.error(*command)
        assert "model.consumer.stripe can't run, nothing was written" in message
        assert "stripe__events is there, and not as a table of apply_changes" in message
        assert "give the model, or that table, another name" in message
        assert project.tables() == {"stripe__events"}
    project.dbt("run-operation", "purge_tombstones")
    assert "stripe has not been built yet" in project.log()
    assert project.rows("select * from {schema}.stripe__events") == [(1, "U", 1)]


def test_deletes_of_one_version_of_a_model_are_forgotten_by_its_name(project: Project) -> None:
    query = "select explode(array(1, 2)) as id, 1 as seq, 'D' as op"
    project.write(
        {
            "models/m_v1.sql": model(query, config="unique_key='id'"),
            "models/m_v2.sql": model(query, config="unique_key='id'"),
            "models/m.yml": "models: [{name: m, versions: [{v: 1}, {v: 2}]}]",
        }
    )
    project.sql("drop schema {schema}")  # as before any run
    project.dbt("run-operation", "purge_tombstones")
    for version in (1, 2):
        assert f"m.v{version} has not been built yet" in project.new_log()
    project.dbt("run")
    aging = "_dbt_cdc_processed_at = _dbt_cdc_processed_at - make_dt_interval(0, if(id = 1, 49, 47))"
    project.sql(f"update {{schema}}.m_v1__events set {aging}")
    project.dbt("run-operation", "purge_tombstones")  # two days is the retention by default
    for version, forgotten in ((1, 1), (2, 0)):
        told = f"m.v{version}: {forgotten} delete(s) forgotten: processed more than 2 days ago, or outdone by a later event"
        assert told in project.new_log()
    purge = ("run-operation", "purge_tombstones", "--args")
    project.dbt(*purge, "{model: m.v2, retention: 0 seconds}")
    assert (
        "m.v2: 2 delete(s) forgotten: processed more than 0 seconds ago, or outdone by a later event" in project.log()
    )
    deletes = "select id from {schema}.m_v%s__events where _dbt_cdc_kind = 'delete'"
    assert [project.rows(deletes % version) for version in (1, 2)] == [[(2,)], []]
    project.error(*purge, "{model: m.v3}")
    assert "unknown apply_changes model 'm.v3', did you mean 'm.v" in project.log()
    project.dbt(*purge, "{model: m, retention: 0 seconds}")
    assert project.rows(deletes % 1) == []

    # what another package calls so is not meant by the bare name
    project.write(
        {
            "dbt_packages/crm/dbt_project.yml": "{name: crm, version: 1.0.0, config-version: 2, profile: consumer}",
            "dbt_packages/crm/models/m.sql": model(query, config="unique_key='id', alias='of_crm'"),
        }
    )
    project.dbt("run", "--select", "crm")
    project.error(*purge, "{model: m, retention: 0 seconds}")
    assert (
        "several packages have an apply_changes model 'm': name it with its own, as in consumer.m or crm.m"
        in project.log()
    )
    deletes_of_crm = "select id from {schema}.of_crm__events where _dbt_cdc_kind = 'delete' order by id"
    assert project.rows(deletes_of_crm) == [(1,), (2,)]
    project.dbt(*purge, "{model: crm.m, retention: 0 seconds}")
    assert project.rows(deletes_of_crm) == []


def test_types_of_a_tables_own_version_and_long_structs_are_taken(project: Project) -> None:
    """Variants are of Iceberg's format version 3; Spark cuts the text of a struct with more than 25 fields."""
    fields = ", ".join(f"'f{n}', {n}" for n in range(30))
    query = f"""
        {{% if var('run') == 1 %}}
        select 1 as id, parse_json('{{"a": 1}}') as v, named_struct({fields}) as rec, 'U' as op, 1 as seq
        {{% else %}}
        select 1 as id, parse_json('{{"a": 2}}') as v, null as rec, 'U' as op, 2 as seq
        {{% endif %}}
    """
    config = "unique_key='id', tblproperties={'format-version': '3'}"
    project.write({"models/t.sql": model(query, config=config, stored_as_scd_type=2, change_log="data_before_after")})
    for run in (1, 2):
        project.dbt("run", "--vars", f"{{run: {run}}}")
    rows = "select to_json(v), rec.f29, __START_AT, __END_AT from {schema}.t order by __START_AT"
    assert project.rows(rows) == [('{"a":1}', 29, 1, 2), ('{"a":2}', None, 2, None)]
    log = "select op, to_json(before.v), to_json(after.v), after.__END_AT from {schema}.t__changes order by ts, op"
    assert project.rows(log) == [
        ("i", None, '{"a":1}', None),
        ("i", None, '{"a":2}', None),
        ("u", '{"a":1}', '{"a":1}', 2),
    ]


@pytest.mark.one_format("delta")  # which holds its columns to such lengths, and takes no DEFAULT and no collation
def test_lengths_defaults_and_collations_of_the_source_are_none_of_the_tables(project: Project) -> None:
    columns = "id varchar(1), v varchar(1) default 'a', op string, seq varchar(1) default '1'"
    project.sql(f"create table {{schema}}.short ({columns}) using parquet")
    project.sql(f"create table {{schema}}.long ({columns.replace('(1)', '(2)')}) using parquet")
    project.sql("insert into {schema}.short (id, op) values ('1', 'U')")
    project.sql("insert into {schema}.long values ('1', 'bb', 'U', '22')")
    query = """
        select *, v collate UTF8_LCASE as `any case`, named_struct('x', v collate UTF8_LCASE, 'y', null) as parts
            {{ ", v collate UTF8_LCASE as new" if var('source') == 'long' }}
        from {{ target.schema }}.{{ var('source') }}
    """
    options = {"config": "unique_key='id', on_schema_change='append_new_columns'", "stored_as_scd_type": 2}
    project.write(
        {
            "models/t.sql": model(query, **options),
            "models/ordered.sql": model(query, sequence_by="seq collate UTF8_LCASE", **options),
        }
    )
    for source in ("short", "long"):
        project.dbt("run", "--select", "t", "--vars", f"{{source: {source}}}")
    versions = project.rows(
        "select id, v, `any case`, parts.x, parts.y, new, __START_AT, __END_AT from {schema}.t order by __START_AT"
    )
    assert versions == [("1", "a", "a", "a", None, None, "1", "22"), ("1", "bb", "bb", "bb", None, "bb", "22", None)]
    assert (
        "sequence_by must be of a type that sorts and that tables keep, got string collate UTF8_LCASE"
        in project.error("run", "--select", "ordered", "--vars", "{source: long}")
    )


def test_what_another_session_has_shown_meanwhile_is_seen(project: Project) -> None:
    """Iceberg's catalogs show a table as they know it for half a minute; sessions have catalogs of their own."""
    other = project.spark.newSession()
    query = "select {{ var('id') }} as id, 'x' as v, '{{ var('op') }}' as op, {{ var('seq') }} as seq"
    project.write({"models/t.sql": model(query, config="unique_key='id'")})
    project.dbt("run", "--vars", "{id: 2, op: U, seq: 1}")
    schema = project.schema
    # what a run writes that applies (1, 'x', U, 5), once this one has looked at everything
    copied = "id, _dbt_cdc_sequence, _dbt_cdc_kind, _dbt_cdc_hash, _dbt_cdc_columns, _dbt_cdc_processed_at, v"
    of_another_run = [
        f"insert into {schema}.t__events (_dbt_cdc_batch, {copied}) select 'other', "
        "if(_dbt_cdc_kind = 'upsert', 1, null), if(_dbt_cdc_kind = 'upsert', 5, null), _dbt_cdc_kind, "
        f"_dbt_cdc_hash, _dbt_cdc_columns, _dbt_cdc_processed_at, v from {schema}.t__events "
        "where _dbt_cdc_kind in ('upsert', 'begun', 'applied')",
        f"insert into {schema}.t (id, v) values (1, 'x')",
    ]
    with meanwhile(other.sql, {"t": ("insert into {}__events .*'begun'", of_another_run)}):
        project.dbt("run", "--vars", "{id: 1, op: D, seq: 10}")
    project.sql("refresh table {schema}.t")
    assert project.rows("select id, v from {schema}.t") == [(2, "x")]


def test_an_image_is_compared_with_what_another_session_has_shown_meanwhile(project: Project) -> None:
    other = project.spark.newSession()
    query = "select 2 as id, 'x' as v, {{ var('seq') }} as seq"
    options = {"sequence_by": "seq", "source_kind": "snapshot"}
    config = f"materialized='apply_changes', unique_key='id', meta={{'dbt_cdc': {options!r}}}"
    project.write({"models/t.sql": f"{{{{ config({config}) }}}} {query}"})
    project.dbt("run", "--vars", "{seq: 1}")
    schema = project.schema
    # what a run writes that applies the image 5, which has the key 7, too, while this one's batch is made
    copied = "_dbt_cdc_kind, _dbt_cdc_hash, _dbt_cdc_columns, _dbt_cdc_processed_at, v"
    of_another_run = [
        f"insert into {schema}.t__events (_dbt_cdc_batch, id, _dbt_cdc_sequence, {copied}) select 'other', "
        f"if(_dbt_cdc_kind = 'upsert', 7, null), if(_dbt_cdc_kind <> 'applied', 5, null), {copied} "
        f"from {schema}.t__events where _dbt_cdc_kind in ('upsert', 'begun', 'applied')",
        f"insert into {schema}.t (id, v) values (7, 'x')",
    ]
    with meanwhile(other.sql, {"t": ("create table {}__dbt_tmp_", of_another_run)}, after=True):
        project.dbt("run", "--vars", "{seq: 6}")
    project.sql("refresh table {schema}.t")
    assert project.rows("select id from {schema}.t") == [(2,)]
    deletes = "select id, _dbt_cdc_sequence from {schema}.t__events where _dbt_cdc_kind = 'delete'"
    assert project.rows(deletes) == [(7, 6)]

"""Relations whose names have dots or capital letters, some in a schema apart: every capability finds them again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.changes import FEED_ON
from tests.support.project import Project, words_of

NAMES = ("ro.ws", "hash.ed", "tab.led", "re.ad", "app.lied", "snap.ped")

MODELS = {
    "models/sources.yml": """
        sources:
          - name: raw
            schema: "{{ target.schema }}"
            quoting: {identifier: QUOTED}
            tables: [{name: rows, identifier: ro.ws}]
    """,
    "models/hashed.yml": """
        models:
          - name: hashed
            config: {meta: {dbt_cdc: {effective_date: "2024-01-0{{ var('day') }}", change_log: data_before}}}
    """,
    "models/hashed.py": """
        def model(dbt, spark):
            dbt.config(materialized="hash_diff", unique_key="id", alias="hash.ed", schema="apart")
            return dbt.source("raw", "rows")
    """,
    "models/tabled.py": """
        def model(dbt, spark):
            dbt.config(materialized="table", alias="tab.led", partition_by="v")
            return dbt.source("raw", "rows")
    """,
    "models/applied.sql": """
        {{ config(materialized='apply_changes', unique_key='id', alias='app.lied', schema='apart', meta={'dbt_cdc': {
                  'sequence_by': 'day', 'stored_as_scd_type': 2, 'change_log': 'data_before'}}) }}
        select id, v, {{ var('day') }} as day from {{ source('raw', 'rows') }}
    """,
    "snapshots/snapped.yml": """
        snapshots:
          - name: snapped
            relation: source('raw', 'rows')
            config: {alias: snap.ped, unique_key: id, strategy: check, check_cols: [v],
                     meta: {dbt_cdc: {change_log: data_before}}}
    """,
    "models/read.sql": """
        {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', alias='re.ad') }}
        select id, v, _op as op from {{ dbt_cdc.ref_changes(source('raw', 'rows'), by='version', unique_key='id') }}
        where _op <> 'd'
    """,
    "models/changes.sql": """
        {{ config(materialized='table') }}
        {% for node in ('hashed', 'applied', 'snapped') %}
        select '{{ node }}' as node, op, before.v as old, after.v as new
        from {{ dbt_cdc.table_changes(ref(node), format='cdc') }}
        union all
        {% endfor %}
        select 'rows', op, before.v, after.v
        from {{ dbt_cdc.table_changes(source('raw', 'rows'), unique_key='id') }}
    """,
}


def spelled(text: str, capitals: bool) -> str:
    """A text with the names in it as they are, or as `Hash_Ed` where a catalog takes no dots."""
    for name in NAMES if capitals else ():
        text = text.replace(name, name.title().replace(".", "_"))
    return text


def tables_apart(project: Project) -> set[str]:
    found = [*project.rows("show tables in {schema}_apart"), *project.rows("show views in {schema}_apart")]
    return {name for _, name, is_temporary in found if not is_temporary}


def follow_two_days(project: Project, capitals: bool) -> None:
    def rows(query: str) -> list[tuple[Any, ...]]:
        return project.rows(spelled(query, capitals))

    # Iceberg's catalogs keep dots and capitals: dbt finds such tables where it quotes names
    quoted = project.file_format == "iceberg"
    project.configure(quoting={"identifier": quoted})
    project.write({path: spelled(text, capitals).replace("QUOTED", str(quoted)) for path, text in MODELS.items()})
    feed = f"using {project.file_format} tblproperties ({FEED_ON[project.file_format]})"
    project.sql(spelled(f"create table {{schema}}.`ro.ws` (id int, v string) {feed}", capitals))
    for day, value in enumerate("ab", 1):
        project.sql(spelled(f"insert overwrite {{schema}}.`ro.ws` values (1, '{value}')", capitals))
        project.dbt("build", "--vars", f"{{day: {day}}}")

    assert rows("select id, v, operation from {schema}_apart.`hash.ed`") == [(1, "b", "U")]
    history = "select eff_start_date, v, operation from {schema}_apart.`hash.ed__history` order by 1"
    assert [(str(day), *rest) for day, *rest in rows(history)] == [
        ("2024-01-01", "a", "I"),
        ("2024-01-02", "b", "U"),
    ]
    assert rows("select * from {schema}.`tab.led`") == [(1, "b")]
    assert rows("select * from {schema}.`re.ad`") == [(1, "b", "u")]
    described = [row[0] for row in rows("describe {schema}.`tab.led`")]
    assert described.count("v") == 2  # as a column, as a partition
    versions = "select id, v, __START_AT, __END_AT from {schema}_apart.`app.lied` order by 3"
    assert rows(versions) == [(1, "a", 1, 2), (1, "b", 2, None)]
    assert rows("select v from {schema}.`snap.ped` order by dbt_valid_from") == [("a",), ("b",)]
    # the rows of a history: a version that ends is an update of its row
    histories = [("i", None, "a"), ("i", None, "b"), ("u", "a", "a")]
    states = [("i", None, "a"), ("u", "a", "b")]
    assert project.rows("select * from {schema}.changes order by all") == [
        *(("applied", *change) for change in histories),
        *(("hashed", *change) for change in states),
        *(("rows", *change) for change in states),
        *(("snapped", *change) for change in histories),
    ]
    # what a model keeps lies beside it
    names = {"cdc_metadata", "changes", "re.ad", "ro.ws", "snap.ped", "snap.ped__changes", "tab.led"}
    apart = {"hash.ed", "hash.ed__base", "hash.ed__changes", "hash.ed__history"}
    apart |= {"app.lied", "app.lied__changes", "app.lied__events"}
    for expected, found in ((names, project.tables()), (apart, tables_apart(project))):
        expected = {spelled(name, capitals) for name in expected}
        assert found == (expected if quoted else {name.lower() for name in expected})


@pytest.mark.long  # test_snapshot_options and test_hash_diff have names that need quotes
@pytest.mark.only_format("iceberg")  # Spark's own catalog refuses such names
def test_tables_with_a_dot_in_their_names_follow_two_days(project: Project) -> None:
    follow_two_days(project, capitals=False)


@pytest.mark.one_format("delta")
def test_tables_with_capitals_in_their_names_follow_two_days(project: Project) -> None:
    follow_two_days(project, capitals=True)
    if project.file_format == "delta":  # in a catalog that does not tell small letters from capitals
        relation = "api.Relation.create(schema=(target.schema ~ '_apart') | upper, identifier='HASH_ED')"
        asked = "select op, after.v from {{ dbt_cdc.table_changes(%s, format='latest_state') }}"
        project.write({"models/asked.sql": "{{ config(materialized='table') }}" + asked % relation})
        project.dbt("run", "--select", "asked", "--vars", "{day: 2}")
        assert project.rows("select * from {schema}.asked") == [("u", "b")]


SPELLINGS = """
{% macro spell() %}
    {# two spellings, by which other nodes of the run ask other ranges #}
    {% do dbt_cdc._of_this_run().update({'spellings': {'s.t1 t1': 's.t1 first', 's.t1 T1': 's.t1 second'}}) %}
    {% set third = dbt_cdc._spelling('s.t1', 't1', 'third') %}
    {% set fourth = dbt_cdc._spelling('s.t1', 't1', 'first' if third == 't1' else 'second') %}
    {% do print('spelled: ' ~ [third, fourth] | sort(case_sensitive=true) | join(', ')) %}
    {% do dbt_cdc._spelling('s.t1', 't1', 'fifth') %}
{% endmacro %}
"""


@pytest.mark.one_format("iceberg")
def test_two_ranges_of_one_statement_never_share_a_spelling(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.write({"macros/spell.sql": SPELLINGS})
    assert "asks for more ranges of t1 than one statement can tell apart" in (
        project.error("run-operation", "spell") + project.new_log()
    )
    assert "spelled: T1, t1" in capsys.readouterr().out.splitlines()


@pytest.mark.one_format("iceberg")
def test_a_name_that_another_model_had_when_the_state_was_written_means_the_one_that_has_it_now(
    project: Project,
) -> None:
    first = "{{ config(materialized='table', alias='%s') }} select 1 as id"
    logged = (
        "{{ config(materialized='apply_changes', alias='orders', unique_key='id',"
        " meta={'dbt_cdc': {'sequence_by': 'id', 'change_log': 'key_op'}}) }} select 1 as id"
    )
    reading = "{{ config(materialized='view') }} select op from {{ dbt_cdc.companion(ref('second'), 'changes') }}"
    project.write({"models/first.sql": first % "orders"})
    project.dbt("parse").result.write(str(project.folder / "state/manifest.json"))
    project.write({"models/first.sql": first % "older", "models/second.sql": logged, "models/reading.sql": reading})
    project.dbt("compile", "--select", "reading", "--defer", "--state", str(project.folder / "state"))
    compiled = (project.folder / "target/compiled/consumer/models/reading.sql").read_text()
    assert words_of(compiled) == f"select op from {project.schema}.orders__changes"

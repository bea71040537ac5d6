"""What dbt gives every model holds for apply_changes: contracts, grants, docs, hooks, aliases, counts in its results."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.project import Project, words_of
from tests.support.statements import killed_at, watch

pytestmark = pytest.mark.one_format("iceberg")

OPTIONS = {
    "sequence_by": "seq",
    "stored_as_scd_type": 2,
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op", "seq"],
}
BATCHES = [
    "(1, 'a', 'U', 1), (2, 'b', 'U', 1), (3, 'c', 'U', 1)",
    "(1, 'z', 'U', 5), (2, null, 'D', 5), (4, 'n', 'U', 5)",
]
HEADER = "{{ config(materialized='apply_changes', unique_key='id', meta={'dbt_cdc': " + repr(OPTIONS) + "}) }}\n"
MODEL = HEADER + "select * from values {{ var('batch') }} as t(id, v, op, seq)"
COLUMNS = """
      - {{name: id, data_type: int, description: "the key, `id`"}}
      - {{name: v, data_type: {}, description: it's a value}}
      - {{name: __START_AT, data_type: int}}
      - {{name: __END_AT, data_type: int}}
"""
SCHEMA = f"""
models:
  - name: governed
    description: 'Versions of "things" that aren''t C:\\'
    config:
      alias: things
      contract: {{enforced: true}}
      on_schema_change: append_new_columns
      full_refresh: false
      persist_docs: {{relation: true, columns: true}}
      grants: {{select: [analyst]}}
      pre_hook: "insert into {{{{ target.schema }}}}.hooks select 'before', count(*) from {{{{ target.schema }}}}.hooks"
      post_hook: "insert into {{{{ target.schema }}}}.hooks select 'after', count(*) from {{{{ this }}}}"
    columns: {COLUMNS.format("string")}
  - name: promised
    config:
      contract: {{enforced: true}}
      on_schema_change: append_new_columns
    columns: {COLUMNS.format("bigint")}
      - {{name: more, data_type: string}}
"""


@pytest.fixture
def grants(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The grant statements sent, which Spark without an authorizer does not know; the rest runs."""
    sent: list[str] = []

    def look(sql: str) -> str | None:
        if not re.match("show grant|grant|revoke", words_of(sql), re.I):
            return None
        sent.append(words_of(sql))
        return "select '' as principal, '' as action_type, '' as object_type limit 0"

    watch(monkeypatch, look)
    return sent


def test_contract_grants_docs_hooks_and_alias(project: Project, grants: list[str]) -> None:
    project.write({"models/governed.sql": MODEL, "models/promised.sql": MODEL, "models/schema.yml": SCHEMA})
    project.sql("create table {schema}.hooks (what string, rows bigint)")
    message = project.error("run", "--vars", str({"batch": BATCHES[0]}))
    for told in (
        "the contract says that v is bigint, it is string",
        "the contract has the column more, the table would not",
    ):
        assert told in message, message
    assert project.tables() == {"hooks", "things", "things__events"}
    assert project.columns("things") == [("id", "int"), ("v", "string"), ("__START_AT", "int"), ("__END_AT", "int")]
    assert project.run_results()["governed"]["message"] == "APPLY CHANGES (3 events: 3 inserted, 0 updated, 0 deleted)"

    # which the model refuses
    project.dbt("run", "--select", "governed", "--full-refresh", "--vars", str({"batch": BATCHES[1]}))
    assert project.rows("select * from {schema}.things order by 1, 3") == [
        (1, "a", 1, 5),
        (1, "z", 5, None),
        (2, "b", 1, 5),
        (3, "c", 1, None),
        (4, "n", 5, None),
    ]
    result = project.run_results()["governed"]
    assert result["message"] == "APPLY CHANGES (3 events: 2 inserted, 2 updated, 0 deleted)"
    assert result["adapter_response"]["rows_affected"] == 4
    assert result["adapter_response"]["operations"] == {"I": 2, "U": 2, "D": 0}
    assert sorted(project.rows("select * from {schema}.hooks")) == [
        ("after", 3),
        ("after", 5),
        ("before", 0),
        ("before", 2),
    ]
    # the run's write and nothing more: the comments are as they were
    commits = "describe history {schema}.things"
    if project.file_format == "iceberg":
        snapshots = "select operation from {schema}.things.snapshots order by committed_at"
        assert project.rows(snapshots)[1:] == [("overwrite",)]
        commits = "select count(*) from {schema}.things.metadata_log_entries"
    files = project.rows(commits)
    project.dbt("run", "--select", "governed", "--vars", str({"batch": BATCHES[1]}))
    assert project.rows(commits) == files
    described = {row[0]: (row[1], row[2]) for row in project.rows("describe table extended {schema}.things")}
    assert described["id"] == ("int", "the key, `id`")
    assert described["v"] == ("string", "it's a value")
    assert described["Comment"][0] == 'Versions of "things" that aren\'t C:\\'
    table = f"`{project.schema}`.`things`"
    assert [sql.replace("`", "") for sql in grants if sql.startswith("grant")] == [
        f"grant select on {table.replace('`', '')} to analyst"
    ] * 3


CHECKED = """
models:
  - name: checked
    config:
      contract: {enforced: true}
    constraints:
      - {type: check, name: positive, expression: "`W eight` > 0"}
      - {type: check, name: null_key, expression: "id < 100"}
    columns:
      - {name: id, data_type: int}
      - {name: W eight, data_type: int, quote: true}
      - {name: __START_AT, data_type: int}
      - {name: __END_AT, data_type: int}
"""


@pytest.mark.only_format("delta")
def test_without_a_file_format_the_tables_are_deltas(project: Project) -> None:
    project.configure(models={"+file_format": None})
    options = {"sequence_by": "seq", "change_log": "key_op"}
    # quoted, as dbt-spark's own materializations need some names
    config = f"materialized='apply_changes', unique_key='`id`', meta={{'dbt_cdc': {options!r}}}"
    project.write({"models/t.sql": f"{{{{ config({config}) }}}} select 1 as id, {{{{ var('seq') }}}} as seq"})
    # the watermark of a reader too, in a table that on-run-start makes
    read = "select * from {{ dbt_cdc.ref_changes(ref('t'), by='version') }}"
    project.write({"models/reader.sql": f"{{{{ config({config}) }}}} {read}"})
    for seq in (1, 2):
        project.dbt("run", "--vars", f"{{seq: {seq}}}")
    assert project.rows("select * from {schema}.t") == [(1, 2)]
    assert project.rows("select op from {schema}.t__changes order by ts") == [("i",), ("u",)]
    assert project.rows("select id, seq, _op from {schema}.reader") == [(1, 2, "u")]
    assert project.rows("select count(*) from {schema}.cdc_metadata") == [(2,)]
    for table in ("t", "t__events", "t__changes", "reader", "reader__events", "cdc_metadata"):
        assert project.rows(f"describe detail {{schema}}.{table}")[0][0] == "delta"


@pytest.mark.only_format("delta")
def test_rows_that_a_constraint_refuses_are_told_before_they_are_recorded(project: Project) -> None:
    model = HEADER + "select * from values {{ var('batch') }} as t(id, `W eight`, op, seq)"
    project.write({"models/checked.sql": model, "models/checked.yml": CHECKED})

    def run(batch: str) -> None:
        project.dbt("run", "--vars", f'{{batch: "{batch}"}}')

    def refused(batch: str) -> str:
        return project.error("run", "--vars", f'{{batch: "{batch}"}}')

    def state() -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        events = (
            "select id, `W eight`, _dbt_cdc_sequence from {schema}.checked__events where id is not null order by all"
        )
        return project.rows("select * from {schema}.checked order by all"), project.rows(events)

    told = "row(s) break the constraint 'positive' of the table, `W eight` > 0, for example "
    error = refused("(1, 1, 'U', 1), (2, -5, 'U', 1), (3, null, 'U', 1), (4, null, 'D', 1)")
    assert f'2 {told}{{"id":2,"sequence":1}} {{"id":3,"sequence":1}}' in error and "nothing was written" in error
    assert project.tables() == set()
    # whatever it is called, a constraint is told beside the other faults
    error = refused("(null, 1, 'U', 1), (100, 1, 'U', 1)")
    assert "1 row(s) have NULL in the key id" in error
    assert "2 row(s) break the constraint 'null_key' of the table, id < 100, for example " in error
    assert project.tables() == set()

    # killed before the table has its constraint: it is built anew
    with killed_at("add constraint"):
        assert "killed" in refused("(1, 1, 'U', 1), (2, 5, 'U', 1)")
    run("(1, 1, 'U', 1), (2, 5, 'U', 1)")
    rows, events = [(1, 1, 1, None), (2, 5, 1, None)], [(1, 1, 1), (2, 5, 1)]
    assert state() == (rows, events)
    assert project.rows("show tblproperties {schema}.checked ('delta.constraints.positive')")[0][1] == "`W eight` > 0"

    # a later batch leaves nothing in the ledger that would stop every later run
    error = refused("(2, -6, 'U', 2), (4, 4, 'U', 2)")
    assert f'1 {told}{{"id":2,"sequence":2}}' in error
    assert state() == (rows, events)
    run("(2, 6, 'U', 2), (4, 4, 'U', 2), (1, null, 'D', 3)")
    assert state() == (
        [(1, 1, 1, 3), (2, 5, 1, 2), (2, 6, 2, None), (4, 4, 2, None)],
        [(1, None, 3), (1, 1, 1), (2, 5, 1), (2, 6, 2), (4, 4, 2)],
    )
    # constraints of others: over a column of their own it is left to Delta
    project.sql("alter table {schema}.checked add columns (note string)")
    project.sql("alter table {schema}.checked add constraint noted check (note is null or id < 50)")
    project.sql("alter table {schema}.checked add constraint even check (coalesce(id, 0) <> 7)")
    error = refused("(7, 7, 'U', 4)")
    assert "1 row(s) break the constraint 'even' of the table, coalesce ( id , 0 ) <> 7, for example " in error
    run("(5, 5, 'U', 4)")
    assert project.rows("select * from {schema}.checked where id = 5") == [(5, 5, 4, None, None)]
    # one that the contract got later, which dbt gives to no table that is there
    later = "      - {type: check, expression: id <> 11}\n    columns:"
    project.write({"models/checked.yml": CHECKED.replace("    columns:", later).replace("id < 100", "id < 50")})
    error = refused("(11, 1, 'U', 4), (60, 1, 'U', 4)")
    assert "1 row(s) break the constraint 'null_key' of its contract, id < 50, for example " in error
    assert "1 row(s) break the constraint 'check 3' of its contract, id <> 11, for example " in error
    # what Delta shows nobody, for the word in it: the model says it, else Delta's write tells
    secret = "      - {type: check, name: Secret, expression: \"id <> 8 or 'secret' = ''\"}\n    columns:"
    project.write({"models/checked.yml": CHECKED.replace("    columns:", secret)})
    project.sql("alter table {schema}.checked add constraint secret check (id <> 8 or 'secret' = '')")
    project.sql("alter table {schema}.checked add constraint unseen check (id <> 9 or 'token' = '')")
    error = refused("(8, 8, 'U', 5)")
    assert "1 row(s) break the constraint 'Secret' of the table, id <> 8 or 'secret' = '', for example " in error
    run("(6, 6, 'U', 5)")
    assert project.rows("select * from {schema}.checked where id > 4 order by id") == [
        (5, 5, 4, None, None),
        (6, 6, 5, None, None),
    ]


NARROW = """
models:
  - name: narrow
    config:
      contract: {enforced: true}
    columns:
      - {name: id, data_type: smallint}
      - {name: v, data_type: tinyint}
      - {name: inside, data_type: "struct<a: smallint, b: array<tinyint>>"}
      - {name: __START_AT, data_type: smallint}
      - {name: __END_AT, data_type: smallint}
"""


def test_a_contract_of_types_that_the_format_widens_holds_in_every_run(project: Project) -> None:
    batch = (
        "select cast(id as smallint) as id, cast(v as tinyint) as v, op, cast(seq as smallint) as seq,"
        " named_struct('a', cast(v as smallint), 'b', array(cast(v as tinyint))) as inside"
        " from values {{ var('batch') }} as t(id, v, op, seq)"
    )
    project.write({"models/narrow.sql": HEADER + batch, "models/narrow.yml": NARROW})
    project.dbt("run", "--vars", "{batch: \"(1, 1, 'U', 1), (2, 2, 'U', 1)\"}")
    project.dbt("run", "--vars", "{batch: \"(1, 3, 'U', 2), (2, null, 'D', 2)\"}")
    assert project.rows("select * from {schema}.narrow order by id, v") == [
        (1, 1, (1, [1]), 1, 2),
        (1, 3, (3, [3]), 2, None),
        (2, 2, (2, [2]), 1, 2),
    ]
    assert project.columns("narrow") == [
        ("id", "int"),
        ("v", "int"),
        ("inside", "struct<a:int,b:array<int>>"),
        ("__START_AT", "int"),
        ("__END_AT", "int"),
    ]
    # a type that the table does not hold is still refused
    project.write({"models/narrow.yml": NARROW.replace("name: v, data_type: tinyint", "name: v, data_type: bigint")})
    said = project.error("run", "--vars", "{batch: \"(4, 4, 'U', 4)\"}")
    assert "the contract says that v is bigint, it is int" in said

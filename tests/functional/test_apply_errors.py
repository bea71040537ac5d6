"""What apply_changes refuses: one error that says everything, and nothing written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.places import in_zone
from tests.support.project import Project

pytestmark = pytest.mark.one_format("iceberg")

GOOD = {"sequence_by": "seq", "apply_as_deletes": "op = 'D'", "except_column_list": ["op", "seq"]}
SCD2 = {**GOOD, "stored_as_scd_type": 2}
ANEW = "run with --full-refresh, which forgets all events but that run's"
FIRST = "select * from values (1, 'a', 'U', 1), (2, 'b', 'U', 1), (3, 'c', 'U', 1) as t(id, v, op, seq)"


def model(first: str, second: str, meta: dict[str, Any], meta_then: dict[str, Any] | None = None, **config: Any) -> str:
    settings = {"materialized": "apply_changes", "unique_key": "id", **config}
    then = meta_then or meta
    return (
        "{% set options = {'dbt_cdc': " + repr(meta) + "} if var('run') == 0 else {'dbt_cdc': " + repr(then) + "} %}\n"
        "{{ config(meta=options, **" + repr(settings) + ") }}\n"
        "{% if var('run') == 0 %}" + first + "{% else %}" + second + "{% endif %}"
    )


def at_once(batch: str, meta: dict[str, Any], **config: Any) -> str:
    """What is wrong in the first batch already."""
    return model(batch, batch, meta, **config)


NESTED = """
    select *, case when id = 3 then array() else array('a', null) end as list,
        named_struct('x', 1, 'y', cast(null as int)) as rec
    from ({})
"""
NESTED_OTHERWISE = """
    select *, case id when 1 then array(null, 'a') when 2 then array('a', null) else array(cast(null as string)) end as list,
        if(id = 2, named_struct('x', cast(null as int), 'y', 1), named_struct('x', 1, 'y', cast(null as int))) as rec
    from ({})
"""
BITEMPORAL = {**SCD2, "stored_as_scd_type": "bitemporal", "system_sequence_by": "seq"}
WIDE = ", ".join(f"'f{n}', {n}" for n in range(30))
SNAPSHOT = {"sequence_by": "seq", "source_kind": "snapshot", "except_column_list": ["seq"]}


def batch(values: str, columns: str = "id, v, op, seq") -> str:
    return f"select * from values {values} as t({columns})"


#: model: (text, what its error must say)
REFUSED = {
    "null_key": (
        model(FIRST, batch("(1, 'z', 'U', 9), (null, 'x', 'U', 2), (null, 'y', 'D', 3), (7, 'x', 'U', null)"), GOOD),
        [
            "2 row(s) have NULL in the key id",
            '{"id":null,"sequence":2} {"id":null,"sequence":3}: give the model only rows with a whole key',
            "nothing was written",
            "1 row(s) have NULL in sequence_by seq",
            '{"id":7,"sequence":null}: give every event its place in the order, in the model',
        ],
    ),
    "too_many_known_deletes": (
        model(FIRST, batch("(1, null, 'D', 9), (2, null, 'D', 9)"), {**BITEMPORAL, "max_delete_fraction": 0.5}),
        ["would close 2 of 3 live rows, more than max_delete_fraction 0.5 allows"],
    ),
    "system_drift": (
        model(
            FIRST,
            FIRST,
            BITEMPORAL,
            {**BITEMPORAL, "system_sequence_by": "bigint(seq)", "system_end_at_column": "until"},
        ),
        [
            "system_type can't change on an existing table: it was created with int, this run has bigint",
            "system_end_at_column can't change on an existing table: it was created with __SYSTEM_END_AT, this run has until",
        ],
    ),
    "becomes_scd1_with_a_log": (
        model(FIRST, batch("(1, 'z', 'U', 9)"), {**SCD2, "change_log": "key_op"}, {**GOOD, "change_log": "key_op"}),
        ["stored_as_scd_type can't change on an existing table: it was created with 2, this run has 1"],
    ),
    "becomes_bitemporal": (
        model(FIRST, batch("(1, 'z', 'U', 9)"), SCD2, BITEMPORAL),
        ["stored_as_scd_type can't change on an existing table: it was created with 2, this run has bitemporal"],
    ),
    # a key that can't be cast is none that is NULL
    "lossy_types": (
        model(
            f"select *, 1.50 as v2, cast(0 as float) as v3 from ({FIRST})",
            batch(
                "('1', 'z', 'U', 9, '1.5', 2147483647), ('one', 'x', 'U', 9, '1.505', 1)",
                "id, v, op, seq, v2, v3",
            ),
            GOOD,
        ),
        [
            "can't run, nothing was written:\n    - column 'id': the table has type int, the batch string with 1 value(s)"
            f" that it can't hold, for example one: cast it in the model, or {ANEW}\n    - column 'v2': the table has type"
            " decimal(3,2), the batch string with 1 value(s) that it can't hold, for example 1.505: cast it in the model,"
            f" or {ANEW}\n    - column 'v3': the table has type float, the batch int with 1 value(s) that it can't hold, for"
            f" example 2147483647: cast it in the model, or {ANEW}"
            "\n  \n",
        ],
    ),
    "conflict_in_what_it_lacks": (
        model(f"select *, 5 as n from ({FIRST})", FIRST, SCD2),
        [
            "3 key(s) have different events with the same sequence",
            "where they differ in what this batch lacks, n, alone, give only events that were not given with it; else make"
            " sequence_by tell them apart, or set 'on_conflict: resolve'",
        ],
    ),
    "conflict_with_earlier": (
        model(FIRST, batch("(1, 'z', 'U', 1), (4, 'n', 'U', 1)"), SCD2),
        ["1 key(s) have different events with the same sequence", '{"id":1,"sequence":1}'],
    ),
    "conflict_in_a_null_within": (
        model(NESTED.format(FIRST), NESTED_OTHERWISE.format(FIRST), SCD2),
        ["3 key(s) have different events with the same sequence"],
    ),
    "sequence_drift": (
        model(FIRST, batch("(1, 'z', 'U', 9L)"), GOOD),
        ["sequence_type can't change", f"created with int, this run has bigint; put it back, or {ANEW}"],
    ),
    "tracked_drift": (
        model(FIRST, batch("(1, 'z', 'U', 9)"), SCD2, {**SCD2, "track_history_column_list": ["v"]}),
        ["track_history_column_list can't change", 'created with null, this run has ["v"]'],
    ),
    "type_drift": (
        model(FIRST, batch("(1, 'z', 'U', 9)"), GOOD, {**SCD2, "except_column_list": ["opp", "seq"]}),
        [
            "stored_as_scd_type can't change on an existing table: it was created with 1, this run has 2",
            "except_column_list: unknown column 'opp', did you mean 'op'?",
        ],
    ),
    "key_and_kind_drift": (
        model(FIRST, FIRST, GOOD, {**SNAPSHOT, "except_column_list": ["op", "seq"]}).replace(
            "'unique_key': 'id'", "'unique_key': 'id' if var('run') == 0 else ['id', 'v']"
        ),
        [
            'unique_key can\'t change on an existing table: it was created with ["id"], this run has ["id", "v"]',
            "source_kind can't change on an existing table: it was created with feed, this run has snapshot",
        ],
    ),
    "roles_drift": (
        model(
            FIRST,
            batch("(1, 'z', 'U', 9, array('v'))", "id, v, op, seq, cols"),
            SCD2,
            {
                **SCD2,
                "ignore_null_updates": True,
                "columns_to_update": "cols",
                "start_at_column": "since",
                "end_at_column": "until",
            },
        ),
        [
            "ignore_null_updates can't change on an existing table: it was created with null, this run has true",
            'columns_to_update can\'t change on an existing table: it was created with null, this run has "cols"',
            "start_at_column can't change on an existing table: it was created with __START_AT, this run has since",
            "end_at_column can't change on an existing table: it was created with __END_AT, this run has until",
        ],
    ),
    "too_many_deletes": (
        model(FIRST, batch("(1, null, 'D', 9), (2, null, 'D', 9)"), {**GOOD, "max_delete_fraction": 0.5}),
        ["would close 2 of 3 live rows, more than max_delete_fraction 0.5 allows"],
    ),
    "too_wide_truncate": (
        model(
            FIRST,
            batch("(1, 'z', 'U', 9), (null, null, 'T', 1)"),
            {**GOOD, "apply_as_truncates": "op = 'T'", "max_delete_fraction": 0.5},
        ),
        ["would close 2 of 3 live rows, more than max_delete_fraction 0.5 allows"],
    ),
    "empty_image": (
        model(
            batch("(1, 'a', 5), (2, 'b', 5), (3, 'c', 5)", "id, v, seq"),
            batch("(1, 'a', 5)", "id, v, seq") + " where false",
            {**SNAPSHOT, "stored_as_scd_type": 2, "max_delete_fraction": 0.5},
            {**SNAPSHOT, "stored_as_scd_type": 2, "max_delete_fraction": 0.5, "snapshot_version": 7},
        ),
        ["would close 3 of 3 live rows, more than max_delete_fraction 0.5 allows"],
    ),
    "no_dates": (
        model(
            f"select *, date'2024-01-01' as day, 1 as part from ({FIRST})",
            f"select *, 19723 as day, timestamp'2024-01-01' as part from ({FIRST})",
            GOOD,
        ),
        [
            f"column 'day': the table has type date, the batch int: cast it in the model, or {ANEW}",
            f"column 'part': the table has type int, the batch timestamp: cast it in the model, or {ANEW}",
        ],
    ),
    # in Tokyo; dates and wall clocks are the same everywhere
    "by_the_zone": (
        model(
            "select *, timestamp'2024-01-01' as a, timestamp'2024-01-01' as b, date'2024-01-01' as c, '' as d,"
            f" timestamp'2024-01-01' as e, date'2024-01-01' as f, '' as g, '' as h, date'2024-01-01' as i from ({FIRST})",
            "select *, timestamp_ntz'2024-01-01' as a, date'2024-01-01' as b, timestamp'2024-01-01' as c,"
            " timestamp'2024-01-01' as d, '2024-01-01 00:00:00' as e, timestamp_ntz'2024-01-01' as f,"
            f" timestamp_ntz'2024-01-01' as g, date'2024-01-01' as h, cast(null as timestamp) as i from ({FIRST})",
            GOOD,
        ),
        [
            *(
                f"column '{name}': the table has type {own}, the batch {given}, which the session's time zone would shift:"
                f" cast it in the model, or {ANEW}"
                for name, own, given in (
                    ("a", "timestamp", "timestamp_ntz"),
                    ("b", "timestamp", "date"),
                    ("c", "date", "timestamp"),
                    ("d", "string", "timestamp"),
                    ("e", "timestamp", "string"),
                )
            ),
            "column 'e': the table has type timestamp, the batch string, which the session's time zone would shift: cast it in"
            f" the model, or {ANEW}\n  \n",
        ],
    ),
    "other_keys": (
        model(
            f"select *, string(id) as code, 7 as part from ({FIRST})",
            f"select *, 7.0D as code, '07' as part from ({FIRST})",
            GOOD,
            unique_key=["id", "code", "part"],
        ),
        [
            "nothing was written:\n    - column 'code': the table has type string, the batch double, by which its keys would be"
            f" others: cast it in the model, or {ANEW}\n  \n"
        ],
    ),
    "variants": (
        model(
            f"select *, parse_json('1') as a, '' as b from ({FIRST})",
            f"select *, '[1]' as a, parse_json('1') as b from ({FIRST})",
            GOOD,
            tblproperties={"format-version": "3"},
        ),
        [
            f"column 'a': the table has type variant, the batch string: cast it in the model, or {ANEW}",
            f"column 'b': the table has type string, the batch variant: cast it in the model, or {ANEW}",
        ],
    ),
    "narrower_inside": (
        model(
            f"select *, array(1) as list, named_struct({WIDE}) as wide, map('a', 1.00) as prices from ({FIRST})",
            f"select *, array(1.5D) as list, named_struct({WIDE}L) as wide, map('a', 1.234) as prices from ({FIRST})",
            GOOD,
        ),
        [
            "column 'list': the table has type array<int>, the batch array<double>: cast it in the model",
            "f29:int>, the batch struct<f0:int,",
            "column 'prices': the table has type map<string,decimal(3,2)>, the batch map<string,decimal(4,3)>: cast it",
        ],
    ),
    "nested_otherwise": (
        model(
            f"select *, named_struct('x', 1, 'y', array(1)) as rec, named_struct('city', v) as less,"
            f" array(named_struct('city', v, 'zip', v)) as more from ({FIRST})",
            f"select *, named_struct('y', array(1L), 'x', 1) as rec, named_struct('city', v, 'zip', v) as less,"
            f" array(named_struct('city', v)) as more from ({FIRST})",
            GOOD,
        ),
        [
            "column 'rec': the table has type struct<x:int,y:array<int>>, the batch struct<y:array<bigint>,x:int>, which has "
            "them in another order: give the struct the same fields in the model (named_struct, transform; in Python read "
            "with a schema), or give it under a new name, or run with --full-refresh",
            "the batch struct<city:string,zip:string>, which has more: zip: give the struct the same fields",
            "the batch array<struct<city:string>>, which lacks zip: give the struct the same fields",
        ],
    ),
    "column_would_go": (
        model(FIRST, batch("(1, 'U', 9)", "id, op, seq"), GOOD, on_schema_change="sync_all_columns"),
        [f"sync_all_columns would drop v, which dbt-spark does not do: use append_new_columns, or {ANEW}"],
    ),
    "new_column_fails": (
        model(FIRST, batch("(1, 'z', 'U', 9, 1)", "id, v, op, seq, extra"), GOOD, on_schema_change="fail"),
        ["on_schema_change: fail", "extra"],
    ),
    "column_listed_later": (
        model(
            FIRST,
            batch("(1, 'z', 'U', 9, 'n')", "id, v, op, seq, Note"),
            {"sequence_by": "seq", "column_list": ["v"]},
            {"sequence_by": "seq", "column_list": ["v", "note"]},
        ),
        [
            "column_list names columns that are new to the table (Note), and on_schema_change: ignore leaves them out: set"
            " 'on_schema_change: append_new_columns', or take them off the list"
        ],
    ),
    "column_of_its_owner": (
        model(
            FIRST, batch("(1, 'z', 'U', 9, 'n')", "id, v, op, seq, note"), GOOD, on_schema_change="append_new_columns"
        ),
        [
            "column 'note' is new to the feed, as string, and ",
            "has one of that name already, as int: cast it in the model",
        ],
    ),
    "older_image": (
        model(
            batch("(1, 'a', 5), (2, 'b', 5), (3, 'c', 5)", "id, v, seq"),
            batch("(1, 'z', 4)", "id, v, seq"),
            SNAPSHOT,
        ),
        [
            "the image's version",
            f'the last one applied, {{"version":5}}: give images in order of their version, or {ANEW}',
        ],
    ),
    "forgotten_image": (
        model(
            batch("(0, '', 1), (1, 'a', 5), (2, 'b', 5), (3, 'c', 5)", "id, v, seq"),
            batch("(0, '', 1), (1, 'z', 3), (1, 'a', 5), (2, 'b', 5), (3, 'c', 5)", "id, v, seq"),
            SNAPSHOT,
        ),
        ['the image\'s version {"version":3} is older than the last one applied, {"version":5}'],
    ),
    "narrower_image_twice": (
        model(
            batch("(1, 'a', 8, 5), (2, 'b', null, 5), (3, 'c', null, 5)", "id, v, n, seq"),
            batch("(1, 'a', 6), (1, 'z', 6)", "id, v, seq"),
            SNAPSHOT,
        ),
        [
            '1 key(s) have different events with the same sequence, for example {"id":1,"sequence":6}: give each key once in an image'
        ],
    ),
    "narrower_image": (
        model(
            batch("(1, 'a', 8, 5), (2, 'b', null, 5), (3, 'c', null, 5)", "id, v, n, seq"),
            batch("(1, 'a', 5), (2, 'b', 5), (3, 'c', 5)", "id, v, seq"),
            SNAPSHOT,
        ),
        [
            'given again and differs in 1 key(s), for example {"id":1,"sequence":5} (it lacks n): give it a greater version'
        ],
    ),
    "other_image": (
        model(
            batch("(1, 'a', 5), (2, 'b', 5), (3, 'c', 5)", "id, v, seq"),
            batch("(1, 'z', 5), (2, 'b', 5), (3, 'c', 5)", "id, v, seq"),
            SNAPSHOT,
        ),
        ["given again and differs in 1 key(s)"],
    ),
}


def contents(project: Project) -> list[tuple[Any, ...]]:
    """Types and rows of all tables."""
    whole = "typeof(struct(*)), to_json(struct(*), map('ignoreNullFields', 'false'))"
    return sorted(
        project.rows(" union all ".join(f"select '{t}', {whole} from {{schema}}.{t}" for t in project.tables()))
    )


def test_a_wrong_batch_is_refused_with_what_is_wrong_and_changes_nothing(project: Project) -> None:
    project.write({f"models/{name}.sql": text for name, (text, _) in REFUSED.items()})
    project.dbt("run", "--vars", "{run: 0}")
    project.sql("alter table {schema}.column_of_its_owner add columns (note int)")
    before = contents(project)
    with in_zone(project, "Asia/Tokyo"):
        said = project.error("run", "--vars", "{run: 1}")
    for name, (_, sentences) in REFUSED.items():
        mine = next(part for part in said.split("model.consumer.")[1:] if part.startswith(name + " "))
        for sentence in sentences:
            assert sentence in mine, f"{name}: {mine}"
    shown = " union all ".join(f"select '{name}', id, v from {{schema}}.{name}" for name in REFUSED)
    rows = [(name, *row) for name in sorted(REFUSED) for row in ((1, "a"), (2, "b"), (3, "c"))]
    assert sorted(project.rows(shown)) == rows
    assert contents(project) == before
    own = {table for name in REFUSED for table in (name, f"{name}__events")}
    assert project.tables() == own | {"becomes_scd1_with_a_log__changes"}


#: a model whose options or first batch are wrong -> what is said of it
WRONG = {
    "wrong": (
        model(
            FIRST,
            FIRST,
            {
                "sequence": "seq",
                "stored_as_scd_type": 3,
                "column_list": ["id"],
                "except_column_list": ["op"],
                "tombstone_retention": "soon",
                "max_delete_fraction": 2,
                "track_history_column_list": [],
            },
        ).replace("'unique_key': 'id'", ""),
        [
            "unknown option 'sequence', did you mean 'sequence_by'?",
            "option 'sequence_by' is required (a column, an expression or a list of columns)",
            "option 'track_history_column_list' must name at least one column, got []; leave it out instead",
            "option 'stored_as_scd_type' must be one of 1, 2, bitemporal, got 3",
            "the config 'unique_key' is required",
            "give 'column_list' or 'except_column_list', not both, got [\"id\"] and [\"op\"]",
            "option 'tombstone_retention' must be a number and a unit",
            "option 'max_delete_fraction' must lie between 0 and 1, got 2",
        ],
    ),
    "scd1": (
        model(FIRST, FIRST, {**GOOD, "track_history_column_list": ["v"], "snapshot_version": 1}),
        [
            "option 'track_history_column_list' has a meaning under 'stored_as_scd_type: 2 or bitemporal' only",
            "option 'snapshot_version' has a meaning under 'source_kind: snapshot' only",
        ],
    ),
    "no_deletes": (
        model(FIRST, FIRST, {"sequence_by": "seq", "max_delete_fraction": 0.1}),
        [
            "option 'max_delete_fraction' has no meaning where no event is a delete, got 0.1: set apply_as_deletes, or take it out"
        ],
    ),
    "scd2": (
        model(
            FIRST,
            FIRST,
            {**SCD2, "apply_as_truncates": "op = 'T'"},
            tblproperties={"write.merge.isolation-level": "snapshot"},
        ),
        [
            "option 'apply_as_truncates' has a meaning under 'stored_as_scd_type: 1' only",
            "tblproperties: 'write.merge.isolation-level' must be serializable (Iceberg's default), got \"snapshot\"",
        ],
    ),
    "images": (
        model(
            FIRST,
            FIRST,
            {**SNAPSHOT, "apply_as_deletes": "op = 'D'", "columns_to_update": "cols", "ignore_null_updates": True},
        ),
        [
            f"option '{option}' has a meaning under 'source_kind: feed' only, got 'source_kind: snapshot': change that, or"
            for option in ("apply_as_deletes", "columns_to_update", "ignore_null_updates")
        ],
    ),
    "heeding": (
        model(FIRST, FIRST, {**GOOD, "ignore_null_updates": False, "ignore_null_updates_column_list": ["v"]}),
        ["'ignore_null_updates: false' contradicts 'ignore_null_updates_column_list' beside it: give one of them"],
    ),
    "empty": (
        model(FIRST, FIRST, {**GOOD, "sequence_by": "", "apply_as_deletes": "", "column_list": ["v", ""]}),
        [
            "option 'sequence_by' must have a text, got \"\"; leave it out instead",
            "option 'apply_as_deletes' must have a text, got \"\"; leave it out instead",
            'option \'column_list\' must have a text, got ["v", ""]; leave it out instead',
        ],
    ),
    "listed": (
        model(FIRST, FIRST, {**GOOD, "apply_as_deletes": ["op = 'Ä'"]}),
        ["option 'apply_as_deletes' must be of type string, got [\"op = 'Ä'\"]"],
    ),
    "growing": (
        model(FIRST, FIRST, GOOD, on_schema_change="append_columns"),
        [
            "option 'on_schema_change' must be one of ignore, fail, append_new_columns, sync_all_columns, got \"append_columns\","
            " did you mean 'append_new_columns'?"
        ],
    ),
    "by_map": (
        model(f"select map(id, v) as m, * from ({FIRST})", FIRST, GOOD, unique_key="m"),
        ["unique_key: column 'm' must be of a type that sorts, got map<int,string>"],
    ),
    "keys_in_maps": (
        at_once(
            "select id, array(map(id, v)) as known, map(binary(v), 1) as alone, array(map(binary(v), 1)) as many,"
            f" struct(map(array(v), 1) as m) as one, map(v, map(struct(v), 1)) as two, op, seq from ({FIRST})",
            GOOD,
        ),
        [
            "nothing was written:\n    - column 'many' is of type array<map<binary,int>>, a map within another type, which is compared"
            " as JSON, and that has no text for its keys: give the map keys of text in the model\n    - column 'one' is of type"
            " struct<m:map<array<string>,int>>, a map",
            "\n    - column 'two' is of type map<string,map<struct<v:string>,int>>, a map",
        ],
    ),
    "set_otherwise": (
        model(FIRST, FIRST, {**GOOD, "columns_to_update": "v"}),
        ["columns_to_update must be a column of type array<string>, got string"],
    ),
    "there_already": (
        model(FIRST, FIRST, GOOD),
        [
            "there_already__events, where apply_changes keeps the events that made it, does not: give the model another name, or move"
        ],
    ),
    "two_times": (
        model(FIRST, FIRST, {**SCD2, "stored_as_scd_type": "bitemporal"}),
        ["option 'system_sequence_by' is required under 'stored_as_scd_type: bitemporal'"],
    ),
    "known_images": (
        model(FIRST, FIRST, {**BITEMPORAL, **SNAPSHOT, "tombstone_retention": "1 day"}),
        [
            "'stored_as_scd_type: bitemporal' needs 'source_kind: feed'",
            "option 'tombstone_retention' has a meaning under 'stored_as_scd_type: 1 or 2' only, got"
            " 'stored_as_scd_type: bitemporal'",
        ],
    ),
    "names_of_its_own": (
        model(FIRST, FIRST, {**SCD2, "start_at_column": "_dbt_cdc_from", "end_at_column": "_pos"}),
        [
            "the column '_dbt_cdc_from' of the key or of an interval has a name that apply_changes uses itself: rename it",
            "column '_pos' has a name by which a table of format 'iceberg' fails: rename it, or leave it out",
        ],
    ),
    "alike": (
        model(FIRST, FIRST, {**BITEMPORAL, "start_at_column": "Id", "system_end_at_column": "ID"}),
        ["two columns of the table would be called 'Id'", "two columns of the table would be called 'ID'"],
    ),
    "mistyped": (
        model(
            FIRST,
            FIRST,
            {"sequence_by": [], "stored_as_scd_type": True, "tombstone_retention": 2},
            source_kind="snapshot",
        ),
        [
            "option 'stored_as_scd_type' must be one of 1, 2, bitemporal, got true",
            "option 'tombstone_retention' must be a number and a unit such as '2 days', got 2",
            "option 'source_kind' stands beside meta, where nothing reads it: move it to meta: {dbt_cdc: {source_kind: …}}",
        ],
    ),
    "by_interval": (
        model(FIRST, FIRST, {**GOOD, "sequence_by": "make_dt_interval(seq)"}),
        ["sequence_by must be of a type that sorts and that tables keep, got interval day to second"],
    ),
    "misspelt": (model(FIRST, FIRST, {**GOOD, "apply_as_deletes": "opp = 'D'"}), ["`opp` cannot be resolved"]),
    "misspelt_too": (model(FIRST, FIRST, {**GOOD, "sequence_by": "seqq + 1"}), ["`seqq` cannot be resolved"]),
    "known2": (
        model(FIRST, FIRST, {**BITEMPORAL, "stored_as_scd_type": 2}),
        [
            "option 'system_sequence_by' has a meaning under 'stored_as_scd_type: bitemporal' only, got"
            " 'stored_as_scd_type: 2'"
        ],
    ),
    "null_in_a_struct": (
        at_once(batch("(1, 'z', 'U', 9), (7, 'x', 'U', null)"), {**GOOD, "sequence_by": "struct(op, seq)"}),
        ["1 row(s) have NULL in sequence_by struct(op, seq)"],
    ),
    "null_in_a_list": (
        at_once(batch("(1, 'z', null, 9), (7, 'x', 'U', 9)"), {**GOOD, "sequence_by": ["seq", "op"]}),
        ["1 row(s) have NULL in sequence_by seq, op"],
    ),
    "null_part": (
        at_once(batch("(1, 'z', 'U', 9), (1, null, 'U', 9)"), SCD2, unique_key=["id", "v"]),
        [
            '1 row(s) have NULL in the key id, v (only a truncate may, under stored_as_scd_type 1), for example {"id":1,"v":null,"sequence":9}'
        ],
    ),
    "null_system": (
        at_once(batch("(1, 'z', 'U', null), (3, 'd', 'U', 9)"), {**BITEMPORAL, "sequence_by": "1"}),
        ['1 row(s) have NULL in system_sequence_by seq, for example {"id":1,"sequence":1,"system":null}'],
    ),
    "unknown_sequence": (
        at_once(FIRST, {**GOOD, "sequence_by": "sec", "except_column_list": ["opp"]}),
        ["sequence_by: unknown column 'sec', did you mean 'seq'?", "unknown column 'opp'"],
    ),
    "unknown_columns": (
        at_once(FIRST, {**SCD2, "except_column_list": ["opp", "seq"], "track_history_column_list": ["w"]}),
        ["unknown column 'opp', did you mean 'op'?", "unknown column 'w'"],
    ),
    "columns_that_mean_nothing_there": (
        at_once(
            FIRST,
            {**SCD2, "track_history_column_list": ["Op", "v"], "ignore_null_updates_column_list": ["ID", "seq", "w"]},
        ),
        [
            "track_history_column_list: the column 'Op' does not reach the table (by column_list, except_column_list or"
            " on_schema_change): take it off the list",
            "ignore_null_updates_column_list: the column 'ID' is a key, which is never NULL: take it off the list",
            "ignore_null_updates_column_list: the column 'seq' does not reach the table (by column_list, except_column_list or",
            "ignore_null_updates_column_list: unknown column 'w'. Known: v",
        ],
    ),
    "unknown_set_column": (
        at_once(
            batch("(1, 'z', 'U', 9, array('v', 'w'))", "id, v, op, seq, cols"), {**GOOD, "columns_to_update": "cols"}
        ),
        ["1 row(s) name columns in cols that the batch does not have", '"cols":["v","w"]'],
    ),
    "not_a_condition": (
        at_once(FIRST, {**GOOD, "apply_as_deletes": "op"}),
        ["option 'apply_as_deletes' must be a condition (boolean), got an expression of type string"],
    ),
    "two_columns_of_a_name": (
        at_once("select 1 as id, 'a' as v, 'b' as V, 'U' as op, 2 as seq", SCD2),
        ["the model gives two columns called 'v': give each a name of its own"],
    ),
    "interval": (
        at_once(
            "select 1 as id, make_interval(0, 0, 0, 1) as v, interval 1 day as w, array(time'12:00:00') as noon, named_struct("
            + ", ".join(f"'f{i}', {i}" for i in range(30))
            + ", 'last', interval 1 month) as wide, 'U' as op, 2 as seq",
            GOOD,
        ),
        [
            "column 'v' is of type interval, and tables keep no intervals: cast it in the model",
            "column 'w' is of type interval day, and",
            "column 'noon' is of type array<time(6)>, and tables keep no times of day: cast it in the model",
            "f29:int,last:interval month>, and",
        ],
    ),
    "collated": (
        at_once(
            "select 1 as id, 'a' collate UTF8_LCASE as d, named_struct('x', 'u' collate UTF8_LCASE) as op, 2 as seq",
            {**GOOD, "apply_as_deletes": "op.x = 'd'", "apply_as_truncates": "op.x = 't'"},
        ),
        [
            f"apply_as_{option}: column 'op' is of type struct<x:string collate UTF8_LCASE>, and texts are compared without"
            for option in ("deletes", "truncates")
        ],
    ),
    "conflict_in_one_moment": (
        at_once(batch("(1, 'z', 'U', 9), (1, 'y', 'U', 9)"), BITEMPORAL),
        [
            '1 key(s) have different events with the same sequence, for example {"id":1,"sequence":9,"system":9}: make'
            " sequence_by or system_sequence_by tell them apart"
        ],
    ),
    "conflict_inside": (
        at_once(batch("(1, 'z', 'U', 9), (1, 'y', 'U', 9)"), SCD2),
        ["1 key(s) have different events with the same sequence", '{"id":1,"sequence":9}', "on_conflict: resolve"],
    ),
    "two_conflicts_of_a_key": (
        at_once(batch("(1, 'z', 'U', 8), (1, 'y', 'U', 8), (1, 'z', 'U', 9), (1, 'y', 'U', 9)"), SCD2),
        [
            '1 key(s) have different events with the same sequence, for example {"id":1,"sequence":8} {"id":1,"sequence":9}'
        ],
    ),
    "other_version": (
        at_once(batch("(1, 'z', 9), (2, 'b', 8)", "id, v, seq"), {**SNAPSHOT, "snapshot_version": 9}),
        ["1 row(s) have another version than snapshot_version 9"],
    ),
    "no_version": (
        at_once(batch("(1, 'a', 5)", "id, v, seq") + " where false", {**SNAPSHOT, "snapshot_version": "soon"}),
        ["option 'snapshot_version' must be of sequence_by's type int, got \"soon\""],
    ),
    # Spark's cast would read the first day of that year, and 2
    "month_as_version": (
        at_once("select 1 as id, date'2024-01-01' as seq where false", {**SNAPSHOT, "snapshot_version": 202401}),
        ["option 'snapshot_version' must be of sequence_by's type date, got \"202401\""],
    ),
    "fraction_as_version": (
        at_once("select 1 as id, 1BD as seq where false", {**SNAPSHOT, "snapshot_version": 1.7}),
        ["option 'snapshot_version' must be of sequence_by's type decimal(1,0), got \"1.7\""],
    ),
    "twice_in_sequence": (
        at_once(batch("(1, 'a', 5)", "id, v, seq"), {"sequence_by": ["seq", "SEQ"]}),
        ['sequence_by names a column twice, got ["seq", "SEQ"]: name each once'],
    ),
    "version_of_two": (
        at_once(
            batch("(1, 'a', 5, 2)", "id, v, seq, part"),
            {**SNAPSHOT, "sequence_by": ["seq", "part"], "snapshot_version": 7},
        ),
        ["option 'snapshot_version' is one value, sequence_by gives a struct of seq, part: give one column"],
    ),
    "two_rows_in_an_image": (
        at_once(batch("(1, 'z', 6), (1, 'y', 6), (2, 'b', 6)", "id, v, seq"), SNAPSHOT),
        ["1 key(s) have different events with the same sequence", '{"id":1,"sequence":6}'],
    ),
}


UNKEPT = """
    def model(dbt, spark):
        dbt.config(materialized="apply_changes", unique_key="id", meta={"dbt_cdc": {"sequence_by": "seq"}})
        return spark.sql("select 1 as id, array(interval 1 day) as waits, time'12:00:00' as noon, 1 as seq")
"""


def test_wrong_options_and_what_is_wrong_in_a_first_batch_are_all_named_at_once(project: Project) -> None:
    project.write({f"models/{name}.sql": text for name, (text, _) in WRONG.items()} | {"models/unkept.py": UNKEPT})
    project.sql(f"create table {{schema}}.there_already (id int, v string) using {project.file_format}")
    result = project.invoke("run", "--vars", "{run: 0}")
    said = {each.node.name: str(each.message) for each in result.result.results}  # type: ignore[union-attr]
    for name, (_, sentences) in WRONG.items():
        for sentence in sentences:
            assert sentence in said[name], f"{name}: {said[name]}"
    for column in ("waits': tables keep no array<interval day>", "noon': tables keep no time(6)"):
        assert f"column '{column}. Cast it in the model" in said["unkept"]
    assert project.tables() == {"there_already"}


@pytest.mark.only_format("delta")
def test_an_empty_text_in_a_key_that_delta_would_keep_as_null_is_refused(project: Project) -> None:
    rows = "values ('', 1, 'a', 1), ('eu', 1, 'b', 1) as t(region, id, v, seq)"
    text = "{{ config(materialized='apply_changes', unique_key=['region', 'id'], %smeta={'dbt_cdc': {'sequence_by': 'seq'}}) }}"
    project.write({"models/m.sql": text % "partition_by='`Region`', " + f" select * from {rows}"})
    error = project.error("run")
    assert (
        "1 row(s) have an empty text in a key column by which the table is partitioned, where delta keeps NULL" in error
    )
    assert 'for example {"region":"","id":1,"sequence":1}: leave that column out of partition_by, or give it' in error
    assert project.tables() == set()
    # a table that is there keeps its own partitions, whatever the option says
    project.write({"models/m.sql": text % "partition_by='region', " + f" select * from {rows} where region > ''"})
    project.dbt("run")
    project.write({"models/m.sql": text % "" + f" select * from {rows}"})
    error = project.error("run")
    assert '"sequence":1}: leave that column out of partition_by and run with --full-refresh' in error
    assert project.rows("select * from {schema}.m") == [("eu", 1, "b", 1)]
    project.dbt("run", "--full-refresh")
    assert project.rows("select * from {schema}.m order by 1") == [("", 1, "a", 1), ("eu", 1, "b", 1)]
    project.write({"models/m.sql": text % "partition_by='region', " + f" select * from {rows}"})
    project.dbt("run")
    assert project.rows("select * from {schema}.m order by 1") == [("", 1, "a", 1), ("eu", 1, "b", 1)]


@pytest.mark.only_format("delta")
def test_an_empty_text_that_delta_keeps_as_null_is_a_null_in_images_and_a_value_among_events(project: Project) -> None:
    text = (
        "{{ config(materialized='apply_changes', unique_key='id', partition_by='region', meta={'dbt_cdc': %r}) }}"
        " select * from values {{ var('rows') }} as t(id, region, seq)"
    )
    images = {"sequence_by": "seq", "source_kind": "snapshot", "except_column_list": ["seq"]}
    heeding = {"sequence_by": "seq", "ignore_null_updates": True, "except_column_list": ["seq"]}
    project.write({"models/images.sql": text % images, "models/heeding.sql": text % heeding})
    for rows in ("(1, 'eu', 1)", "(1, '', 2)", "(1, '', 2)"):
        project.dbt("run", "--vars", json.dumps({"rows": rows}))
    for table in ("images", "heeding"):
        assert project.rows(f"select id, region from {{schema}}.{table}") == [(1, None)], table
    upserts = "select count(*) from {schema}.images__events where _dbt_cdc_kind = 'upsert'"
    assert project.rows(upserts) == [(2,)]


def test_what_the_table_can_not_be_laid_out_by_is_told_before_anything_is_written(project: Project) -> None:
    has_buckets = project.file_format == "iceberg"
    layout = {"partition_by": ["V", "seq"], **({"clustered_by": "vv", "buckets": 2} if has_buckets else {})}
    idle = {"partition_by": {"field": "v"}, "clustered_by": "v", "options": {"compression": "gzip"}}
    idle |= {"merge_exclude_columns": ["v"]}
    project.write(
        {"models/m.sql": model(FIRST, FIRST, GOOD, **layout), "models/n.sql": model(FIRST, FIRST, GOOD, **idle)}
    )
    error = project.error("run", "--vars", "{run: 0}")
    assert 'option \'partition_by\' must be of type list, got {"field": "v"}' in error
    told = (
        "dbt-spark writes nothing of it without `buckets`: give their number, or"
        if has_buckets
        else "delta knows no buckets:"
    )
    assert f"clustered_by: {told} take it out" in error
    assert 'options has no meaning for apply_changes, got {"compression": "gzip"}: take it out' in error
    assert 'merge_exclude_columns has no meaning for apply_changes, got ["v"]: take it out' in error
    assert "partition_by: the table has no such column: unknown column 'seq'. Known: id, v" in error
    if has_buckets:
        assert "clustered_by: the table has no such column: unknown column 'vv', did you mean 'v'?" in error
    assert project.tables() == set()

"""Each option of apply_changes with rows written by hand: many models in one project, two or three runs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from tests.support.project import Project
from tests.support.shared import shared_project

pytestmark = pytest.mark.one_format("iceberg")

FEED = {"sequence_by": "seq", "apply_as_deletes": "op = 'D'", "except_column_list": ["op", "seq"]}
LISTED = {"sequence_by": "seq", "apply_as_deletes": "op = 'D'"}
SCD2 = {**FEED, "stored_as_scd_type": 2}
VERSIONS = "select * from {table} order by __START_AT"


def model(
    columns: str, runs: Sequence[list[str] | str], *, unique_key: Any = "id", config: str = "", **meta: Any
) -> str:
    """A model whose batch in run n is `runs[n]`: each row the SQL of its values, or a whole query; later the last again."""
    text = "{{ config(materialized='apply_changes', unique_key=" + repr(unique_key) + ", " + config
    text += " meta={'dbt_cdc': " + repr(meta) + "}) }}\n"
    batches = [
        run if isinstance(run, str) else f"select * from values {', '.join(run)} as t({columns})" for run in runs
    ]
    for number, batch in enumerate(batches):
        condition = "==" if number < len(batches) - 1 else ">="
        text += "{% if var('run') " + condition + " " + str(number) + " %}" + batch + "{% endif %}\n"
    return text


def python_model(first: str, later: str, **meta: Any) -> str:
    """A Python model that gives one query's rows in its first run, and another's in those that follow."""
    return f"""
        def model(dbt, spark):
            dbt.config(materialized="apply_changes", unique_key="id", meta={{"dbt_cdc": {meta!r}}})
            return spark.sql({later!r} if spark.catalog.tableExists(str(dbt.this)) else {first!r})
    """


@dataclass(frozen=True)
class Case:
    """A model, and what its table holds after the last run."""

    model: str
    rows: list[tuple[Any, ...]]
    query: str = "select * from {table} order by 1"
    columns: list[tuple[str, str]] | None = None
    third_run: bool = False

    def check(self, project: Project, name: str) -> None:
        assert project.rows(self.query.replace("{table}", f"{{schema}}.{table(name)}")) == self.rows
        if self.columns is not None:
            assert project.columns(table(name)) == self.columns


def table(name: str) -> str:
    """The table of the case that is so called."""
    return name.lower().replace(" ", "_")


def of_type(literal: str, type_: str, moments: list[Any]) -> Case:
    """A late event and a delete, by a sequence of a type: its literal for 1, 2 and 3, and what these are in Python."""
    one, two, three = (literal.format(i) for i in (1, 2, 3))
    first, second, third = moments
    return Case(
        model(
            "id, v, op, seq", [[f"(1, 'b', 'U', {two})", f"(1, '', 'D', {three})"], [f"(1, 'a', 'U', {one})"]], **SCD2
        ),
        [(1, "a", first, second), (1, "b", second, third)],
        VERSIONS,
        columns=[("id", "int"), ("v", "string"), ("__START_AT", type_), ("__END_AT", type_)],
    )


SEQUENCES = {
    "decimal": of_type(
        "cast({} as decimal(12, 2))", "decimal(12,2)", [Decimal("1.00"), Decimal("2.00"), Decimal("3.00")]
    ),
    "date": of_type("date '2024-01-0{}'", "date", [dt.date(2024, 1, day) for day in (1, 2, 3)]),
    "timestamp": of_type(
        "timestamp '2024-01-01 00:00:00.00000{}'",
        "timestamp",
        [dt.datetime(2024, 1, 1, 0, 0, 0, micro) for micro in (1, 2, 3)],
    ),
    "string": of_type("'s{}'", "string", ["s1", "s2", "s3"]),
    "bigint": of_type("{}L", "bigint", [1, 2, 3]),
    "two columns": Case(
        model(
            "id, v, op, day, Nr",
            [["(1, 'b', 'U', 1, 2)", "(1, '', 'D', 2, 1)"], ["(1, 'a', 'U', 1, 1)"]],
            **{**SCD2, "sequence_by": ["day", "Nr"], "except_column_list": ["op", "day", "Nr"]},
        ),
        [(1, "a", 1, 1, 1, 2), (1, "b", 1, 2, 2, 1)],
        "select id, v, __START_AT.day, __START_AT.Nr, __END_AT.day, __END_AT.nr from {table} order by 3, 4",
        columns=[
            ("id", "int"),
            ("v", "string"),
            ("__START_AT", "struct<day:int,Nr:int>"),
            ("__END_AT", "struct<day:int,Nr:int>"),
        ],
    ),
    # Spark takes a statement that ends as such
    "an expression": Case(
        model(
            "id, v, op, seq",
            [["(1, 'b', 'U', 'x9')", "(1, '', 'D', 'x11')"], ["(1, 'a', 'U', 'x2')"]],
            **{**SCD2, "sequence_by": "cast(substr(seq, 2) as int) -- the number"},
        )
        + ";\n",
        [(1, "a", 2, 9), (1, "b", 9, 11)],
        VERSIONS,
    ),
    "an odd name": Case(
        model(
            "id, v, op, `event time`",
            [["(1, 'b', 'U', 9)", "(1, '', 'D', 11)"], ["(1, 'a', 'U', 2)"]],
            **{**SCD2, "sequence_by": "event time", "except_column_list": ["op", "event time"]},
        ),
        [(1, "a", 2, 9), (1, "b", 9, 11)],
        VERSIONS,
    ),
}


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_a_sequence_of_every_type_orders_events(applied: Project, sequence: str) -> None:
    SEQUENCES[sequence].check(applied, sequence)


NULLS_TO_IGNORE = [
    ["(1, 'a', 10, 'U', 1)", "(1, null, 20, 'U', 2)"],
    ["(1, 'z', null, 'D', 3)"],
    ["(1, null, 30, 'U', 4)"],
]
TO_TRACK = [
    ["(1, 'a', 1, 'U', 1)", "(1, 'a', 2, 'U', 2)", "(1, 'b', 3, 'U', 3)"],
    ["(1, 'b', 4, 'U', 4)"],
]
TRACKED = [(1, "a", 2, 1, 3), (1, "b", 4, 3, None)]
APPEND = "on_schema_change='append_new_columns',"
TO_GROW = [["(1, 'a', 'U', 1)"], "select 2 as id, 'b' as v, 5 as extra, 'U' as op, 2 as seq"]
GROWN = [(1, "a", None), (2, "b", 5)]
NESTED = "(1, array(1, null), named_struct('x', 1, 'y', 'é'), {}, cast('NaN' as double), 'U', {})"
INSIDE = "(1, array(1, {}), named_struct('x', array(1), 'y', {}), map('a', {}), 'U', {})"
NULL = "cast(null as int)"
ODD_FIELDS = "named_struct('id', {}, 'n', {}, 'in:', named_struct('price (EUR)', {}, 'it\\'s', {}, 'a,c', {}, 'my comment x', {}))"
FIELDS = "({}, named_struct('a', {}, 'b in', named_struct('c d', {}, 'l', {})), 'U', {})"

SHAPES = {
    "ignored nulls leave the values": Case(
        model("id, v, n, op, seq", NULLS_TO_IGNORE, ignore_null_updates=True, **FEED),
        [(1, None, 30)],
        third_run=True,
    ),
    "nulls are ignored in the columns listed": Case(
        model("id, v, n, op, seq", NULLS_TO_IGNORE, ignore_null_updates_column_list=["V"], **SCD2),
        [(1, "a", 10, 1, 2), (1, "a", 20, 2, 3), (1, None, 30, 4, None)],
        VERSIONS,
        third_run=True,
    ),
    "nulls are ignored in columns not excepted": Case(
        model(
            "id, v, n, op, seq",
            [["(1, 'a', 10, 'U', 1)", "(1, null, null, 'U', 2)"], ["(1, 'b', null, 'U', 3)"]],
            ignore_null_updates=True,
            ignore_null_updates_except_column_list=["v"],
            **SCD2,
        ),
        [(1, "a", 10, 1, 2), (1, None, 10, 2, 3), (1, "b", 10, 3, None)],
        VERSIONS,
    ),
    "nulls are ignored in each field of a struct": Case(
        model(
            "id, s, op, seq",
            [
                [
                    FIELDS.format(1, 1, "'x'", "array(1)", 1),
                    FIELDS.format(1, NULL, "'y'", "null", 2),
                    FIELDS.format(2, NULL, "null", "null", 1),
                    "(3, null, 'U', 1)",
                    # nothing but NULLs within is no other value than NULL
                    FIELDS.format(3, NULL, "null", "null", 2),
                ],
                [
                    FIELDS.format(1, 1, "null", "cast(array() as array<int>)", 4),
                    "(1, null, 'U', 3)",
                    "(2, null, 'D', 2)",
                    FIELDS.format(2, 7, "null", "null", 3),
                ],
            ],
            ignore_null_updates_except_column_list=["id"],
            **SCD2,
        ),
        [
            (1, 1, "x", [1], 1, 2),
            (1, 1, "y", [1], 2, 4),
            (1, 1, "y", [], 4, None),
            (2, None, None, None, 1, 2),
            (2, 7, None, None, 3, None),
            (3, None, None, None, 1, None),
        ],
        "select id, s.a, s.`b in`.`c d`, s.`b in`.l, __START_AT, __END_AT from {table} order by 1, 5",
        columns=[
            ("id", "int"),
            ("s", "struct<a:int,b in:struct<c d:string,l:array<int>>>"),
            ("__START_AT", "int"),
            ("__END_AT", "int"),
        ],
    ),
    "fields of any names in a struct that is called as a step is": Case(
        model(
            "id, n, steps, seq",
            [
                [f"(1, 5, {ODD_FIELDS.format(77, 88, 1, 2, 3, 4)}, 1)"],
                [f"(1, 6, {ODD_FIELDS.format(78, NULL, NULL, NULL, NULL, NULL)}, 2)"],
            ],
            sequence_by="seq",
            except_column_list=["seq"],
            ignore_null_updates=True,
        ),
        [(1, 6, (78, 88, (1, 2, 3, 4)))],
    ),
    "a late event of a feed that was narrower": Case(
        model(
            "id, name, email, op, seq",
            [
                ["(1, 'alice', 'a@x', 'U', 10)", "(1, 'alicia', 'b@x', 'U', 30)"],
                "select 1 as id, 'annie' as name, 'U' as op, 20 as seq",
            ],
            track_history_column_list=["name"],
            **SCD2,
        ),
        [(1, "alice", "a@x", 10, 20), (1, "annie", None, 20, 30), (1, "alicia", "b@x", 30, None)],
        VERSIONS,
    ),
    "a new column changes versions that are later than its event": Case(
        model(
            "id, v, op, seq",
            [
                ["(1, 'a', 'U', 1)", "(1, 'c', 'U', 3)"],
                "select 1 as id, 'b' as v, 'x' as email, 'U' as op, 2 as seq",
            ],
            config=APPEND,
            ignore_null_updates=True,
            **SCD2,
        ),
        [(1, "a", 1, 2, None), (1, "b", 2, 3, "x"), (1, "c", 3, None, "x")],
        VERSIONS,
        columns=[("id", "int"), ("v", "string"), ("__START_AT", "int"), ("__END_AT", "int"), ("email", "string")],
    ),
    "an event that names no columns": Case(
        model(
            "id, v, n, op, seq, cols",
            [
                ["(1, 'a', 1, 'U', 1, cast(array() as array<string>))"],
                ["(1, 'b', 9, 'U', 2, array('v'))", "(2, 'q', 9, 'U', 2, array())"],
                ["(1, 'c', 8, 'U', 3, cast(array() as array<string>))"],
            ],
            **{**SCD2, "except_column_list": ["op", "seq", "cols"]},
            columns_to_update="cols",
        ),
        [(1, None, None, 1, 2), (1, "b", None, 2, None), (2, None, None, 2, None)],
        "select id, v, n, __START_AT, __END_AT from {table} order by 1, 4",
        third_run=True,
    ),
    "lists that are spelled anew": Case(
        model(
            "id, v, n, op, seq",
            [["(1, 'a', 1, 'U', 1)"], ["(1, 'a', 2, 'U', 2)"]],
            **SCD2,
            track_history_column_list=["v", "id"],
            ignore_null_updates_column_list=["v"],
        )
        .replace("['v', 'id']", "['v', 'id'] if var('run') == 0 else ['ID', '`V`']")
        .replace("['v']", "['v'] if var('run') == 0 else ['`v`']"),
        [(1, "a", 2, 1, None)],
        VERSIONS,
    ),
    "an event sets the columns that it names": Case(
        model(
            "id, v, n, op, seq, cols",
            [
                ["(1, 'a', 10, 'U', 1, null)", "(1, 'lost', null, 'U', 2, array('N'))"],
                ["(1, null, 7, 'U', 3, array('v'))"],
            ],
            columns_to_update="cols",
            **SCD2,
        ),
        [(1, "a", 10, 1, 2), (1, "a", None, 2, 3), (1, None, None, 3, None)],
        VERSIONS,
    ),
    "the columns that an event names are no column of the table": Case(
        model(
            "id, v, n, op, seq, cols",
            [["(1, 'a', 10, 'U', 1, null)"], ["(1, null, 7, 'U', 2, array('n'))"]],
            columns_to_update="cols",
            apply_as_deletes="op = 'D'",
            sequence_by="seq",
            column_list=["v", "n", "cols"],
        ),
        [(1, "a", 7)],
    ),
    "a truncate takes what is older": Case(
        model(
            "id, v, op, seq",
            [
                ["(1, 'a', 'U', 1)", "(2, 'b', 'U', 5)", "(3, 'c', 'U', 2)", "(4, 'e', 'U', 3)"],
                ["(null, null, 'T', 3)", "(9, 'n', 'U', 9)"],
                ["(1, 'late', 'U', 2)", "(3, 'd', 'U', 4)"],
            ],
            apply_as_truncates="op = 'T'",
            **FEED,
        ),
        [(2, "b"), (3, "d"), (9, "n")],
        third_run=True,
    ),
    "history is tracked of the columns listed": Case(
        model("id, v, n, op, seq", TO_TRACK, track_history_column_list=["v"], **SCD2), TRACKED, VERSIONS
    ),
    "history is tracked of columns not excepted": Case(
        model("id, v, n, op, seq", TO_TRACK, track_history_except_column_list=["n"], **SCD2), TRACKED, VERSIONS
    ),
    "nested values are compared as they are": Case(
        model(
            "id, list, rec, props, ratio, op, seq",
            [
                [NESTED.format("map('a', 1, 'b', 2)", 1), NESTED.format("map('b', 2, 'a', 1)", 2)],
                [NESTED.format("map('b', 2, 'a', 1)", 1)],
            ],
            **SCD2,
        ),
        [(1, [1, None], "é", 2, True, 1, None)],
        "select id, list, rec.y, props['b'], isnan(ratio), __START_AT, __END_AT from {table}",
    ),
    "a null within a value is a value": Case(
        model(
            "id, list, rec, props, op, seq",
            [
                [INSIDE.format(NULL, NULL, NULL, 1), INSIDE.format(NULL, NULL, 7, 4)],
                [INSIDE.format(2, NULL, NULL, 2), INSIDE.format(2, 5, NULL, 3), INSIDE.format(NULL, NULL, 7, 5)],
            ],
            **SCD2,
        ),
        [
            ([1, None], None, None, 1, 2),
            ([1, 2], None, None, 2, 3),
            ([1, 2], 5, None, 3, 4),
            ([1, None], None, 7, 4, None),
        ],
        "select list, rec.y, props['a'], __START_AT, __END_AT from {table} order by 4",
    ),
    "columns of odd names keep them": Case(
        model(
            "`i d`, `group`, `Ünï.x`, op, seq",
            [["(1, 'a', 'b', 'U', 1)"], ["(1, 'c', 'b', 'U', 2)"]],
            unique_key="i d",
            start_at_column="valid from",
            end_at_column="valid`to",
            **SCD2,
        ),
        [(1, "a", "b", 1, 2), (1, "c", "b", 2, None)],
        "select * from {table} order by 4",
        columns=[("i d", "int"), ("group", "string"), ("Ünï.x", "string"), ("valid from", "int"), ("valid`to", "int")],
    ),
    "the table has the columns listed": Case(
        model("id, v, n, op, seq", TO_TRACK, column_list=["id", "n"], **LISTED), [(1, 4)]
    ),
    "keys may be all columns": Case(
        model("id, op, seq", [["(1, 'U', 1)", "(2, 'U', 1)"], ["(1, 'D', 2)"]], **FEED), [(2,)]
    ),
    # tombstones are purged in the run that brings the new column
    "a new column is appended": Case(
        model("id, v, op, seq", TO_GROW, config=APPEND, tombstone_retention="0 seconds", **FEED),
        GROWN,
        columns=[("id", "int"), ("v", "string"), ("extra", "int")],
    ),
    "a new column is synced": Case(
        model("id, v, op, seq", TO_GROW, config=APPEND.replace("append_new", "sync_all"), **FEED), GROWN
    ),
    "a column listed may be spelled anew": Case(
        model(
            "id, Amount, op, seq",
            [["(1, 10, 'U', 1)"], "select 1 as id, 20 as amount, 'U' as op, 2 as seq"],
            column_list=["id", "Amount"],
            tombstone_retention=None,
            **LISTED,
        ),
        [(1, 20)],
        columns=[("id", "int"), ("Amount", "int")],
    ),
    "a column that is gone becomes null and a new one is left out": Case(
        model(
            "id, v, n, op, seq",
            [["(1, 'a', 3, 'U', 1)"], "select 1 as id, 'b' as v, 5 as more, 'U' as op, 2 as seq"],
            **FEED,
        ),
        [(1, "b", None)],
        columns=[("id", "int"), ("v", "string"), ("n", "int")],
    ),
    "a column without a type is text or what the table has": Case(
        python_model(
            "select 1 as id, null as v, 'U' as op, 1 as n, array(1) as list, date'2024-01-01' as day, 1 as seq, null as cols",
            "select 1 as id, null as v, 'U' as op, null as n, null as list, null as day, 2 as seq, null as cols",
            columns_to_update="cols",
            **FEED,
        ),
        [(1, None, None, None, None)],
        columns=[("id", "int"), ("v", "string"), ("n", "int"), ("list", "array<int>"), ("day", "date")],
    ),
    "void and variant in the name of a field are no types": Case(
        model(
            "",
            [
                "select id, named_struct('void', true, 'void ratio', v, 'variant-id', 1) as flags, null as later, 1 as seq"
                " from values (named_struct('variant-id', 1), 0.4) as t(id, v);\n-- the end; /* of */ it\n"
            ],
            sequence_by="seq",
            except_column_list=["seq"],
        ),
        [(1, True, Decimal("0.4"), None)],
        "select id.`variant-id`, flags.void, flags.`void ratio`, later from {table}",
        columns=[
            ("id", "struct<variant-id:int>"),
            ("flags", "struct<void:boolean,void ratio:decimal(1,1),variant-id:int>"),
            ("later", "string"),
        ],
    ),
    "a Python model": Case(
        python_model(*["select 1 as id, 'a' as v, 'U' as op, 10 as seq union all select 1, 'b', 'U', 5"] * 2, **SCD2),
        [(1, "b", 5, 10), (1, "a", 10, None)],
        VERSIONS,
    ),
    # elsewhere such a batch is refused, as the zone would shift its times
    "in UTC days and wall clocks are moments": Case(
        model(
            "",
            [
                "select 1 as id, timestamp'2024-01-01' as a, timestamp'2024-01-01' as b, timestamp'2024-01-01' as c, 1 as seq",
                "select 1 as id, timestamp_ntz'2024-01-02' as a, date'2024-01-02' as b, '2024-01-02 00:00:00' as c, 2 as seq",
            ],
            sequence_by="seq",
            except_column_list=["seq"],
        ),
        [(1, True, True, True)],
        "select id, a = timestamp'2024-01-02 00:00:00Z', b = a, c = a from {table}",
        columns=[("id", "int"), ("a", "timestamp"), ("b", "timestamp"), ("c", "timestamp")],
    ),
    "text is read in the types of the table however it is spelled": Case(
        model(
            "",
            [
                "select 1 as id, 1.50BD as price, cast(7 as decimal(38,2)) as wide, true as flag, 1L as seq",
                "select * from values ('01', '.5', '1.25E1', 'FALSE', 2L), ('2', '1e0', '-0E-9', null, 1L)"
                " as t(id, price, wide, flag, seq)",
            ],
            sequence_by="seq",
        ),
        [(1, Decimal("0.50"), Decimal("12.50"), False), (2, Decimal("1.00"), Decimal("0.00"), None)],
        "select id, price, wide, flag from {table} order by id",
        columns=[
            ("id", "int"),
            ("price", "decimal(3,2)"),
            ("wide", "decimal(38,2)"),
            ("flag", "boolean"),
            ("seq", "bigint"),
        ],
    ),
    "keys of bytes that are no text": Case(
        model(
            "id, v, op, seq",
            [
                ["(cast(x'41FF' as string), 'a', 'U', 1)", "('A', 'x', 'U', 1)"],
                ["(cast(x'41FF' as string), 'c', 'U', 2)"],
                ["(cast(x'41FF' as string), '', 'D', 3)"],
            ],
            **SCD2,
        ),
        [("41", "x", 1, None), ("41FF", "a", 1, 2), ("41FF", "c", 2, 3)],
        "select hex(id), v, __START_AT, __END_AT from {table} order by 1, 3",
        third_run=True,
    ),
    "a key looks like a variable": Case(
        model("id, v, op, seq", [["('$\\{x}', 'a', 'U', 1)"], ["('$\\{x}', 'b', 'U', 2)"]], **SCD2),
        [("${x}", "a", 1, 2), ("${x}", "b", 2, None)],
        VERSIONS,
    ),
    "a decimal drifts in scale": Case(
        model("id, price, op, seq", [["(1, 1.5, 'U', 1)"], ["(1, 1.50, 'U', 1)", "(2, 2.50, 'U', 1)"]], **FEED),
        [(1, Decimal("1.5")), (2, Decimal("2.5"))],
    ),
    "lists with backticks": Case(
        model(
            "id, `my v`, w, seq",
            [["(1, 'a', 'x', 1)"], ["(1, 'a', 'y', 2)"]],
            sequence_by="`seq`",
            column_list=["`my v`", "w"],
            stored_as_scd_type=2,
            track_history_except_column_list=["`w`"],
        ),
        [(1, "a", "y", 1, None)],
        VERSIONS,
    ),
}

SAME_TIME = ["(1, 'a', 'U', 1)", "(1, 'b', 'U', 1)"]
RESOLVED = {
    name: model("id, v, op, seq", runs, **SCD2, on_conflict="resolve")
    for name, runs in {
        "resolve_both": [SAME_TIME],
        "resolve_ab": [SAME_TIME[:1], SAME_TIME[1:]],
        "resolve_ba": [SAME_TIME[1:], SAME_TIME[:1]],
    }.items()
}
#: halves of an event, one of which comes late, beside a delete that ends what was before them
HALVES = ["(1, 'old', 1, 'U', 1, null)", "(1, null, null, 'D', 4, null)", "(1, 'lost', 7, 'U', 4, null)"]
HALVES += ["(1, 'A', 0, 'U', 5, array('v'))"]
LATE_HALF = ["(1, '', 9, 'U', 5, array('n'))"]
NULLED_HALVES = ["(1, 'A', null, 'U', 5)", "(1, null, 9, 'U', 5)", "(2, 'k', 0, 'U', 1)"]
PARTS = {
    "halves1": model(
        "id, v, n, op, seq, cols",
        [HALVES, LATE_HALF],
        columns_to_update="cols",
        on_conflict="resolve",
        **{**FEED, "except_column_list": ["op", "seq", "cols"]},
    ),
    "halves2": model(
        "id, v, n, op, seq, cols",
        [LATE_HALF, HALVES],
        columns_to_update="cols",
        on_conflict="resolve",
        **{**SCD2, "except_column_list": ["op", "seq", "cols"]},
    ),
    "nulled1": model("id, v, n, op, seq", [NULLED_HALVES], ignore_null_updates=True, on_conflict="resolve", **FEED),
    # what is known later replaces what was known of the sequence whole
    "halves_known": model(
        "id, v, n, seq, known, cols",
        [
            ["(1, 'old', 1, 1, 1, null)", "(1, 'A', 0, 5, 2, array('v'))"],
            ["(1, '', 9, 5, 2, array('n'))", "(1, 'B', 0, 5, 3, array('v'))"],
        ],
        sequence_by="seq",
        system_sequence_by="known",
        stored_as_scd_type="bitemporal",
        columns_to_update="cols",
        on_conflict="resolve",
        column_list=["v", "n"],
    ),
}
#: their rows
OF_PARTS: dict[str, list[tuple[Any, ...]]] = {
    "halves1": [(1, "A", 9)],
    "halves2": [(1, "old", 1, 1, 4), (1, "A", 9, 5, None)],
    "nulled1": [(1, "A", 9), (2, "k", 0)],
    "halves_known": [
        (1, "old", 1, 1, None, 1, 2),
        (1, "old", 1, 1, 5, 2, None),
        (1, "A", 9, 5, None, 2, 3),
        (1, "B", 1, 5, None, 3, None),
    ],
}


@pytest.mark.parametrize("option", SHAPES)
def test_an_option_shapes_the_rows(applied: Project, option: str) -> None:
    SHAPES[option].check(applied, option)


def test_a_new_column_that_is_left_out_is_told(applied: Project) -> None:
    model = f"model.consumer.{table('a column that is gone becomes null and a new one is left out')}"
    left_out = f"{model} leaves out columns that are new to its table (more), by on_schema_change: ignore"
    assert left_out in applied.log()


def test_events_of_one_key_and_moment_resolve_alike_in_any_order(applied: Project) -> None:
    both, ab, ba = (applied.rows(f"select * from {{schema}}.{name} order by 1") for name in RESOLVED)
    assert ab == ba == both
    assert both in ([(1, "a", 1, None)], [(1, "b", 1, None)])


@pytest.mark.parametrize("name", PARTS)
def test_events_of_one_moment_that_set_other_columns_each_set_theirs(applied: Project, name: str) -> None:
    assert sorted(applied.rows(f"select * from {{schema}}.{name}"), key=repr) == sorted(OF_PARTS[name], key=repr)


WITH_COLUMNS = {
    **FEED,
    "columns_to_update": "cols",
    "apply_as_truncates": "op = 'T'",
    "except_column_list": ["op", "seq", "cols"],
}
KEY_COLUMNS = ["price", "day", "at", "ratio", "flag", "bytes", "list", "rec", "text"]
KEY = "1.50, date'2024-01-01', timestamp'2024-01-01 00:00:00.000001', double('NaN'), true, X'00FF'"
KEY += ", array(1, null), struct('a' as x, array(2) as y), {}"
KEY_EMPTY, KEY_QUOTED = KEY.format("''"), KEY.format("'it\\'s \\\\ \"q\" `b`'")
NUMBERS_WITHIN = (
    "select {} as id, array({}) as list, named_struct('a b', {}, 'e.f', map('x', {})) as rec, 'U' as op, 1 as seq"
)
THIRTY_FIELDS = ", ".join(f"'f {n}', {n}" for n in range(30))
RESPELLED = [
    "select * from values (1, 'a', 'U', 1) as t(Id, V, op, seq)",
    "select * from values ('b', 1, 'U', 2) as t(v, ID, op, seq)",
]

MEETINGS = {
    # words that Spark hides the properties of
    "secret words are columns and keys": Case(
        model(
            "url, access_token, op, seq",
            [["('x', 'a', 'U', 1)"], ["('x', 'b', 'U', 2)"]],
            unique_key="url",
            track_history_column_list=["access_token"],
            **SCD2,
        ),
        [("x", "a", 1, 2), ("x", "b", 2, None)],
        VERSIONS,
    ),
    "images get a new column": Case(
        model(
            "",
            [
                "select * from values (1, 'a', 1), (2, 'b', 1) as t(id, number, ver)",
                "select * from values (1, 'a', 7, 2) as t(id, number, later, ver)",
            ],
            config=APPEND,
            sequence_by="ver",
            source_kind="snapshot",
            except_column_list=["ver"],
        ),
        [(1, "a", 7)],
        "select * from {table}",
    ),
    # one of three rows goes: a row that came back counts by its last event
    "a fraction of rows may go that have deletes behind them": Case(
        model(
            "id, v, op, seq",
            [
                ["(1, 'a', 'U', 1)", "(1, null, 'D', 5)", "(1, 'b', 'U', 9)", "(2, 'k', 'U', 1)", "(3, 'k', 'U', 1)"],
                ["(1, 'c', 'U', 10)", "(2, null, 'D', 9)"],
            ],
            max_delete_fraction=0.4,
            **FEED,
        ),
        [(1, "c"), (3, "k")],
    ),
    # an event given again is the same
    "numbers within are narrower later": Case(
        model(
            "",
            [
                NUMBERS_WITHIN.format(1, "1.0D", "1.250", "1L"),
                NUMBERS_WITHIN.format(1, 1, 1.25, 1) + " union all " + NUMBERS_WITHIN.format(2, 2, 2.25, 2),
            ],
            change_log="data_before",
            **SCD2,
        ),
        [(1, [1.0], Decimal("1.250"), 1, 1, None), (2, [2.0], Decimal("2.250"), 2, 1, None)],
        "select id, list, rec.`a b`, rec.`e.f`['x'], __START_AT, __END_AT from {table} order by 1",
    ),
    "a new column comes with an event that is outdone": Case(
        model(
            "id, v, op, seq",
            [["(1, 'a', 'U', 5)"], "select 1 as id, 'z' as v, 7 as extra, 'U' as op, 2 as seq"],
            config=APPEND,
            **FEED,
        ),
        [(1, "a", None)],
    ),
    "new columns are wide and nested": Case(
        model(
            "id, op, seq",
            [
                ["(1, 'U', 1)"],
                f"select 1 as id, named_struct({THIRTY_FIELDS}) as rec, map('a b', 1) as props, 'U' as op, 2 as seq",
            ],
            config=APPEND,
            **FEED,
        ),
        [(1, 0, 29, {"a b": 1})],
        "select id, rec.`f 0`, rec.`f 29`, props from {table}",
    ),
    "versions whose columns are respelled": Case(
        model("", RESPELLED, **SCD2, start_at_column="valid from"),
        [(1, "a", 1), (1, "b", 2)],
        "select Id, V, `valid from` from {table} order by 3",
    ),
    **{
        f"columns are respelled and new ones {rule}": Case(
            model("", RESPELLED, config=f"on_schema_change='{rule}',", **FEED),
            [(1, "b")],
            columns=[("Id", "int"), ("V", "string")],
        )
        for rule in ("append_new_columns", "fail")
    },
    "columns set where nulls are ignored and a truncate": Case(
        model(
            "id, v, n, op, seq, cols",
            [
                [
                    "(1, 'a', 1, 'U', 3, null)",
                    "(2, 'x', 9, 'U', 1, null)",
                    "(null, null, null, 'T', 2, null)",
                    "(1, null, null, 'U', 4, array('v', 'n'))",
                ],
                ["(1, 'b', 7, 'U', 5, array('v'))", "(2, 'late', 8, 'U', 2, null)", "(3, 'z', 3, 'U', 3, array('n'))"],
            ],
            ignore_null_updates_column_list=["v"],
            **WITH_COLUMNS,
        ),
        [(1, "b", None), (3, None, 3)],
    ),
    "images of a partitioned table of which one column is tracked": Case(
        model(
            "id, v, n, part, ver",
            [["(1, 'a', 1, 'x', 1)", "(2, 'b', 1, 'x', 1)"], ["(1, 'a', 2, 'y', 2)", "(3, 'c', 1, 'y', 2)"]],
            config="partition_by='part',",
            sequence_by="ver",
            source_kind="snapshot",
            stored_as_scd_type="2",  # as a var gives it
            track_history_column_list=["v"],
            max_delete_fraction=0.5,
            except_column_list=["ver"],
        ),
        [(1, "a", 2, "y", 1, None), (2, "b", 1, "x", 1, 2), (3, "c", 1, "y", 2, None)],
    ),
    "a key of columns of every type": Case(
        model(
            ", ".join([*KEY_COLUMNS, "v", "op", "seq"]),
            [
                [f"({KEY_QUOTED}, 'a', 'U', 2)", f"({KEY_EMPTY}, 'b', 'U', 2)"],
                [f"({KEY_QUOTED}, 'x', 'U', 1)", f"({KEY_EMPTY}, null, 'D', 3)"],
            ],
            unique_key=KEY_COLUMNS,
            **SCD2,
        ),
        [("", "b", 2, 3), ('it\'s \\ "q" `b`', "x", 1, 2), ('it\'s \\ "q" `b`', "a", 2, None)],
        "select text, v, __START_AT, __END_AT from {table} order by 1, 3",
    ),
}


@pytest.fixture(scope="module")
def applied(spark: SparkSession, target: dict[str, Any]) -> Iterator[Project]:
    """The models of all cases, after their runs."""
    cases: dict[str, Case] = {**SEQUENCES, **SHAPES, **MEETINGS}
    models = {**{table(name): case.model for name, case in cases.items()}, **RESOLVED, **PARTS}
    with shared_project(spark, target) as project:
        project.write(
            {f"models/{name}.{'py' if 'def model' in text else 'sql'}": text for name, text in models.items()}
        )
        for run in (0, 1):
            project.dbt("run", "--vars", f"{{run: {run}}}")
        third = [table(name) for name, case in cases.items() if case.third_run]
        project.dbt("run", "--vars", "{run: 2}", "--select", *third)
        yield project


@pytest.mark.parametrize("meeting", MEETINGS)
def test_options_go_together_where(applied: Project, meeting: str) -> None:
    MEETINGS[meeting].check(applied, meeting)


def test_a_log_tells_each_insert_once_where_numbers_within_are_narrower_later(applied: Project) -> None:
    log = f"{table('numbers within are narrower later')}__changes"
    assert applied.rows(f"select op, key.id from {{schema}}.{log} order by 2") == [("i", 1), ("i", 2)]


def test_the_columns_of_a_key_keep_their_values_whatever_their_type(applied: Project) -> None:
    moment = dt.datetime(2024, 1, 1, 0, 0, 0, 1)
    columns = "price, day, at, isnan(ratio), flag, bytes, list, rec.x, rec.y"
    keys = table("a key of columns of every type")
    assert applied.rows(f"select distinct {columns} from {{schema}}.{keys}") == [
        (Decimal("1.50"), dt.date(2024, 1, 1), moment, True, True, bytearray(b"\x00\xff"), [1, None], "a", [2])
    ]


KNOWN_COLUMNS = "id, v, op, seq, known"
KNOWN_OPTIONS = {**FEED, "stored_as_scd_type": "bitemporal", "except_column_list": ["op", "seq", "known"]}
KNOWN_RUNS = [
    [
        "(1, 'a', 'U', 1, 10)",
        "(1, 'b', 'U', 5, 11)",
        "(2, 'x', 'U', 1, 10)",
        "(2, null, 'D', 4, 11)",
        "(3, 'z', 'U', 1, 10)",
    ],
    # a correction of what held from 1 on, a delete, and one that is taken back
    ["(1, 'A', 'U', 1, 12)", "(1, null, 'D', 8, 13)", "(2, 'y', 'U', 4, 14)"],
    # known since 11, but given late; and what was known before is told again
    ["(1, 'm', 'U', 3, 11)", "(1, 'b', 'U', 5, 13)"],
]
#: id, v, from, to, known from, known to
OF_2_AND_3 = [(2, "x", 1, None, 10, 11), (2, "x", 1, 4, 11, None), (3, "z", 1, None, 10, None)]
KNOWN_FIRST = [(1, "a", 1, None, 10, 11), (1, "a", 1, 5, 11, None), (1, "b", 5, None, 11, None), *OF_2_AND_3]
KNOWN_SECOND = [
    (1, "a", 1, None, 10, 11),
    (1, "a", 1, 5, 11, 12),
    (1, "A", 1, 5, 12, None),
    (1, "b", 5, None, 11, 13),
    (1, "b", 5, 8, 13, None),
    *OF_2_AND_3[:2],
    (2, "y", 4, None, 14, None),
    *OF_2_AND_3[2:],
]
KNOWN_LATE = [
    (1, "a", 1, None, 10, 11),
    (1, "a", 1, 3, 11, 12),
    (1, "A", 1, 3, 12, None),
    (1, "m", 3, 5, 11, None),
    (1, "b", 5, None, 11, 13),
    (1, "b", 5, 8, 13, None),
    *OF_2_AND_3[:2],
    (2, "y", 4, None, 14, None),
    *OF_2_AND_3[2:],
]

#: command, and the rows that `known` has after it
KNOWN_STEPS: dict[str, tuple[tuple[str, ...], list[tuple[Any, ...]]]] = {
    "first batch": (("run", "--vars", "{run: 0}"), KNOWN_FIRST),
    "corrections": (("run", "--vars", "{run: 1}"), KNOWN_SECOND),
    "late batch": (("run", "--vars", "{run: 2}"), KNOWN_LATE),
    "late batch again": (("run", "--vars", "{run: 2}"), KNOWN_LATE),
    "purge": (
        ("run-operation", "purge_tombstones", "--args", "{retention: 0 seconds}", "--vars", "{run: 2}"),
        KNOWN_LATE,
    ),
    "no rows": (("run", "--empty", "--vars", "{run: 1}", "--select", "known"), KNOWN_LATE),
    "full refresh": (("run", "--full-refresh", "--vars", "{run: 0}", "--select", "known"), KNOWN_FIRST),
}

KNOWN_MODELS = {
    "models/known.sql": model(
        KNOWN_COLUMNS,
        KNOWN_RUNS,
        **KNOWN_OPTIONS,
        system_sequence_by="known",
        change_log="data_before_after",
        max_delete_fraction=0.9,
    ),
    # odd names, nested values; a correction that sets one column replaces its event whole
    "models/known_more.sql": model(
        "`i d`, v, n, props, op, seq, `log file`, pos, cols",
        [
            ["(1, 'a', 1, map('a', 1), 'U', 1, 1, 1, cast(null as array<string>))"],
            ["(1, 'b', 2, map('a', 1), 'U', 1, 2, 0, array('v'))", "(1, 'c', 3, map('b', 2), 'U', 5, 1, 2, null)"],
        ],
        unique_key="i d",
        sequence_by="seq",
        stored_as_scd_type="bitemporal",
        system_sequence_by=["log file", "pos"],
        columns_to_update="cols",
        column_list=["v", "n", "props"],
        start_at_column="valid from",
        end_at_column="valid to",
    ),
    "models/known_py.py": python_model(
        *["select 1 as id, 'a' as v, 'U' as op, 1 as seq, 10 as known union all select 1, 'b', 'U', 1, 12"] * 2,
        **KNOWN_OPTIONS,
        system_sequence_by="known",
    ),
    "models/known_at_once.sql": model(
        KNOWN_COLUMNS,
        [[row for run in KNOWN_RUNS for row in run]],
        **KNOWN_OPTIONS,
        system_sequence_by="timestamp_seconds(known)",
        system_start_at_column="known from",
        system_end_at_column="known to",
    ),
}


@dataclass(frozen=True)
class Known:
    """The bitemporal models after all steps, and what was seen of `known` on the way."""

    project: Project
    rows: dict[str, list[tuple[Any, ...]]]
    written: str
    changes: list[tuple[Any, ...]]
    deletes: list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def known(spark: SparkSession, target: dict[str, Any]) -> Iterator[Known]:
    rows, seen = {}, {}
    with shared_project(spark, target) as project:
        project.write(KNOWN_MODELS)
        for step, (command, _) in KNOWN_STEPS.items():
            project.dbt(*command)
            rows[step] = project.rows("select * from {schema}.known order by id, __START_AT, __SYSTEM_START_AT")
            if step == "corrections":
                written = project.written("known", "run")
            elif step == "late batch again":
                changes = "select count(*), count_if(op = 'i'), count_if(op = 'u') from {schema}.known__changes"
                seen["changes"] = project.rows(changes)
            elif step == "purge":
                deletes = "select count(*) from {schema}.known__events where _dbt_cdc_kind = 'delete'"
                seen["deletes"] = project.rows(deletes)
        yield Known(project, rows, written, **seen)


@pytest.mark.parametrize("step", KNOWN_STEPS)
def test_a_bitemporal_table_says_from_when_to_when_each_version_was_known_after(known: Known, step: str) -> None:
    assert known.rows[step] == KNOWN_STEPS[step][1]


def test_a_bitemporal_table_has_columns_of_both_times(known: Known) -> None:
    assert known.project.columns("known")[2:] == [
        (name, "int") for name in ("__START_AT", "__END_AT", "__SYSTEM_START_AT", "__SYSTEM_END_AT")
    ]


def test_the_statement_of_a_bitemporal_table_names_its_steps(known: Known) -> None:
    for step in ("recorded as (", "known as (", "steps as (", "spans as (", "versions as (", "merge into"):
        assert f"\n{step}" in known.written, known.written


def test_a_python_model_gives_a_bitemporal_table(known: Known) -> None:
    assert known.project.rows("select * from {schema}.known_py order by 5") == [
        (1, "a", 1, None, 10, 12),
        (1, "b", 1, None, 12, None),
    ]


def test_a_correction_of_one_column_replaces_its_event_whole(known: Known) -> None:
    moments = "__SYSTEM_START_AT.`log file`, __SYSTEM_START_AT.pos, __SYSTEM_END_AT.`log file`, __SYSTEM_END_AT.pos"
    assert known.project.rows(
        f"select * except (__SYSTEM_START_AT, __SYSTEM_END_AT), {moments} from {{schema}}.known_more order by 5, 7, 8"
    ) == [
        (1, "a", 1, {"a": 1}, 1, None, 1, 1, 1, 2),
        (1, "a", 1, {"a": 1}, 1, 5, 1, 2, 2, 0),
        (1, "b", None, None, 1, 5, 2, 0, None, None),
        (1, "c", 3, {"b": 2}, 5, None, 1, 2, None, None),
    ]


def test_all_batches_at_once_give_the_same_bitemporal_table(known: Known) -> None:
    seconds = "unix_timestamp(`known from`), unix_timestamp(`known to`)"
    ordered = f"select id, v, __START_AT, __END_AT, {seconds} from {{schema}}.known_at_once order by 1, 3, 5"
    assert known.project.rows(ordered) == KNOWN_LATE
    columns = known.project.columns("known_at_once")
    assert columns[4:] == [("known from", "timestamp"), ("known to", "timestamp")]


def test_the_log_of_a_bitemporal_table_has_an_update_where_a_row_was_closed(known: Known) -> None:
    # 6 rows; 3 more and 2 closed; 1 more and 2 that end earlier
    assert known.changes == [(14, 10, 4)]


def test_a_bitemporal_table_forgets_no_delete(known: Known) -> None:
    assert "known: nothing purged, a bitemporal table forgets nothing" in known.project.log()
    assert known.deletes == [(2,)]


def test_names_of_columns_that_do_not_reach_the_table_make_no_other_event(project: Project) -> None:
    """As where a feed names all its columns, and its source gets one that the table is not to have."""
    options = {"sequence_by": "seq", "columns_to_update": "cols", "except_column_list": ["seq", "op"]}
    project.write(
        {
            "models/marked.sql": model(
                "id, v, seq, op, cols{{ ', more' if var('run') == 1 }}",
                [
                    ["(1, 'a', 1, 'U', array('id', 'v'))", "(1, 'b', 2, 'U', array('id', 'V'))"],
                    ["(1, 'b', 2, 'U', array('id', 'v', 'more', 'op'), 'x')", "(1, 'c', 3, 'U', array('more'), 'y')"],
                ],
                **options,
            ),
            # the hash of a content of thousands of columns: so many of one value are that value
            "models/of_many.sql": """
                {{ config(materialized='table') }}
                {% set payload = [{'name': 'v', 'type': 'int', 'source': 'v'}] * 3001 %}
                select {{ dbt_cdc._apply_content_hash({'payload': payload}) }} = xxhash64('v', 1) as is_that
                from values (1, cast(null as array<string>)) as t(v, _dbt_cdc_columns)
            """,
        }
    )
    project.dbt("run", "--vars", "{run: 0}")
    project.dbt("run", "--vars", "{run: 1}")
    assert project.rows("select * from {schema}.of_many") == [(True,)]
    assert project.rows("select * from {schema}.marked") == [(1, "b")]
    assert project.rows(
        "select _dbt_cdc_sequence, v from {schema}.marked__events where _dbt_cdc_kind = 'upsert' order by 1"
    ) == [
        (1, "a"),
        (2, "b"),
        (3, None),
    ]


def test_an_empty_image_has_the_moment_that_yaml_gives(project: Project) -> None:
    settings = {"sequence_by": "day", "source_kind": "snapshot", "stored_as_scd_type": 2, "except_column_list": ["day"]}
    options = {"materialized": "apply_changes", "unique_key": "id", "meta": {"dbt_cdc": settings}}
    for moment, where in ((None, "true"), (dt.datetime(2024, 1, 2, 12), "false")):
        settings["snapshot_version"] = moment
        project.write({"models/m.sql": f"select 1 as id, timestamp'2024-01-01' as day where {where}"})
        project.write({"models/m.yml": yaml.safe_dump({"models": [{"name": "m", "config": options}]})})
        project.dbt("run")
    moments = [(1, dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2, 12))]
    assert project.rows("select * from {schema}.m") == moments

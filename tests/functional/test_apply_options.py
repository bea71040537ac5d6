"""Each option of apply_changes with rows written by hand: many models in one project, three runs."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from tests.support.project import Project

pytestmark = pytest.mark.one_format("iceberg")

FEED = {"sequence_by": "seq", "apply_as_deletes": "op = 'D'", "except_column_list": ["op", "seq"]}
SCD2 = {**FEED, "stored_as_scd_type": 2}


def model(columns: str, runs: list[list[str] | str], *, unique_key: Any = "id", config: str = "", **meta: Any) -> str:
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


SEQUENCES = {
    "decimal": (
        "cast({} as decimal(12, 2))",
        "decimal(12,2)",
        [Decimal("1.00"), Decimal("2.00"), Decimal("3.00")],
    ),
    "date": ("date '2024-01-0{}'", "date", [dt.date(2024, 1, day) for day in (1, 2, 3)]),
    "timestamp": (
        "timestamp '2024-01-01 00:00:00.00000{}'",
        "timestamp",
        [dt.datetime(2024, 1, 1, 0, 0, 0, micro) for micro in (1, 2, 3)],
    ),
    "string": ("'s{}'", "string", ["s1", "s2", "s3"]),
    "bigint": ("{}L", "bigint", [1, 2, 3]),
}


def test_every_type_of_sequence_orders_events(project: Project) -> None:
    for name, (literal, _, _) in SEQUENCES.items():
        one, two, three = (literal.format(i) for i in (1, 2, 3))
        runs = [[f"(1, 'b', 'U', {two})", f"(1, '', 'D', {three})"], [f"(1, 'a', 'U', {one})"]]
        project.write({f"models/by_{name}.sql": model("id, v, op, seq", runs, **SCD2)})
    both = {**SCD2, "sequence_by": ["day", "Nr"], "except_column_list": ["op", "day", "Nr"]}
    runs = [["(1, 'b', 'U', 1, 2)", "(1, '', 'D', 2, 1)"], ["(1, 'a', 'U', 1, 1)"]]
    project.write({"models/by_two.sql": model("id, v, op, day, Nr", runs, **both)})
    expression = {**SCD2, "sequence_by": "cast(substr(seq, 2) as int) -- the number"}
    runs = [["(1, 'b', 'U', 'x9')", "(1, '', 'D', 'x11')"], ["(1, 'a', 'U', 'x2')"]]
    odd = {**SCD2, "sequence_by": "event time", "except_column_list": ["op", "event time"]}
    odd_runs = [["(1, 'b', 'U', 9)", "(1, '', 'D', 11)"], ["(1, 'a', 'U', 2)"]]
    project.write({"models/by_odd_name.sql": model("id, v, op, `event time`", odd_runs, **odd)})
    # Spark takes a statement that ends as such
    project.write({"models/by_expression.sql": model("id, v, op, seq", runs, **expression) + ";\n"})
    for run in (0, 1):
        project.dbt("run", "--vars", f"{{run: {run}}}")
    for name, (_, type_, (one, two, three)) in SEQUENCES.items():
        assert project.rows(f"select * from {{schema}}.by_{name} order by 3") == [
            (1, "a", one, two),
            (1, "b", two, three),
        ]
        assert project.columns(f"by_{name}")[2:] == [("__START_AT", type_), ("__END_AT", type_)]
    assert project.rows(
        "select id, v, __START_AT.day, __START_AT.Nr, __END_AT.day, __END_AT.nr from {schema}.by_two order by 3, 4"
    ) == [
        (1, "a", 1, 1, 1, 2),
        (1, "b", 1, 2, 2, 1),
    ]
    assert project.columns("by_two")[2] == ("__START_AT", "struct<day:int,Nr:int>")
    for name in ("by_expression", "by_odd_name"):
        assert project.rows(f"select * from {{schema}}.{name} order by 3") == [(1, "a", 2, 9), (1, "b", 9, 11)], name


def test_options_that_shape_the_rows(project: Project) -> None:
    ignore = [
        ["(1, 'a', 10, 'U', 1)", "(1, null, 20, 'U', 2)"],
        ["(1, 'z', null, 'D', 3)"],
        ["(1, null, 30, 'U', 4)"],
    ]
    sets = [
        ["(1, 'a', 10, 'U', 1, null)", "(1, 'lost', null, 'U', 2, array('N'))"],
        ["(1, null, 7, 'U', 3, array('v'))"],
    ]
    truncate = [
        ["(1, 'a', 'U', 1)", "(2, 'b', 'U', 5)", "(3, 'c', 'U', 2)", "(4, 'e', 'U', 3)"],
        ["(null, null, 'T', 3)", "(9, 'n', 'U', 9)"],
        ["(1, 'late', 'U', 2)", "(3, 'd', 'U', 4)"],
    ]
    track = [["(1, 'a', 1, 'U', 1)", "(1, 'a', 2, 'U', 2)", "(1, 'b', 3, 'U', 3)"], ["(1, 'b', 4, 'U', 4)"]]
    heed = [["(1, 'a', 10, 'U', 1)", "(1, null, null, 'U', 2)"], ["(1, 'b', null, 'U', 3)"]]
    same_time = ["(1, 'a', 'U', 1)", "(1, 'b', 'U', 1)"]
    nested = "(1, array(1, null), named_struct('x', 1, 'y', 'é'), {}, cast('NaN' as double), 'U', {})"
    map_one, map_two = "map('a', 1, 'b', 2)", "map('b', 2, 'a', 1)"
    nested_columns = "id, list, rec, props, ratio, op, seq"
    inside = "(1, array(1, {}), named_struct('x', array(1), 'y', {}), map('a', {}), 'U', {})"
    null = "cast(null as int)"
    insides = [
        [inside.format(null, null, null, 1), inside.format(null, null, 7, 4)],
        [inside.format(2, null, null, 2), inside.format(2, 5, null, 3), inside.format(null, null, 7, 5)],
    ]
    named = {**SCD2, "start_at_column": "valid from", "end_at_column": "valid`to"}
    resolve = {**SCD2, "on_conflict": "resolve"}
    cols = {"columns_to_update": "cols"}
    append = "on_schema_change='append_new_columns',"
    grown = "select 2 as id, 'b' as v, 5 as extra, 'U' as op, 2 as seq"
    respelled = "select 1 as id, 20 as amount, 'U' as op, 2 as seq"
    shrunk = "select 1 as id, 'b' as v, 5 as more, 'U' as op, 2 as seq"
    project.write(
        {
            "models/ignore1.sql": model("id, v, n, op, seq", ignore, ignore_null_updates=True, **FEED),
            "models/ignore2.sql": model("id, v, n, op, seq", ignore, ignore_null_updates_column_list=["V"], **SCD2),
            "models/heed2.sql": model("id, v, n, op, seq", heed, ignore_null_updates_except_column_list=["v"], **SCD2),
            "models/sets2.sql": model("id, v, n, op, seq, cols", sets, **cols, **SCD2),
            "models/truncate1.sql": model("id, v, op, seq", truncate, apply_as_truncates="op = 'T'", **FEED),
            "models/track2.sql": model("id, v, n, op, seq", track, track_history_column_list=["v"], **SCD2),
            "models/untrack2.sql": model("id, v, n, op, seq", track, track_history_except_column_list=["n"], **SCD2),
            "models/resolve_both.sql": model("id, v, op, seq", [same_time], **resolve),
            "models/resolve_ab.sql": model("id, v, op, seq", [same_time[:1], same_time[1:]], **resolve),
            "models/resolve_ba.sql": model("id, v, op, seq", [same_time[1:], same_time[:1]], **resolve),
            "models/nested2.sql": model(
                nested_columns, [[nested.format(map_one, 1), nested.format(map_two, 2)], [nested.format(map_two, 1)]], **SCD2
            ),
            "models/inside2.sql": model("id, list, rec, props, op, seq", insides, **SCD2),
            "models/named2.sql": model("`i d`, `group`, `Ünï.x`, op, seq", [["(1, 'a', 'b', 'U', 1)"], ["(1, 'c', 'b', 'U', 2)"]],
                                       unique_key="i d", **named),
            "models/listed1.sql": model("id, v, n, op, seq", track, column_list=["id", "n"],
                                        **{k: v for k, v in FEED.items() if k != "except_column_list"}),
            "models/keys_only1.sql": model("id, op, seq", [["(1, 'U', 1)", "(2, 'U', 1)"], ["(1, 'D', 2)"]], **FEED),
            # tombstones are purged in the run that brings the new column
            "models/grown1.sql": model("id, v, op, seq", [["(1, 'a', 'U', 1)"], grown], config=append,
                                       tombstone_retention="0 seconds", **FEED),
            "models/respelled1.sql": model("id, Amount, op, seq", [["(1, 10, 'U', 1)"], respelled], column_list=["id", "Amount"],
                                           tombstone_retention=None,
                                           **{k: v for k, v in FEED.items() if k != "except_column_list"}),
            "models/synced1.sql": model("id, v, op, seq", [["(1, 'a', 'U', 1)"], grown],
                                        config=append.replace("append_new", "sync_all"), **FEED),
            "models/shrunk1.sql": model("id, v, n, op, seq", [["(1, 'a', 3, 'U', 1)"], shrunk], **FEED),
            "models/void1.py": f"""
                def model(dbt, spark):
                    dbt.config(materialized="apply_changes", unique_key="id", meta={{"dbt_cdc": {FEED!r}}})
                    values = "1 as n, array(1) as list, date'2024-01-01' as day, 1 as seq"
                    nothing = "null as n, null as list, null as day, 2 as seq"
                    later = spark.catalog.tableExists(str(dbt.this))
                    return spark.sql("select 1 as id, null as v, 'U' as op, " + (nothing if later else values))
            """,
            "models/py2.py": f"""
                def model(dbt, spark):
                    dbt.config(materialized="apply_changes", unique_key="id", meta={{"dbt_cdc": {SCD2!r}}})
                    return spark.sql("select 1 as id, 'a' as v, 'U' as op, 10 as seq union all select 1, 'b', 'U', 5")
            """,
        }
    )  # fmt: skip
    for run in (0, 1):
        project.dbt("run", "--vars", f"{{run: {run}}}")
    project.dbt("run", "--vars", "{run: 2}", "--select", "ignore1", "ignore2", "truncate1")

    def rows(table: str) -> list[tuple[Any, ...]]:
        return project.rows(f"select * from {{schema}}.{table} order by 1")

    assert rows("ignore1") == [(1, None, 30)]
    assert project.rows("select * from {schema}.ignore2 order by __START_AT") == [
        (1, "a", 10, 1, 2),
        (1, "a", 20, 2, 3),
        (1, None, 30, 4, None),
    ]
    assert project.rows("select * from {schema}.sets2 order by __START_AT") == [
        (1, "a", 10, 1, 2),
        (1, "a", None, 2, 3),
        (1, None, None, 3, None),
    ]
    assert rows("truncate1") == [(2, "b"), (3, "d"), (9, "n")]
    assert project.rows("select * from {schema}.track2 order by __START_AT") == [
        (1, "a", 2, 1, 3),
        (1, "b", 4, 3, None),
    ]
    assert project.rows("select * from {schema}.untrack2 order by __START_AT") == [
        (1, "a", 2, 1, 3),
        (1, "b", 4, 3, None),
    ]
    assert project.rows("select * from {schema}.heed2 order by __START_AT") == [
        (1, "a", 10, 1, 2),
        (1, None, 10, 2, 3),
        (1, "b", 10, 3, None),
    ]
    assert rows("resolve_ab") == rows("resolve_ba") == rows("resolve_both")
    assert len(rows("resolve_ab")) == 1
    assert project.rows(
        "select id, list, rec.y, props['b'], isnan(ratio), __START_AT, __END_AT from {schema}.nested2"
    ) == [(1, [1, None], "é", 2, True, 1, None)]
    assert project.rows("select list, rec.y, props['a'], __START_AT, __END_AT from {schema}.inside2 order by 4") == [
        ([1, None], None, None, 1, 2),
        ([1, 2], None, None, 2, 3),
        ([1, 2], 5, None, 3, 4),
        ([1, None], None, 7, 4, None),
    ]
    assert project.rows("select * from {schema}.named2 order by 4") == [
        (1, "a", "b", 1, 2),
        (1, "c", "b", 2, None),
    ]
    assert [name for name, _ in project.columns("named2")] == [
        "i d",
        "group",
        "Ünï.x",
        "valid from",
        "valid`to",
    ]
    assert rows("listed1") == [(1, 4)]
    assert rows("keys_only1") == [(2,)]
    assert rows("respelled1") == [(1, 20)]
    assert project.columns("respelled1") == [("id", "int"), ("Amount", "int")]
    assert rows("grown1") == rows("synced1") == [(1, "a", None), (2, "b", 5)]
    assert project.columns("grown1") == [("id", "int"), ("v", "string"), ("extra", "int")]
    assert rows("shrunk1") == [(1, "b", None)]
    assert project.columns("shrunk1") == [("id", "int"), ("v", "string"), ("n", "int")]
    assert rows("void1") == [(1, None, None, None, None)]
    assert [type_ for _, type_ in project.columns("void1")] == ["int", "string", "int", "array<int>", "date"]
    assert project.rows("select * from {schema}.py2 order by __START_AT") == [
        (1, "b", 5, 10),
        (1, "a", 10, None),
    ]


def test_options_that_meet_each_other(project: Project) -> None:
    cols = {**FEED, "columns_to_update": "cols", "apply_as_truncates": "op = 'T'"}
    cols["except_column_list"] = ["op", "seq", "cols"]
    together = [
        [
            "(1, 'a', 1, 'U', 3, null)",
            "(2, 'x', 9, 'U', 1, null)",
            "(null, null, null, 'T', 2, null)",
            "(1, null, null, 'U', 4, array('v', 'n'))",
        ],
        ["(1, 'b', 7, 'U', 5, array('v'))", "(2, 'late', 8, 'U', 2, null)", "(3, 'z', 3, 'U', 3, array('n'))"],
    ]
    images = [["(1, 'a', 1, 'x', 1)", "(2, 'b', 1, 'x', 1)"], ["(1, 'a', 2, 'y', 2)", "(3, 'c', 1, 'y', 2)"]]
    text = "'it\\'s \\\\ \"q\" `b`'"
    key = "1.50, date'2024-01-01', timestamp'2024-01-01 00:00:00.000001', double('NaN'), true, X'00FF'"
    key += ", array(1, null), struct('a' as x, array(2) as y), {}"
    key_columns = ["price", "day", "at", "ratio", "flag", "bytes", "list", "rec", "text"]
    keys = [
        [f"({key.format(text)}, 'a', 'U', 2)", f"({key.format(repr(''))}, 'b', 'U', 2)"],
        [f"({key.format(text)}, 'x', 'U', 1)", f"({key.format(repr(''))}, null, 'D', 3)"],
    ]
    odd_images = [
        "select * from values (1, 'a', 1), (2, 'b', 1) as t(id, number, ver)",
        "select * from values (1, 'a', 7, 2) as t(id, number, later, ver)",
    ]
    drifting = [["(1, 1.5, 'U', 1)"], ["(1, 1.50, 'U', 1)", "(2, 2.50, 'U', 1)"]]
    inside = (
        "select {} as id, array({}) as list, named_struct('a b', {}, 'e.f', map('x', {})) as rec, 'U' as op, 1 as seq"
    )
    # numbers within are narrower in later batches, an event given again is the same
    narrower = [
        inside.format(1, "1.0D", "1.250", "1L"),
        inside.format(1, 1, 1.25, 1) + " union all " + inside.format(2, 2, 2.25, 2),
    ]
    wide = ", ".join(f"'f {n}', {n}" for n in range(30))
    widened = [
        ["(1, 'U', 1)"],
        f"select 1 as id, named_struct({wide}) as rec, map('a b', 1) as props, 'U' as op, 2 as seq",
    ]
    respelled = [
        "select * from values (1, 'a', 'U', 1) as t(Id, V, op, seq)",
        "select * from values ('b', 1, 'U', 2) as t(v, ID, op, seq)",
    ]
    project.write(
        {
            # words that Spark hides the properties of
            "models/secret2.sql": model(
                "url, access_token, op, seq",
                [["('x', 'a', 'U', 1)"], ["('x', 'b', 'U', 2)"]],
                unique_key="url", track_history_column_list=["access_token"], **SCD2
            ),
            "models/dollar2.sql": model(
                "id, v, op, seq", [["('$\\{x}', 'a', 'U', 1)"], ["('$\\{x}', 'b', 'U', 2)"]], **SCD2
            ),
            "models/odd_images1.sql": model(
                "", odd_images, config="on_schema_change='append_new_columns',",
                sequence_by="ver", source_kind="snapshot", except_column_list=["ver"],
            ),
            "models/drifting1.sql": model("id, price, op, seq", drifting, **FEED),
            "models/narrower2.sql": model("", narrower, change_log="data_before", **SCD2),
            "models/widened1.sql": model(
                "id, op, seq", widened, config="on_schema_change='append_new_columns',", **FEED
            ),
            "models/respelled2.sql": model("", respelled, **SCD2, start_at_column="valid from"),
            **{
                f"models/respelled_{rule.split('_')[0]}1.sql": model(
                    "", respelled, config=f"on_schema_change='{rule}',", **FEED
                )
                for rule in ("append_new_columns", "fail")
            },
            "models/together1.sql": model(
                "id, v, n, op, seq, cols", together, ignore_null_updates_column_list=["v"], **cols
            ),
            "models/image2.sql": model(
                "id, v, n, part, ver",
                images,
                config="partition_by='part',",
                sequence_by="ver",
                source_kind="snapshot",
                stored_as_scd_type="2",  # as a var gives it
                track_history_column_list=["v"],
                max_delete_fraction=0.5,
                except_column_list=["ver"],
            ),
            "models/keys2.sql": model(
                ", ".join([*key_columns, "v", "op", "seq"]), keys, unique_key=key_columns, **SCD2
            ),
        }
    )  # fmt: skip
    for run in (0, 1):
        project.dbt("run", "--vars", f"{{run: {run}}}")
    assert project.rows("select * from {schema}.secret2 order by 3") == [("x", "a", 1, 2), ("x", "b", 2, None)]
    assert project.rows("select * from {schema}.dollar2 order by 3") == [("${x}", "a", 1, 2), ("${x}", "b", 2, None)]
    assert project.rows("select * from {schema}.odd_images1") == [(1, "a", 7)]
    assert project.rows("select * from {schema}.drifting1 order by 1") == [(1, Decimal("1.5")), (2, Decimal("2.5"))]
    assert project.rows(
        "select id, list, rec.`a b`, rec.`e.f`['x'], __START_AT, __END_AT from {schema}.narrower2 order by 1"
    ) == [
        (1, [1.0], Decimal("1.250"), 1, 1, None),
        (2, [2.0], Decimal("2.250"), 2, 1, None),
    ]
    assert project.rows("select op, key.id from {schema}.narrower2__changes order by 2") == [("i", 1), ("i", 2)]
    assert project.rows("select id, rec.`f 0`, rec.`f 29`, props from {schema}.widened1") == [(1, 0, 29, {"a b": 1})]
    assert project.rows("select Id, V, `valid from` from {schema}.respelled2 order by 3") == [(1, "a", 1), (1, "b", 2)]
    for rule in ("append", "fail"):
        assert project.rows(f"select * from {{schema}}.respelled_{rule}1") == [(1, "b")]
        assert project.columns(f"respelled_{rule}1") == [("Id", "int"), ("V", "string")]
    assert project.rows("select * from {schema}.together1 order by 1") == [(1, "b", None), (3, None, 3)]
    assert project.rows("select * from {schema}.image2 order by 1") == [
        (1, "a", 2, "y", 1, None),
        (2, "b", 1, "x", 1, 2),
        (3, "c", 1, "y", 2, None),
    ]
    assert project.rows("select text, v, __START_AT, __END_AT from {schema}.keys2 order by 1, 3") == [
        ("", "b", 2, 3),
        ('it\'s \\ "q" `b`', "x", 1, 2),
        ('it\'s \\ "q" `b`', "a", 2, None),
    ]
    moment = dt.datetime(2024, 1, 1, 0, 0, 0, 1)
    others = "select distinct price, day, at, isnan(ratio), flag, bytes, list, rec.x, rec.y from {schema}.keys2"
    assert project.rows(others) == [
        (Decimal("1.50"), dt.date(2024, 1, 1), moment, True, True, bytearray(b"\x00\xff"), [1, None], "a", [2])
    ]


def test_text_is_read_in_the_types_of_the_table_however_it_is_spelled(project: Project) -> None:
    project.write(
        {
            "models/spelled.sql": """
                {{ config(materialized='apply_changes', unique_key='id', meta={'dbt_cdc': {'sequence_by': 'seq'}}) }}
                {% if var('run') == 0 %}
                select 1 as id, 1.50BD as price, cast(7 as decimal(38,2)) as wide, true as flag, 1L as seq
                {% else %}
                select * from values ('01', '.5', '1.25E1', 'FALSE', 2L), ('2', '1e0', '-0E-9', null, 1L) as
                t(id, price, wide, flag, seq)
                {% endif %}
            """,
        }
    )
    project.dbt("run", "--vars", "{run: 0}")
    project.dbt("run", "--vars", "{run: 1}")
    assert project.rows("select id, price, wide, flag from {schema}.spelled order by id") == [
        (1, Decimal("0.50"), Decimal("12.50"), False),
        (2, Decimal("1.00"), Decimal("0.00"), None),
    ]
    assert [type_ for _, type_ in project.columns("spelled")][:4] == ["int", "decimal(3,2)", "decimal(38,2)", "boolean"]


def test_a_bitemporal_table_says_from_when_to_when_each_version_was_known(project: Project) -> None:
    runs = [
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
    columns = "id, v, op, seq, known"
    both = {**FEED, "stored_as_scd_type": "bitemporal", "except_column_list": ["op", "seq", "known"]}
    named = {"system_start_at_column": "known from", "system_end_at_column": "known to"}
    more = [
        ["(1, 'a', 1, map('a', 1), 'U', 1, 1, 1, cast(null as array<string>))"],
        ["(1, 'b', 2, map('a', 1), 'U', 1, 2, 0, array('v'))", "(1, 'c', 3, map('b', 2), 'U', 5, 1, 2, null)"],
    ]
    project.write(
        {
            "models/known.sql": model(
                columns,
                runs,
                **both,
                system_sequence_by="known",
                change_log="data_before_after",
                max_delete_fraction=0.9,
            ),
            # odd names, nested values; a correction that sets one column replaces its event whole
            "models/known_more.sql": model(
                "`i d`, v, n, props, op, seq, `log file`, pos, cols",
                more,
                unique_key="i d",
                sequence_by="seq",
                stored_as_scd_type="bitemporal",
                system_sequence_by=["log file", "pos"],
                columns_to_update="cols",
                column_list=["v", "n", "props"],
                start_at_column="valid from",
                end_at_column="valid to",
            ),
            "models/known_py.py": f"""
                def model(dbt, spark):
                    dbt.config(materialized="apply_changes", unique_key="id",
                               meta={{"dbt_cdc": {dict(both, system_sequence_by="known")!r}}})
                    return spark.sql("select 1 as id, 'a' as v, 'U' as op, 1 as seq, 10 as known union all "
                                     "select 1, 'b', 'U', 1, 12")
            """,
            "models/known_at_once.sql": model(
                columns,
                [[row for run in runs for row in run]],
                **both,
                **named,
                system_sequence_by="timestamp_seconds(known)",
            ),
        }
    )

    def rows() -> list[tuple[Any, ...]]:
        return project.rows("select * from {schema}.known order by id, __START_AT, __SYSTEM_START_AT")

    known_2, known_3 = [(2, "x", 1, None, 10, 11), (2, "x", 1, 4, 11, None)], (3, "z", 1, None, 10, None)
    first = [
        (1, "a", 1, None, 10, 11),
        (1, "a", 1, 5, 11, None),
        (1, "b", 5, None, 11, None),
        *known_2,
        known_3,
    ]
    project.dbt("run", "--vars", "{run: 0}")
    assert rows() == first
    assert project.columns("known")[2:] == [
        (name, "int") for name in ("__START_AT", "__END_AT", "__SYSTEM_START_AT", "__SYSTEM_END_AT")
    ]
    project.dbt("run", "--vars", "{run: 1}")
    assert rows() == [
        (1, "a", 1, None, 10, 11),
        (1, "a", 1, 5, 11, 12),
        (1, "A", 1, 5, 12, None),
        (1, "b", 5, None, 11, 13),
        (1, "b", 5, 8, 13, None),
        *known_2,
        (2, "y", 4, None, 14, None),
        known_3,
    ]
    written = next((project.folder / "target" / "run").rglob("known.sql")).read_text()
    for step in ("recorded as (", "known as (", "steps as (", "spans as (", "versions as (", "merge into"):
        assert f"\n{step}" in written, written
    for _ in ("the last batch", "and again"):
        project.dbt("run", "--vars", "{run: 2}")
        assert rows() == [
            (1, "a", 1, None, 10, 11),
            (1, "a", 1, 3, 11, 12),
            (1, "A", 1, 3, 12, None),
            (1, "m", 3, 5, 11, None),
            (1, "b", 5, None, 11, 13),
            (1, "b", 5, 8, 13, None),
            *known_2,
            (2, "y", 4, None, 14, None),
            known_3,
        ]
    assert project.rows("select * from {schema}.known_py order by 5") == [
        (1, "a", 1, None, 10, 12),
        (1, "b", 1, None, 12, None),
    ]
    moments = "__SYSTEM_START_AT.`log file`, __SYSTEM_START_AT.pos, __SYSTEM_END_AT.`log file`, __SYSTEM_END_AT.pos"
    assert project.rows(
        f"select * except (__SYSTEM_START_AT, __SYSTEM_END_AT), {moments} from {{schema}}.known_more order by 5, 7, 8"
    ) == [
        (1, "a", 1, {"a": 1}, 1, None, 1, 1, 1, 2),
        (1, "a", 1, {"a": 1}, 1, 5, 1, 2, 2, 0),
        (1, "b", None, None, 1, 5, 2, 0, None, None),
        (1, "c", 3, {"b": 2}, 5, None, 1, 2, None, None),
    ]
    seconds = "unix_timestamp(`known from`), unix_timestamp(`known to`)"
    ordered = f"select id, v, __START_AT, __END_AT, {seconds} from {{schema}}.known_at_once order by 1, 3, 5"
    assert project.rows(ordered) == rows()
    assert project.columns("known_at_once")[4:] == [("known from", "timestamp"), ("known to", "timestamp")]
    changes = "select count(*), count_if(op = 'i'), count_if(op = 'u') from {schema}.known__changes"
    # 6 rows; 3 more and 2 closed; 1 more and 2 that end earlier
    assert project.rows(changes) == [(14, 10, 4)]
    project.dbt("run-operation", "purge_tombstones", "--args", "{retention: 0 seconds}", "--vars", "{run: 2}")
    assert "known: nothing purged, a bitemporal table forgets nothing" in project.log()
    assert project.rows("select count(*) from {schema}.known__events where _dbt_cdc_kind = 'delete'") == [(2,)]
    project.dbt("run", "--empty", "--vars", "{run: 1}", "--select", "known")
    assert len(rows()) == 10
    project.dbt("run", "--full-refresh", "--vars", "{run: 0}", "--select", "known")
    assert rows() == first


@pytest.mark.one_format("iceberg")
def test_a_field_that_is_called_void_is_no_column_without_a_type(project: Project) -> None:
    options = {"sequence_by": "seq", "except_column_list": ["seq"]}
    project.write(
        {
            "models/flagged.sql": "{{ config(materialized='apply_changes', unique_key='id', meta={'dbt_cdc': "
            + f"{options}}}) }}}} select 1 as id, named_struct('void', true) as flags, null as later, 1 as seq"
        }
    )
    project.dbt("run")
    assert project.rows("select id, flags.void, later from {schema}.flagged") == [(1, True, None)]
    assert dict(project.columns("flagged")) == {"id": "int", "flags": "struct<void:boolean>", "later": "string"}


@pytest.mark.one_format("iceberg")
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
            )
        }
    )
    project.dbt("run", "--vars", "{run: 0}")
    project.dbt("run", "--vars", "{run: 1}")
    assert project.rows("select * from {schema}.marked") == [(1, "b")]
    assert project.rows(
        "select _dbt_cdc_sequence, v from {schema}.marked__events where _dbt_cdc_kind = 'upsert' order by 1"
    ) == [
        (1, "a"),
        (2, "b"),
        (3, None),
    ]

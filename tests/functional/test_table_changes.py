"""table_changes gives one row per key and commit, whatever the format keeps."""

from __future__ import annotations

import datetime
import json
import re
import time
from pathlib import Path

import pytest

from tests.support.changes import (
    EVERY_CHANGE,
    FEED_ON,
    HISTORY,
    LATEST_STATE,
    MERGE_ON_READ,
    NET,
    NET_OF_PAIRS,
    PAIRS,
    Changes,
)
from tests.support.project import Project
from tests.support.statements import watch


def test_the_same_writes_give_the_same_rows_in_each_format_of_answer(changes: Changes) -> None:
    tables = {"copied": "", "noted": MERGE_ON_READ[changes.format]}
    for table, properties in tables.items():
        changes.create(table, "id int, v string", properties=properties)
        changes.write(table, *HISTORY[:4])
        begin = changes.versions(table)[-1]
        changes.write(table, HISTORY[4])
        end = changes.versions(table)[-1]
        changes.write(table, *HISTORY[5:])
        call = f"'{{schema}}.{table}'"
        changes.ask(
            **{
                f"{table}_cdc": call + ", unique_key='id'",
                f"{table}_latest": call + ", unique_key=['id'], format='latest_state'",
                f"{table}_net": call + ", unique_key='ID', format='net'",
                f"{table}_no_key": call,
                f"{table}_overwrite": call + f", unique_key='id', begin={begin}, end={end}",
            }
        )
    changes.create("copies", "id int, v string")
    changes.write(
        "copies",
        "insert into {t} values (1, 'a'), (1, 'a'), (1, 'a')",
        "insert overwrite {t} values (1, 'a'), (2, 'b'), (2, 'b')",
    )
    if changes.format != "hudi":  # keeps its key itself
        changes.ask(copies_no_key="'{schema}.copies'")
    changes.project.dbt("run")

    if changes.format != "hudi":
        copies = [*[("d", (1, "a"), None)] * 2, *[("i", None, (1, "a"))] * 3, *[("i", None, (2, "b"))] * 2]
        assert sorted(changes.answer("copies_no_key", "copies"), key=str) == copies
    for table in tables:
        assert changes.answer(f"{table}_overwrite", table) == [("i", None, (4, "g")), ("u", (3, None), (3, "f"))]
        assert changes.answer(f"{table}_cdc", table) == EVERY_CHANGE
        assert changes.answer(f"{table}_latest", table) == LATEST_STATE
        assert changes.answer(f"{table}_net", table) == NET
        without_key = [
            (op, before, after)
            for change, old, new in EVERY_CHANGE
            for op, before, after in ([("d", old, None), ("i", None, new)] if change == "u" else [(change, old, new)])
        ]
        if changes.format == "hudi":  # keeps its key itself
            without_key = EVERY_CHANGE
        assert sorted(changes.answer(f"{table}_no_key", table), key=str) == sorted(without_key, key=str)
        moments = dict(changes.commits(table))
        rows = changes.rows(f"{table}_cdc", table)
        assert [row["ts"] for row in rows] == [moments[row["version"]] for row in rows]
        assert {row["source"] for row in rows} == {f"{changes.project.schema}.{table}"}
        assert changes.project.columns(f"{table}_cdc") == [
            ("op", "string"),
            ("ts", "timestamp"),
            ("version", "string"),
            ("source", "string"),
            ("before", "struct<id:int,v:string>"),
            ("after", "struct<id:int,v:string>"),
        ]


@pytest.mark.one_format("iceberg", "hudi")
def test_net_tells_every_pair_of_first_and_last_operation(changes: Changes) -> None:
    before_last: dict[str, list[str]] = {}
    for table, properties in (("pairs", ""), ("noted_pairs", MERGE_ON_READ[changes.format])):
        changes.create(table, "id int, v string", properties=properties)
        changes.write(table, PAIRS[0])
        begin = changes.versions(table)[-1]
        changes.write(table, *PAIRS[1:-1])
        before_last[table] = changes.versions(table)
        changes.write(table, PAIRS[-1])
        changes.ask(**{f"net_of_{table}": f"'{{schema}}.{table}', unique_key='id', begin={begin}, format='net'"})
    changes.project.dbt("run")

    for table in ("pairs", "noted_pairs"):
        net = changes.rows(f"net_of_{table}", table)
        moments = dict(changes.commits(table))
        assert sorted(changes.answer(f"net_of_{table}", table), key=str) == sorted(NET_OF_PAIRS, key=str)
        known = before_last[table]
        last = changes.versions(table)[len(known)]  # Hudi may compact after it
        versions = {(row["after"] or row["before"])["id"]: row["version"] for row in net}
        assert versions == {**dict.fromkeys((1, 2, 4, 6, 7, 8, 9), known[-1]), 5: last}
        assert all(row["ts"] == moments[row["version"]] for row in net)


@pytest.mark.only_format("iceberg")
def test_delete_files_that_are_gone_and_stay_listed_by_appends_of_a_stream_stop_no_answer(
    changes: Changes, tmp_path: Path
) -> None:
    project, asked = changes.project, {}
    for table in ("listed", "expired"):
        changes.create(table, "id int, v string", properties="'format-version' = '3', " + MERGE_ON_READ["iceberg"])
        changes.create(f"{table}_feed", "id int, v string")
        changes.write(table, "insert into {t} values (1, 'a'), (2, 'b')", "delete from {t} where id = 1", "{compact}")
        for row in ("(3, 'c')", "(4, 'd')"):
            changes.write(f"{table}_feed", f"insert into {{t}} values {row}")
            stream = project.spark.readStream.table(f"{project.schema}.{table}_feed").writeStream.format("iceberg")
            stream = stream.option("checkpointLocation", str(tmp_path / table)).trigger(availableNow=True)
            stream.toTable(f"{project.schema}.{table}").awaitTermination()
        *_, compacted, first, _ = changes.versions(table)
        begin = {"listed": compacted, "expired": first}[table]
        asked[f"of_{table}"] = f"'{{schema}}.{table}', unique_key='id', begin={begin}"
    now = "older_than => timestamp '2999-01-01', retain_last => 2"
    project.sql(f"call spark_catalog.system.expire_snapshots(table => '{{schema}}.expired', {now})")
    changes.ask(**asked)
    project.dbt("run")
    assert changes.answer("of_listed", "listed") == [("i", None, (3, "c")), ("i", None, (4, "d"))]
    assert changes.answer("of_expired", "expired") == [("i", None, (4, "d"))]


def test_composite_keys_nulls_nested_types_and_odd_names_are_told_apart(changes: Changes) -> None:
    mapping = "'delta.columnMapping.mode' = 'name'" if changes.format == "delta" else ""
    columns = (
        "`a b` string, n int, s struct<x: int, y: array<string>>, m map<string, int>, `t` timestamp, d decimal(9,2)"
    )
    changes.create("odd", columns, properties=mapping)
    row = "('{k}', {n}, named_struct('x', {x}, 'y', array('p', {y})), map({m}), timestamp '{t}', {d})"
    plain = {
        "k": "k",
        "n": "1",
        "x": "1",
        "y": "null",
        "m": "'a', 1, 'b', 2",
        "t": "2024-01-01 00:00:00.000001",
        "d": "1.10",
    }

    def put(**changed: str) -> str:
        return "insert overwrite {t} values " + row.format(**{**plain, **changed})

    changes.write(
        "odd",
        put(),
        put(m="'b', 2, 'a', 1"),
        put(x="null"),
        put(x="null", y="'q'"),
        put(x="null", y="'q'", m="'a', 1, 'b', cast(null as int)"),
        put(x="null", y="'q'", m="'a', 1, 'b', cast(null as int)", t="2024-01-01 00:00:00.000002", d="1.10"),
        put(n="cast(null as int)"),
        put(n="cast(null as int)", d="null"),
    )
    changes.ask(odd_cdc="'{schema}.odd', unique_key=['a b', 'n']")
    if changes.format == "delta":
        changes.create(
            "bare", "`a b` string, n int, s struct<x: int, y: array<string>>", feed=False, properties=mapping
        )
        changes.write(
            "bare",
            "insert into {t} values ('k', 1, named_struct('x', 1, 'y', array('p', null))), ('k', null, null),"
            " (null, 1, named_struct('x', null, 'y', null)), (null, null, null), ('gone', 1, null)",
            "alter table {t} add columns (m map<string, int>)",
            "insert overwrite {t} values ('k', 1, named_struct('x', 1, 'y', array('p', null)), null),"
            " ('k', null, named_struct('x', null, 'y', null), null), (null, 1, null, map('a', 1)), (null, null, null, null),"
            " ('new', null, null, map('a', null))",
        )
        changes.ask(bare_net="'{schema}.bare', unique_key=['a b', 'n'], begin=1")
    changes.project.configure(models={"consumer": {"+tblproperties": {"delta.columnMapping.mode": "name"}}})
    changes.project.dbt("run")

    if changes.format == "delta":
        empty = {"x": None, "y": None}
        assert changes.answer("bare_net", "bare") == [
            ("d", ("gone", 1, None, None), None),
            ("i", None, ("new", None, None, {"a": None})),
            ("u", ("k", None, None, None), ("k", None, empty, None)),
            ("u", (None, 1, empty, None), (None, 1, None, {"a": 1})),
        ]
    first, later = datetime.datetime(2024, 1, 1, 0, 0, 0, 1), datetime.datetime(2024, 1, 1, 0, 0, 0, 2)
    images = [
        ("k", 1, {"x": 1, "y": ["p", None]}, {"a": 1, "b": 2}, first, "1.10"),
        ("k", 1, {"x": None, "y": ["p", None]}, {"a": 1, "b": 2}, first, "1.10"),
        ("k", 1, {"x": None, "y": ["p", "q"]}, {"a": 1, "b": 2}, first, "1.10"),
        ("k", 1, {"x": None, "y": ["p", "q"]}, {"a": 1, "b": None}, first, "1.10"),
        ("k", 1, {"x": None, "y": ["p", "q"]}, {"a": 1, "b": None}, later, "1.10"),
        ("k", None, {"x": 1, "y": ["p", None]}, {"a": 1, "b": 2}, first, "1.10"),
        ("k", None, {"x": 1, "y": ["p", None]}, {"a": 1, "b": 2}, first, "None"),
    ]
    answer = changes.answer("odd_cdc", "odd")
    told = [(op, *[image and (*image[:5], str(image[5])) for image in pair]) for op, *pair in answer]
    assert told == [
        ("i", None, images[0]),
        ("u", images[0], images[1]),
        ("u", images[1], images[2]),
        ("u", images[2], images[3]),
        ("u", images[3], images[4]),
        ("d", images[4], None),
        ("i", None, images[5]),
        ("u", images[5], images[6]),
    ]


def test_images_have_the_columns_of_the_table_as_it_is(changes: Changes) -> None:
    changes.create("grown", "id int, v string")
    changes.write("grown", "insert into {t} values (1, 'a')", "update {t} set v = 'b'")
    middle = changes.versions("grown")[-1]
    changes.write("grown", "alter table {t} add column n int", "update {t} set n = 7")
    mapping = "'delta.columnMapping.mode' = 'name'" if changes.format == "delta" else ""
    changes.create("shrunk", "id int, n int, v string", properties=mapping)
    changes.write("shrunk", "insert into {t} values (1, 5, 'a')", "update {t} set v = 'b'", "update {t} set n = 6")
    changes.write("shrunk", "alter table {t} drop column n", "update {t} set v = 'c'")
    # Spark's texts of these types can't be read back: names to be quoted, more than 25 fields
    wide = "named_struct('a b', {0}, " + ", ".join(f"'f{field}', {field}" for field in range(30)) + ")"
    fields = ", ".join(["`a b`: int", *(f"f{field}: int" for field in range(30))])
    for table, fed in {"wide": True, "wide_unfed": False}.items():
        changes.create(table, f"id int, w struct<{fields}>", feed=fed, properties=mapping)
        changes.write(
            table, f"insert into {{t}} values (1, {wide.format(1)})", f"update {{t}} set w = {wide.format(2)}"
        )
        old = changes.versions(table)[-1]
        changes.write(
            table, f"alter table {{t}} add column x struct<{fields}>", f"update {{t}} set x = {wide.format(3)}"
        )
        changes.ask(
            **{
                f"{table}_all": f"'{{schema}}.{table}', unique_key='id'",
                f"{table}_old": f"'{{schema}}.{table}', unique_key='id', end='{old}'",
            }
        )
    widening = "'delta.enableTypeWidening' = 'true'" if changes.format == "delta" else ""
    changes.create("widened", "id int, n int", properties=widening)
    changes.write("widened", "insert into {t} values (1, 5)", "alter table {t} alter column n type bigint")
    changes.write("widened", "update {t} set n = 5000000000")
    changes.ask(widened_all="'{schema}.widened', unique_key='id'")
    if changes.format == "delta":
        evolving = (
            "merge with schema evolution into {t} as t using (select 1 as id, 5000000000 as n) as s on t.id = s.id"
        )
        off = "alter table {t} set tblproperties ('delta.enableTypeWidening' = 'false')"
        for table, last in {"widened_by_write": [], "widened_once": [off]}.items():
            changes.create(table, "id int, n int", properties=widening.replace("true", "True"))
            changes.write(table, "insert into {t} values (1, 5)", f"{evolving} when matched then update set *", *last)
            changes.ask(**{f"{table}_all": f"'{{schema}}.{table}', unique_key='id'"})
    # a struct, called as its table is, that has gained fields, where old versions are read as they were
    old_rows = MERGE_ON_READ["iceberg"] if changes.format == "iceberg" else ""
    changes.create("nested", "id int, nested struct<x: int, y: struct<a: int>>", feed=False, properties=old_rows)
    changes.write("nested", "insert into {t} values (1, named_struct('x', 1, 'y', named_struct('a', 2))), (2, null)")
    inserts = changes.versions("nested")[-1]
    changes.write("nested", "alter table {t} add columns (nested.y.b int, nested.z array<string>)")
    grown = "named_struct('x', 1, 'y', named_struct('a', 2, 'b', 3), 'z', array('q'))"
    changes.write("nested", f"update {{t}} set nested = {grown} where id = 1")
    changes.ask(nested_new=f"'{{schema}}.nested', unique_key='id', begin={inserts}")
    if changes.format == "delta":
        anew = "create or replace table {t} using delta tblproperties (delta.enableChangeDataFeed = true)"
        changes.create("remade", "id int, n int, v string")
        changes.write("remade", "insert into {t} values (1, 5, 'a')")
        changes.write("remade", anew + " as select 1L as id, 'b' as v")
        changes.write("remade", "insert into {t} values (2, 'c')")
        for name, scope in {"all": "", "old": ", end=1", "in": ", begin=1, end=2", "new": ", begin=2"}.items():
            changes.ask(**{f"remade_{name}": "'{schema}.remade', unique_key='id'" + scope})
    changes.ask(
        shrunk_all="'{schema}.shrunk', unique_key='id'",
        grown_all="'{schema}.grown', unique_key='id'",
        grown_old=f"'{{schema}}.grown', end='{middle}', unique_key='id'",
    )
    joined = (
        "{{{{ config(materialized='table') }}}}"
        "{{% set grown = dbt_cdc.table_changes('{}.grown', unique_key='id') %}}"
        "select a.op from {{{{ grown }}}} a join {{{{ grown }}}} b on a.version = b.version where a.after.id = 1"
    )
    changes.project.write({"models/grown_joined.sql": joined.format(changes.project.schema)})
    both = (
        "{{{{ config(materialized='table') }}}}"
        "select 'old' as part, op from {{{{ dbt_cdc.table_changes('{0}.grown', end='{1}', unique_key='id') }}}} "
        "union all select 'new', op from {{{{ dbt_cdc.table_changes('{0}.grown', begin='{1}', unique_key='id') }}}}"
    )
    changes.project.write({"models/grown_both.sql": both.format(changes.project.schema, middle)})
    changes.project.configure(models={"consumer": {"+tblproperties": {"delta.columnMapping.mode": "name"}}})
    changes.project.dbt("run")

    first_two = [("i", None, (1, "a", None)), ("u", (1, "a", None), (1, "b", None))]
    assert changes.answer("grown_all", "grown") == [*first_two, ("u", (1, "b", None), (1, "b", 7))]
    assert changes.answer("grown_old", "grown") == first_two
    dropped = [("i", None, (1, "a")), ("u", (1, "a"), (1, "b")), ("u", (1, "b"), (1, "c"))]
    assert changes.answer("shrunk_all", "shrunk") == dropped
    first, second, third = ({"a b": value, **{f"f{field}": field for field in range(30)}} for value in (1, 2, 3))
    inserted, updated = ("i", None, (1, first, None)), ("u", (1, first, None), (1, second, None))
    grown = ("u", (1, second, None), (1, second, third))
    assert changes.answer("wide_all", "wide") == [inserted, updated, grown]
    assert changes.answer("wide_old", "wide") == [inserted, updated]
    wide_number = 5_000_000_000
    assert changes.answer("widened_all", "widened") == [("i", None, (1, 5)), ("u", (1, 5), (1, wide_number))]
    widened = [{"x": 1, "y": {"a": 2, "b": b}, "z": z} for b, z in ((None, None), (3, ["q"]))]
    assert changes.answer("nested_new", "nested") == [("u", (1, widened[0]), (1, widened[1]))]
    if changes.format == "delta":
        for table in ("widened_by_write", "widened_once"):
            assert changes.answer(f"{table}_all", table) == changes.answer("widened_all", "widened")
        assert changes.answer("wide_unfed_all", "wide_unfed") == [("i", None, (1, second, third))]
        assert changes.answer("wide_unfed_old", "wide_unfed") == [("i", None, (1, second, None))]
        remade = [("i", None, (1, "a")), ("u", (1, "a"), (1, "b")), ("i", None, (2, "c"))]
        assert changes.answer("remade_all", "remade") == remade
        assert changes.answer("remade_old", "remade") == remade[:1]
        assert changes.answer("remade_in", "remade") == remade[1:2]
        assert changes.answer("remade_new", "remade") == remade[2:]
    parts = changes.project.rows("select part, op from {schema}.grown_both order by part, op")
    assert parts == [("new", "u"), ("old", "i"), ("old", "u")]
    assert sorted(changes.project.rows("select op from {schema}.grown_joined")) == [("i",), ("u",), ("u",)]


def test_without_a_feed_two_versions_are_compared_by_key(changes: Changes) -> None:
    if changes.format == "iceberg":
        pytest.skip("Iceberg's changelog is never off")
    changes.create("plain", "id int, v string", feed=False)
    changes.write("plain", *HISTORY)
    commits = changes.commits("plain")
    changes.ask(
        plain_all="'{schema}.plain', unique_key='id'",
        plain_part="'{schema}.plain', begin=1, end=5, unique_key='id', format='net'",
        plain_latest=f"'{{schema}}.plain', begin='{commits[1][1]}', end='{commits[5][1]}', unique_key='id',"
        " format='latest_state'",
    )
    changes.project.dbt("run")

    last = commits[-1]
    compared = f"plain_part: {changes.project.schema}.plain has no change feed: one change per key tells its 4 commits"
    assert compared in changes.project.log()
    assert changes.answer("plain_all", "plain") == NET
    assert {(row["version"], row["ts"]) for row in changes.rows("plain_all", "plain")} == {last}
    assert changes.answer("plain_part", "plain") == [
        ("d", (2, "b"), None),
        ("i", None, (3, "f")),
        ("i", None, (4, "g")),
        ("u", (1, "a"), (1, "d")),
    ]
    assert changes.answer("plain_latest", "plain") == changes.answer("plain_part", "plain")
    if changes.format == "delta":  # columns that are as they were are not spelled out for each version
        assert changes.project.written("plain_part").count("select struct(held.*) as image") == 2

    changes.ask(no_key="'{schema}.plain'", beyond="'{schema}.plain', unique_key='id', begin=1, end='2999-01-01'")
    message = changes.project.error("run", "--select", "no_key", "beyond")
    assert "needs the key, got no unique_key" in message
    assert f"goes beyond the last commit, expected one up to version {last[0]} (" in message


@pytest.mark.one_format("iceberg", "hudi")
def test_python_models_get_the_rows_and_the_errors_of_sql_models(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes.create("kept", "id int, v string")
    changes.write("kept", "insert into {t} values (1, 'a'), (2, 'b')", "update {t} set v = 'c' where id = 1")
    version, moment = changes.commits("kept")[-1]
    body = """
        import datetime
        import dbt_cdc

        def model(dbt, spark):
            dbt.config(materialized="table")
            {upstream}
            return dbt_cdc.table_changes(dbt, spark, {call})
    """
    upstream = 'dbt.source("given", "kept")'
    catalog = "" if changes.format == "hudi" else "spark_catalog."  # Hudi's procedures take no catalog
    calls = {
        "python_all": "'given', 'kept', unique_key='id'",
        "python_net": f"name='{changes.project.schema}.kept', unique_key=['id'], format='net', end='{version}'",
        "python_in_a_catalog": f"'{catalog}{changes.project.schema}.kept', unique_key='id'",
        "python_none": f"'given', 'kept', unique_key='id', begin=datetime.datetime.fromisoformat('{moment}')",
    }
    changes.project.write(
        {f"models/{name}.py": body.format(upstream=upstream, call=call) for name, call in calls.items()}
    )
    changes.project.write(
        {
            "models/python_wrong.py": body.format(upstream=upstream, call="'given', 'kept', unique_key='idd'"),
            "models/python_lost.py": body.format(upstream="", call="'given', 'kept'"),
            "models/python_v.py": body.format(upstream="", call=f"'{changes.project.schema}.kept', v=2"),
            "models/python_frame.py": body.format(upstream="", call=upstream),
            "models/s.yml": f"sources: [{{name: given, schema: {changes.project.schema}, tables: [{{name: kept}}]}}]",
        }
    )
    changes.ask(
        sql_all="source('given', 'kept'), unique_key='id'",
        in_a_catalog=f"'{catalog}{changes.project.schema}.kept', unique_key='id'",
    )
    if changes.format == "iceberg":
        settings = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "hadoop", ".warehouse": str(tmp_path)}
        for name, value in settings.items():
            changes.project.spark.conf.set(f"spark.sql.catalog.elsewhere{name}", value)
        changes.project.sql("create table elsewhere.far.kept (id int, v string) using iceberg")
        changes.project.sql("insert into elsewhere.far.kept values (1, 'a')")
        changes.project.sql("create table elsewhere.`far-away`.kept (id int, v string) using iceberg")
        changes.project.sql("insert into elsewhere.`far-away`.kept values (1, 'b')")
        changes.project.write(
            {
                "models/far.yml": "sources: [{name: far, schema: elsewhere.far, tables: [{name: kept}]}]",
                "models/of_far.sql": "{{ config(materialized='table') }} select source, op, after.v"
                " from {{ dbt_cdc.table_changes(source('far', 'kept'), unique_key='id') }}",
                "models/of_far_away.sql": "{{ config(materialized='table') }} select after.v"
                " from {{ dbt_cdc.table_changes('elsewhere.`far-away`.kept', unique_key='id') }}",
            }
        )
    listings: list[str] = []
    watch(monkeypatch, lambda sql: listings.extend(re.findall("show tables? (?:extended )?in ([^ ]+)", sql)))
    message = changes.project.error("run")
    assert {*listings} == {changes.project.schema}  # and none of the sources' catalog
    assert "unknown column in unique_key 'idd', did you mean 'id'?" in message
    assert "by table_changes, but dbt knows no such upstream" in message
    assert f"Add the line `dbt.ref('{changes.project.schema}.kept', v=2)`" in message
    assert (
        "takes the names that dbt.ref or dbt.source takes, such as table_changes(dbt, spark, 'orders'), and all else by keyword, got"
        in message
    )
    first = [("i", None, (1, "a")), ("i", None, (2, "b"))]
    assert changes.answer("python_all", "kept") == [*first, ("u", (1, "a"), (1, "c"))]
    assert changes.answer("python_net", "kept") == [("i", None, (2, "b")), ("i", None, (1, "c"))]
    assert changes.answer("python_none", "kept") == []
    assert changes.answer("in_a_catalog", "kept") == changes.answer("sql_all", "kept")
    for model in ("in_a_catalog", "python_in_a_catalog"):
        assert {row["source"] for row in changes.rows(model, "kept")} == {f"{changes.project.schema}.kept"}
    assert changes.answer("sql_all", "kept") == changes.answer("python_all", "kept")
    answers = ["python_all", "python_net", "python_none", "python_in_a_catalog", "sql_all", "in_a_catalog"]
    if changes.format == "iceberg":
        assert changes.project.rows("select * from {schema}.of_far") == [("elsewhere.far.kept", "i", "a")]
        assert changes.project.rows("select * from {schema}.of_far_away") == [("b",)]
        for table in ("of_far", "of_far_away"):
            changes.project.sql(f"drop table {{schema}}.{table}")
    assert changes.project.tables() == {"kept", *answers}

    schemas = {name: changes.project.columns(name) for name in answers}
    nothing = f"{{{{ dbt_cdc.table_changes(source('given', 'kept'), unique_key='id', begin='{version}') }}}}"
    pair = f"select op, before.v as was, after.v as became from {nothing}"
    config = "{{ config(materialized='table') }}"
    changes.project.write({"models/nothing_twice.sql": f"{config} {pair} union all {pair}"})
    changes.project.dbt("run", "--select", "nothing_twice")
    assert changes.project.rows("select * from {schema}.nothing_twice") == []
    columns = changes.project.columns("nothing_twice")[-3:]  # Hudi's own stand before them
    assert columns == [("op", "string"), ("was", "string"), ("became", "string")]
    changes.project.dbt("run", "--empty", "--select", "nothing_twice", *answers)
    assert {name: changes.answer(name, "kept") for name in answers} == {name: [] for name in answers}
    assert {name: changes.project.columns(name) for name in answers} == schemas


@pytest.mark.only_format("delta")
def test_what_a_restore_brings_back_and_a_new_name_are_told_as_changes_of_rows_only(changes: Changes) -> None:
    changes.create("back", "id int, v string")
    changes.write(
        "back",
        "insert into {t} values (1, 'a'), (2, 'b')",
        "alter table {t} add columns (n int)",
        "update {t} set v = 'x', n = 5 where id = 1",
        "restore table {t} to version as of 1",
        "update {t} set v = 'c' where id = 2",
    )
    # the feed is off in the version that comes back, and on again later
    changes.create("off", "id int, v string", feed=False)
    changes.write(
        "off",
        "insert into {t} values (1, 'a')",
        f"alter table {{t}} set tblproperties ({FEED_ON['delta']})",
        "update {t} set v = 'b' where id = 1",
        "restore table {t} to version as of 1",
        "update {t} set v = 'unseen' where id = 1",
        f"alter table {{t}} set tblproperties ({FEED_ON['delta']})",
        "update {t} set v = 'c' where id = 1",
    )
    mapping = "'delta.columnMapping.mode' = 'name'"
    for name, fed in {"named": True, "bare_named": False, "undone": True}.items():
        changes.create(name, "id int, v string", feed=fed, properties=mapping)
        changes.write(
            name,
            "insert into {t} values (1, 'a'), (2, 'b')",
            "update {t} set v = 'z' where id = 1",
            "alter table {t} rename column v to w",
        )
    for name in ("named", "bare_named"):
        changes.write(name, "update {t} set w = 'c' where id = 2")
    changes.write("undone", "restore table {t} to version as of 2", "update {t} set v = 'c' where id = 2")
    changes.create("replaced", "id int, v string")
    changes.write(
        "replaced",
        "insert into {t} values (1, 'a')",
        "alter table {t} replace columns (id int, v string, n int)",
        "update {t} set v = 'b'",
    )
    # under column mapping the feed ends where the table is made anew with other partitions
    changes.create("parted", "id int, v string", properties=mapping)
    changes.write(
        "parted",
        "insert into {t} values (1, 'a'), (2, 'b')",
        f"create or replace table {{t}} using delta partitioned by (v) tblproperties ({FEED_ON['delta']}, {mapping})"
        " as select 1 as id, 'a' as v union all select 2, 'c'",
        "insert into {t} values (3, 'd')",
        "restore table {t} to version as of 1",
    )
    tables = ("back", "off", "named", "bare_named", "undone", "replaced", "parted")
    asked = {name: f"'{{schema}}.{name}', unique_key='id'" for name in tables}
    changes.ask(**{f"of_{name}": asked[name] for name in asked}, too_early=asked["off"] + ", begin=2")
    changes.ask(since_off=asked["off"] + ", begin=5")
    for name in ("named", "bare_named"):  # the renaming itself changes no row
        changes.ask(**{f"since_{name}": asked[name] + ", begin=2", f"before_{name}": asked[name] + ", begin=1, end=2"})
    message = changes.project.error("run")
    for begin in ("2", "earliest"):
        said = f"({begin}, latest] begins before the change feed, expected one that begins at or after version 5 ("
        assert said in message
    renamed = r"\(1, 2\] begins before %s, expected one that begins at or after version 3 \(.* UTC\), where a column was renamed,"
    assert re.search(renamed % "the change feed", message)
    assert re.search(renamed % "what can still be read", message)
    assert not {"before_named", "before_bare_named"} & changes.project.tables()

    first = [("i", None, (1, "a")), ("i", None, (2, "b"))]
    restored = [("u", (1, "a"), (1, "x")), ("u", (1, "x"), (1, "a")), ("u", (2, "b"), (2, "c"))]
    assert changes.answer("of_back", "back") == [*first, *restored]
    assert changes.answer("since_off", "off") == [("u", (1, "unseen"), (1, "c"))]
    update = [("u", (2, "b"), (2, "c"))]
    assert changes.answer("of_named", "named") == changes.answer("since_named", "named") == update
    assert changes.answer("of_bare_named", "bare_named") == [("i", None, (1, "z")), ("i", None, (2, "c"))]
    assert changes.answer("since_bare_named", "bare_named") == update
    assert changes.answer("of_undone", "undone") == update
    assert changes.answer("of_parted", "parted") == [
        *first,
        ("u", (2, "b"), (2, "c")),
        ("i", None, (3, "d")),
        ("d", (3, "d"), None),
        ("u", (2, "c"), (2, "b")),
    ]
    assert changes.answer("of_replaced", "replaced") == [
        ("i", None, (1, "a", None)),
        ("u", (1, "a", None), (1, "b", None)),
    ]


@pytest.mark.only_format("delta")
def test_a_table_made_anew_with_other_capitals_and_one_restored_by_time_keep_their_changes(
    changes: Changes,
) -> None:
    changes.create("timed", "id int, v string")
    changes.write("timed", "insert into {t} values (1, 'a'), (2, 'b')", "update {t} set v = 'x' where id = 1")
    moment = changes.commits("timed")[1][1].strftime("%Y-%m-%d %H:%M:%S.%f")
    changes.write("timed", f"restore table {{t}} to timestamp as of '{moment}'", "update {t} set v = 'c' where id = 2")

    def anew(columns: str) -> str:
        return f"create or replace table {{t}} using delta tblproperties ({FEED_ON['delta']}) as select {columns}"

    changes.write("capitals", anew("1 as ID, 'a' as v"), "insert into {t} values (2, 'b')", anew("1 as id, 'c' as v"))
    changes.write("capitals", "update {t} set v = 'd' where id = 1")
    # columns that are no longer mapped to names
    unmap = "alter table {t} set tblproperties ('delta.columnMapping.mode' = 'none')"
    for name, change in {"replaced": anew("1 as id, 'b' as v"), "unmapped": unmap}.items():
        changes.create(name, "id int, v string", properties="'delta.columnMapping.mode' = 'name'")
        changes.write(name, "insert into {t} values (1, 'a')", change, "update {t} set v = 'd'")
    tables = ("timed", "capitals", "replaced", "unmapped")
    changes.ask(**{f"of_{name}": f"'{{schema}}.{name}', unique_key='id', begin=0" for name in tables})
    changes.ask(late="'{schema}.replaced', unique_key='id', begin=1, end=2")
    changes.project.dbt("run")
    assert changes.answer("of_timed", "timed") == [
        ("i", None, (1, "a")),
        ("i", None, (2, "b")),
        ("u", (1, "a"), (1, "x")),
        ("u", (1, "x"), (1, "a")),
        ("u", (2, "b"), (2, "c")),
    ]
    assert changes.answer("of_capitals", "capitals") == [
        ("i", None, (2, "b")),
        ("d", (2, "b"), None),
        ("u", (1, "a"), (1, "c")),
        ("u", (1, "c"), (1, "d")),
    ]
    anew_rows = [("u", (1, "a"), (1, "b")), ("u", (1, "b"), (1, "d"))]
    assert changes.answer("of_replaced", "replaced") == [("i", None, (1, "a")), *anew_rows]
    assert changes.answer("late", "replaced") == anew_rows[:1]
    assert changes.answer("of_unmapped", "unmapped") == [("i", None, (1, "a")), ("u", (1, "a"), (1, "d"))]


@pytest.mark.only_format("delta")
def test_a_clone_over_a_table_is_a_change_of_its_rows_as_far_as_the_feed_is_known(changes: Changes) -> None:
    changes.create("given", "id int, v string, n int")
    changes.write("given", "insert into {t} values (1, 'z', 7)")
    clone = f"create or replace table {{t}} shallow clone {changes.project.schema}.given"
    update = "update {t} set v = 'c' where id = 1"
    for name, columns, feed in [
        ("fed", "id int, v int", True),
        ("same", "id int, v string, n int", True),
        ("bare", "id int", False),
    ]:
        changes.create(name, columns, feed=feed)
        changes.write(name, f"insert into {{t}} select {'1, 5, 7' if name == 'same' else '1, 5' if feed else '1'}")
        changes.write(name, "truncate table {t}", clone, update)
    changes.write("copied", clone, update)
    changes.ask(**{f"of_{name}": f"'{{schema}}.{name}', unique_key='id'" for name in ("fed", "same", "copied")})
    changes.ask(**{f"bare_{begin}": f"'{{schema}}.bare', unique_key='id', begin={begin}" for begin in (1, 3)})
    message = changes.project.error("run")
    assert "(1, latest] begins before the change feed, expected one that begins at or after version 3 (" in message

    cloned, last = ("i", None, (1, "z", 7)), ("u", (1, "z", 7), (1, "c", 7))
    assert changes.answer("of_copied", "copied") == [cloned, last]
    assert changes.answer("bare_3", "bare") == [last]
    for name, row in {"fed": (1, "5", None), "same": (1, "5", 7)}.items():
        assert changes.answer(f"of_{name}", name) == [("i", None, row), ("d", row, None), cloned, last]


@pytest.mark.only_format("delta")
def test_a_view_over_deltas_feed_is_refused_and_an_operation_may_ask(changes: Changes) -> None:
    changes.create("kept", "id int, v string")
    changes.write("kept", "insert into {t} values (1, 'a')")
    asked = "dbt_cdc.table_changes(target.schema ~ '.kept', unique_key='id')"
    changes.project.write(
        {
            "models/seen.sql": f"select op from {{{{ {asked} }}}}",
            "macros/told.sql": "{% macro told() %}{% do log('told ' ~ run_query('select op, after.v from ' ~ "
            f"{asked})[0].values() | list, info=true) %}}{{% endmacro %}}",
        }
    )
    for name in ("long", "unfed"):
        changes.create(name, "id int, v string", feed=name == "long")
        changes.write(name, "insert into {t} values (1, 'a')")
    changes.project.write(
        {
            "models/s.yml": f"sources: [{{name: raw, schema: {changes.project.schema}, tables: [{{name: unfed}}]}}]",
            "models/reader.sql": """
                {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
                select id, v from {{ dbt_cdc.ref_changes(source('raw', 'unfed'), by='version') }}
            """,
        }
    )
    changes.project.dbt("run", "--select", "reader")
    for name in ("long", "unfed"):
        log = changes.project.place(name) / "_delta_log"
        for version in range(2, 504):  # as by writes, and by the drop of a column
            operation = "DROP COLUMNS" if version == 3 and name == "long" else "WRITE"
            info = {"timestamp": int(time.time() * 1000), "operation": operation, "operationParameters": {}}
            (log / f"{version:020}.json").write_text(json.dumps({"commitInfo": info}))
    changes.project.dbt("run-operation", "cdc_summary")
    assert "by version  1          changes of more than 500 commits" in changes.project.new_log()
    changes.project.dbt("compile", "--select", "reader", "--empty")
    changes.ask(long_ago="'{schema}.long', begin=1")
    changes.project.write({"analyses/asked.sql": f"select op from {{{{ {asked} }}}}"})
    changes.project.dbt("compile", "--select", "asked")
    changes.project.dbt("show", "--inline", f"select op from {{{{ {asked} }}}}")
    message = changes.project.error("run")
    assert "model.consumer.seen can't run, nothing was written" in message
    assert "Spark makes no view over Delta's change feed, got a model of materialized 'view' (dbt's default)" in message
    compared = f"changes of {changes.project.schema}.long: 501 commits have to be compared, each with the one before it, expected 500"
    assert compared in message and "ask for a range that begins at or after version 2 (" in message
    changes.project.dbt("run-operation", "told")
    assert "told ['i', 'a']" in changes.project.log()


@pytest.mark.only_format("iceberg")
def test_the_key_of_a_history_without_its_version_is_taken_where_it_is_asked_for(project: Project) -> None:
    settings = "materialized='apply_changes', unique_key='id', meta={'dbt_cdc': {'sequence_by': 'seq', 'stored_as_scd_type': 2}}"
    asked = "dbt_cdc.table_changes(ref('history'){}, begin=var('begin'), format='{}')"
    calls = {"own": asked.format("", "cdc"), "by_id": asked.format(", unique_key='id'", "net")}
    calls["turned"] = asked.format(", unique_key=['__START_AT', 'id']", "net")
    project.write(
        {
            "models/history.sql": f"{{{{ config({settings}) }}}} select 1 as id, {{{{ var('seq') }}}} as seq",
            **{
                f"models/{name}.sql": f"{{{{ config(materialized='table') }}}} select * from {{{{ {call} }}}}"
                for name, call in calls.items()
            },
        }
    )
    project.dbt("run", "--select", "history", "--vars", "seq: 1")
    first = project.rows("select snapshot_id from {schema}.history.snapshots")[0][0]
    project.dbt("run", "--select", "history", "--vars", "seq: 2")
    error = project.error("run", "--exclude", "history", "--vars", f"{{seq: 2, begin: '{first}'}}")
    assert f"changes of {project.schema}.history: unique_key (id) names several rows of version" in error
    for name in ("own", "turned"):
        rows = project.rows(f"select op, after.__START_AT, after.__END_AT from {{schema}}.{name} order by 2")
        assert rows == [("u", 1, 2), ("i", 2, None)], name
    assert "by_id" not in project.tables()


APPLIED = """
    {{{{ config(materialized='apply_changes', unique_key='{key}', meta={{'dbt_cdc': {{
        'sequence_by': {order!r}, 'apply_as_deletes': "op = 'd'", 'except_column_list': ['op', 'ts']}}}}) }}}}
    select {columns}, op, ts
    from (select if(op = 'd', before, after) as image, op, ts, version from {{{{ dbt_cdc.table_changes({call}) }}}})
"""


@pytest.mark.one_format("iceberg")
def test_changes_of_a_source_become_events_by_the_key_of_the_model_that_applies_them(changes: Changes) -> None:
    project = changes.project
    tables = {"t": "id int, v string", "numbered": "id int, version int, n int", "feed": "id int, seq int"}
    for table, columns in tables.items():
        changes.create(table, columns)
    changes.write("t", "insert into {t} values (1, 'a'), (2, 'b')", "update {t} set v = 'c' where id = 1")
    changes.write("numbered", "insert into {t} values (1, 9, 0)", "update {t} set version = 10")
    changes.write("feed", "insert into {t} values (1, 1), (1, 2), (1, 2)")
    of_t, of_feed = "source('raw', 't')", "source('raw', 'feed')"
    models = {
        "applied": ("id", "ts", "image.*", of_t),
        "called": ("code", "ts", "image.id as code, image.v", of_t),
        "numbers": ("id", "version", "image.*", "source('raw', 'numbered')"),
        "by_version": ("id", ["ts", "version"], "image.*, version", of_t),
        "fed": ("id", "seq", "image.*", of_feed + ", unique_key=[]"),
        "repeated": ("id", "seq", "image.*", of_feed),
    }
    for name, (key, order, columns, call) in models.items():
        project.write({f"models/{name}.sql": APPLIED.format(key=key, order=order, columns=columns, call=call)})
    project.write(
        {
            "models/s.yml": f"""
                sources: [{{name: raw, schema: {project.schema}, tables: [{{name: t}}, {{name: numbered}}, {{name: feed}}]}}]
                models:
                  - name: in_python
                    config: {{meta: {{dbt_cdc: {{sequence_by: ts, apply_as_deletes: "op = 'd'", except_column_list: [op, ts]}}}}}}
            """,
            "models/in_python.py": """
                import dbt_cdc

                def model(dbt, spark):
                    dbt.config(materialized="apply_changes", unique_key="ID")
                    dbt.source("raw", "t")
                    changes = dbt_cdc.table_changes(dbt, spark, "raw", "t")
                    images = changes.selectExpr("if(op = 'd', before, after) as image", "op", "ts")
                    return images.select("image.*", "op", "ts")
            """,
        }
    )
    errors = project.error("run")

    for applied in ("applied", "in_python"):
        assert sorted(project.rows(f"select id, v from {{schema}}.{applied}")) == [(1, "c"), (2, "b")], applied
    assert project.rows("select * from {schema}.numbers") == [(1, 10, 0)]
    assert project.rows("select * from {schema}.fed") == [(1, 2)]
    table = f"{project.schema}.t"
    assert f"table_changes needs the key of {table}, got none, expected the names of its key columns" in errors
    assert f"(it lacks columns of the key of {project.schema}.called, code); give `unique_key` in the call" in errors
    assert "sequence_by can't be the `version` of table_changes, a commit's id as text, which does not sort" in errors
    assert "unique_key (id) names several rows of version" in errors
    assert project.tables() & models.keys() == {"applied", "numbers", "fed"}

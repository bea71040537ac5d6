"""table_changes over Hudi, in an environment of its own (pyspark 3.5): what tests/functional can't ask of it."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest

from tests.support.changes import EVERY_CHANGE, HISTORY, NET, Changes
from tests.support.project import Project
from tests.support.spark import session_conf

pytestmark = pytest.mark.only_format("hudi")

UPSERTS = {"hoodie.spark.sql.insert.into.operation": "upsert"}

KINDS = "id int, k string, ti tinyint, si smallint, bi bigint, f float, d double, b boolean, dt date, ts timestamp, `Sélect` string"


def test_images_come_back_whole_whether_hudis_query_can_tell_them_or_not(changes: Changes) -> None:
    terse = "'hoodie.table.cdc.supplemental.logging.mode' = 'op_key_only'"
    changes.create("kinds", KINDS, properties=f"primaryKey = 'id,k', {terse}")
    changes.write(
        "kinds",
        "insert into {t} values (1, 'x', 1Y, 2S, 3L, float('NaN'), double('-Infinity'), true, date'1960-02-03',"
        " timestamp'1960-01-01 00:00:00.123456', 'q\"\\\\é'), (1, null, null, null, null, null, null, null, null, null, null)",
        "update {t} set f = 1.5, d = 1e300, bi = 9223372036854775807, b = false, `Sélect` = '' where k = 'x'",
        "update {t} set `Sélect` = 'null' where k is null",
        "delete from {t} where k = 'x'",
    )
    nested = "id int, a array<string>, m map<string, int>, s struct<x: int, y: array<int>>, n decimal(9,2), raw binary"
    changes.create("nested", nested, properties="type = 'mor'")
    changes.write(
        "nested",
        "insert into {t} values (1, array('p'), map('a', 1, 'b', null), named_struct('x', null, 'y', array(1)), 1.10, x'00ff')",
        "update {t} set m = map('b', null, 'a', 1)",
        "update {t} set n = 1.2, s = named_struct('x', 2, 'y', array(1, 2)), raw = x'ff'",
        "update {t} set a = null, m = null",
    )
    before = "'hoodie.table.cdc.supplemental.logging.mode' = 'data_before'"
    changes.create("grown", "id int, v string", properties=before)
    changes.write(
        "grown", "insert into {t} values (1, 'a')", "update {t} set v = 'b'", "alter table {t} add columns (n int)"
    )
    changes.write("grown", "update {t} set n = 7", "insert into {t} values (2, 'c', null)")
    changes.ask(kinds_cdc="'{schema}.kinds'")
    changes.ask(
        nested_cdc="'{schema}.nested'", grown_cdc="'{schema}.grown'", grown_net="'{schema}.grown', format='net'"
    )
    changes.project.dbt("run")

    dates = datetime.date(1960, 2, 3), datetime.datetime(1960, 1, 1, 0, 0, 0, 123456)
    first = (1, "x", 1, 2, 3, float("nan"), float("-inf"), True, *dates, 'q"\\é')
    second = (1, "x", 1, 2, 9223372036854775807, 1.5, 1e300, False, *dates, "")
    empty = (1, None, None, None, None, None, None, None, None, None)
    assert [str(row) for row in changes.answer("kinds_cdc", "kinds")] == [
        str(row)
        for row in [
            ("i", None, first),
            ("i", None, (*empty, None)),
            ("u", first, second),
            ("u", (*empty, None), (*empty, "null")),
            ("d", second, None),
        ]
    ]
    told = [
        (op, *[image and (*image[:4], str(image[4]), bytes(image[5])) for image in pair])
        for op, *pair in changes.answer("nested_cdc", "nested")
    ]
    images = [
        (1, ["p"], {"a": 1, "b": None}, {"x": None, "y": [1]}, "1.10", b"\x00\xff"),
        (1, ["p"], {"a": 1, "b": None}, {"x": 2, "y": [1, 2]}, "1.20", b"\xff"),
        (1, None, None, {"x": 2, "y": [1, 2]}, "1.20", b"\xff"),
    ]
    assert told == [("i", None, images[0]), ("u", images[0], images[1]), ("u", images[1], images[2])]
    old = [("i", None, (1, "a", None)), ("u", (1, "a", None), (1, "b", None))]
    new = [("u", (1, "b", None), (1, "b", 7)), ("i", None, (2, "c", None))]
    assert changes.answer("grown_cdc", "grown") == old + new
    assert changes.answer("grown_net", "grown") == [("i", None, (1, "b", 7)), ("i", None, (2, "c", None))]
    assert dict(changes.project.columns("nested_cdc"))["after"] == (
        "struct<id:int,a:array<string>,m:map<string,int>,s:struct<x:int,y:array<int>>,n:decimal(9,2),raw:binary>"
    )


def test_upserts_leave_hudis_query_whole_and_the_answer_as_it_is(changes: Changes) -> None:
    with session_conf(changes.project.spark, UPSERTS):
        changes.create("upserted", "id int, v string")
        changes.write("upserted", *HISTORY)
    changes.ask(upserted_cdc="'{schema}.upserted'")
    changes.project.dbt("run")

    assert changes.answer("upserted_cdc", "upserted") == EVERY_CHANGE
    compiled = changes.project.written("upserted_cdc", "run")
    assert compiled.count("hudi_table_changes(") == 1
    assert "timestamp as of" not in compiled


def test_without_a_feed_two_versions_are_compared_by_key(changes: Changes) -> None:
    changes.create("plain", "id int, v string", feed=False)
    changes.write("plain", *HISTORY)
    # changes what the catalog says, not the table
    changes.write("plain", "alter table {t} set tblproperties ('hoodie.table.cdc.enabled' = 'true')")
    versions = changes.versions("plain")
    changes.ask(
        plain_all="'{schema}.plain'",
        plain_part=f"'{{schema}}.plain', begin={versions[0]}, end='{versions[4]}', format='net'",
    )
    columns = "id int, k string, s struct<x: int, y: array<string>>, m map<string, int>"
    changes.create("bare", columns, feed=False, properties="primaryKey = 'id,k', type = 'mor'")
    changes.write(
        "bare",
        "insert into {t} values (1, 'x', named_struct('x', 1, 'y', array('p')), map('a', 1)), (1, null, null, null),"
        " (2, 'x', named_struct('x', null, 'y', null), null), (2, 'y', null, null)",
        "alter table {t} add columns (w int)",
        "update {t} set w = 7, s = null where id = 2 and k = 'x'",
        "update {t} set m = map('b', null) where k is null",
        "delete from {t} where k = 'y'",
        "insert into {t} values (3, 'x', null, map('a', null), 8)",
    )
    changes.ask(bare_some=f"'{{schema}}.bare', begin={changes.versions('bare')[0]}", bare_all="'{schema}.bare'")
    changes.project.dbt("run")

    assert changes.answer("plain_all", "plain") == NET
    empty = {"x": None, "y": None}
    told = [
        ("d", (2, "y", None, None, None), None),
        ("i", None, (3, "x", None, {"a": None}, 8)),
        ("u", (1, None, None, None, None), (1, None, None, {"b": None}, None)),
        ("u", (2, "x", empty, None, None), (2, "x", None, None, 7)),
    ]
    assert changes.answer("bare_some", "bare") == told
    whole = [(1, "x", {"x": 1, "y": ["p"]}, {"a": 1}, None), *[after for _, _, after in told[1:]]]
    assert sorted(changes.answer("bare_all", "bare"), key=str) == sorted([("i", None, row) for row in whole], key=str)
    assert {(row["version"], row["ts"]) for row in changes.rows("plain_all", "plain")} == {changes.commits("plain")[-1]}
    assert changes.answer("plain_part", "plain") == [
        ("d", (2, "b"), None),
        ("i", None, (3, "f")),
        ("i", None, (4, "g")),
        ("u", (1, "a"), (1, "d")),
    ]


def test_what_was_cleaned_or_archived_is_an_error_that_says_what_is_left(changes: Changes) -> None:
    updates = [f"update {{t}} set v = '{number}'" for number in range(1, 8)]
    for table, feed in (("fed", True), ("bare", False)):
        changes.create(table, "id int, v string", feed=feed)
        changes.write(table, "insert into {t} values (1, '0')", *updates[:3])
        changes.write(table, "call run_clean(table => '{t}', retain_commits => 2)")
    kept = "'hoodie.keep.min.commits' = '3', 'hoodie.keep.max.commits' = '4', 'hoodie.clean.commits.retained' = '2'"
    with session_conf(changes.project.spark, {"hoodie.metadata.enable": "false"}):
        changes.create("archived", "id int, v string", properties=kept)
        changes.write("archived", "insert into {t} values (1, '0')", *updates)
    left = {table: changes.versions(table) for table in ("fed", "bare", "archived")}
    assert len(left["archived"]) < 8
    changes.ask(
        fed_earliest="'{schema}.fed'",
        fed_kept=f"'{{schema}}.fed', begin={left['fed'][-2]}",
        fed_gone=f"'{{schema}}.fed', begin={left['fed'][0]}",
        bare_all="'{schema}.bare'",
        bare_kept=f"'{{schema}}.bare', begin={left['bare'][-2]}",
        bare_gone=f"'{{schema}}.bare', begin={left['bare'][1]}",
        archived_earliest="'{schema}.archived'",
        archived_gone="'{schema}.archived', begin=20260101000000000",
    )
    messages = changes.project.error("run")
    gone = {line.split(":")[0]: line for line in messages.replace("\n  ", " ").splitlines() if ": " in line}

    last = ("u", (1, "2"), (1, "3"))
    assert changes.answer("fed_earliest", "fed") == [last]
    assert changes.answer("fed_kept", "fed") == [last]
    assert changes.answer("bare_kept", "bare") == [last]
    assert changes.answer("bare_all", "bare") == [("i", None, (1, "3"))]
    assert changes.answer("archived_earliest", "archived")[-1] == ("u", (1, "6"), (1, "7"))
    expected = "begins before {}, expected one that begins at or after version {} ("
    assert expected.format("the change feed", left["fed"][-2]) in gone["fed_gone"]
    assert expected.format("what can still be read", left["bare"][-2]) in gone["bare_gone"]
    assert "begins before the change feed" in gone["archived_gone"]
    assert not {"fed_gone", "bare_gone", "archived_gone"} & changes.project.tables()


def test_commits_of_which_hudis_query_tells_what_is_not_so_are_compared(changes: Changes) -> None:
    with session_conf(changes.project.spark, UPSERTS):
        changes.create(
            "late",
            "id int, v string, ts int, _hoodie_is_deleted boolean",
            properties="type = 'mor', preCombineField = 'ts'",
        )
        changes.write(
            "late",
            "insert into {t} values (1, 'a', 10, false), (2, 'a', 10, false)",
            "insert into {t} values (1, 'a', 5, true), (2, 'a', 11, true)",
            "insert into {t} values (1, 'b', 12, false)",
        )
    changes.create("streamed", "id int, v string, at timestamp")
    for value in ("a", "b"):
        stream_milliseconds(changes.project, "streamed", 1, value, 1704164645678)
    changes.ask(late_cdc="'{schema}.late'", streamed_cdc="'{schema}.streamed'")
    changes.project.dbt("run")

    assert changes.answer("late_cdc", "late") == [
        ("i", None, (1, "a", 10)),
        ("i", None, (2, "a", 10)),
        ("d", (2, "a", 10), None),
        ("u", (1, "a", 10), (1, "b", 12)),
    ]
    at = datetime.datetime(2024, 1, 2, 3, 4, 5, 678000)
    assert changes.answer("streamed_cdc", "streamed") == [("i", None, (1, "a", at)), ("u", (1, "a", at), (1, "b", at))]


def stream_milliseconds(project: Project, table: str, key: int, value: str, moment: int) -> None:
    """A commit of one row by a schema of the writer's own, as streams into Hudi have it: `at` in milliseconds."""
    java: Any = project.spark._jvm
    context = project.spark.sparkContext._jsc
    kinds = {"id": "int", "v": "string", "at": {"type": "long", "logicalType": "timestamp-millis"}}
    fields = [{"name": name, "type": ["null", kind], "default": None} for name, kind in kinds.items()]
    schema = json.dumps({"type": "record", "name": f"{table}_record", "namespace": f"hoodie.{table}", "fields": fields})
    record = java.org.apache.avro.generic.GenericData.Record(java.org.apache.avro.Schema.Parser().parse(schema))
    for name, field in (("id", key), ("v", value), ("at", moment)):
        record.put(name, field)
    hudi = java.org.apache.hudi
    row = hudi.common.model.HoodieAvroRecord(
        hudi.common.model.HoodieKey(str(key), ""), hudi.common.model.OverwriteWithLatestAvroPayload(record, 0)
    )
    rows = java.java.util.ArrayList()
    rows.add(row)
    [place] = [line[1] for line in project.rows(f"describe extended {{schema}}.{table}") if line[0] == "Location"]
    config = hudi.config.HoodieWriteConfig.newBuilder().withPath(place).withSchema(schema).forTable(table)
    config = config.withEmbeddedTimelineServerEnabled(False).withEngineType(hudi.common.engine.EngineType.SPARK).build()
    client = hudi.client.SparkRDDWriteClient(hudi.client.common.HoodieSparkEngineContext(context), config)
    instant = client.startCommit()
    assert client.commit(instant, client.upsert(context.parallelize(rows, 1), instant))
    client.close()
    project.sql(f"refresh table {{schema}}.{table}")


def test_keys_and_names_that_hudi_does_not_tell_are_asked_for(changes: Changes) -> None:
    """A record key may be in several partitions; of an older version it gives no types."""
    project = changes.project
    project.sql(
        "create table {schema}.placed (id int, v string, place string) using hudi partitioned by (place)"
        " tblproperties (primaryKey = 'id')"
    )
    changes.write(
        "placed", "insert into {t} values (1, 'a', 'x'), (1, 'b', 'y')", "update {t} set v = 'c' where place = 'y'"
    )
    evolution = ("schema.on.read.enable", "datasource.write.schema.allow.auto.evolution.column.drop")
    with session_conf(project.spark, {f"hoodie.{name}": "true" for name in evolution}):
        changes.create("renamed", "id int, v string, w int", feed=False)
        changes.write(
            "renamed",
            "insert into {t} values (1, 'a', 1)",
            "alter table {t} rename column v to text",
            "update {t} set w = 2",
        )
        first = {table: changes.versions(table)[0] for table in ("placed", "renamed")}
        changes.ask(
            placed_by_none=f"'{{schema}}.placed', begin={first['placed']}",
            placed_by_both=f"'{{schema}}.placed', begin={first['placed']}, unique_key=['id', 'place']",
            renamed_before=f"'{{schema}}.renamed', begin={first['renamed']}",
            renamed_since=f"'{{schema}}.renamed', begin={changes.versions('renamed')[1]}",
        )
        messages = project.error("run").replace("\n  ", " ")

    assert "(no change feed is on) needs the key, got no unique_key" in messages
    assert f"version {first['renamed']} has a column v and no text, which counts as its new name" in messages
    assert changes.answer("placed_by_both", "placed") == [("u", (1, "b", "y"), (1, "c", "y"))]
    assert changes.answer("renamed_since", "renamed") == [("u", (1, "a", 1), (1, "a", 2))]
    assert not {"placed_by_none", "renamed_before"} & project.tables()


def test_partitions_that_are_overwritten_and_dropped_are_changes_of_their_rows(changes: Changes) -> None:
    tables = {"keys": ("cow", "op_key_only"), "olds": ("mor", "data_before"), "both": ("cow", "data_before_after")}
    for table, (kind, mode) in tables.items():
        logged = f"'hoodie.table.cdc.enabled' = 'true', 'hoodie.table.cdc.supplemental.logging.mode' = '{mode}'"
        changes.project.sql(
            f"create table {{schema}}.{table} (id int, v string, place string) using hudi partitioned by (place)"
            f" tblproperties (primaryKey = 'id', type = '{kind}', {logged})"
        )
        changes.write(
            table,
            "insert into {t} values (1, 'a', 'x'), (2, 'b', 'x'), (3, 'c', 'y'), (4, 'd', 'z')",
            "insert overwrite {t} partition (place = 'x') values (2, 'B'), (5, 'e')",
            "alter table {t} drop partition (place = 'y')",
        )
        changes.ask(**{f"{table}_cdc": f"'{{schema}}.{table}', unique_key='id'"})
    changes.project.dbt("run")

    inserted = [
        ("i", None, (1, "a", "x")),
        ("i", None, (2, "b", "x")),
        ("i", None, (3, "c", "y")),
        ("i", None, (4, "d", "z")),
    ]
    overwritten = [("d", (1, "a", "x"), None), ("i", None, (5, "e", "x")), ("u", (2, "b", "x"), (2, "B", "x"))]
    for table in tables:
        assert changes.answer(f"{table}_cdc", table) == [*inserted, *overwritten, ("d", (3, "c", "y"), None)], table


def test_what_hudi_itself_refuses(changes: Changes) -> None:
    for name in ("a b", "a.b"):
        with pytest.raises(Exception, match=f"Illegal character in: {name}"):
            changes.create("odd", f"id int, `{name}` string")
    changes.create("lists", "id int, l array<string>")
    with pytest.raises(Exception, match="Insert Into to Hudi table failed"):
        changes.write("lists", "insert into {t} values (1, array('p', null))")
    with pytest.raises(Exception, match="hudi"):
        changes.write("lists", "insert into {t} values (null, array('p'))")
    changes.write("lists", "insert into {t} values (1, array('p'))", "insert into {t} values (2, array('q'))")
    with pytest.raises(Exception, match="There should be a cdc log file"):
        changes.project.rows("select op from hudi_table_changes('{schema}.lists', 'cdc', 'earliest')")
    assert changes.project.rows("select id, l from {schema}.lists order by id") == [(1, ["p"]), (2, ["q"])]


def test_capabilities_that_hudi_can_not_carry_are_refused_before_anything_is_written(project: Project) -> None:
    project.write(
        {
            "models/differences.py": "def model(dbt, spark):\n    return spark.sql('select 1 as id')\n",
            "models/applied.sql": "select 1 as id, 1 as seq",
            "models/m.yml": """
                models:
                  - name: differences
                    config: {materialized: hash_diff, unique_key: [id], submission_method: session}
                  - name: applied
                    config: {materialized: apply_changes, unique_key: id, meta: {dbt_cdc: {sequence_by: seq}}}
            """,
            "snapshots/logged.yml": """
                snapshots:
                  - name: logged
                    relation: source('given', 'things')
                    config:
                      {unique_key: id, strategy: check, check_cols: [v], meta: {dbt_cdc: {change_log: key_op}}}
            """,
            "models/s.yml": f"sources: [{{name: given, schema: {project.schema}, tables: [{{name: things}}]}}]",
        }
    )
    project.sql("create view {schema}.things as select 1 as id, 'a' as v")
    messages = project.error("build")

    assert messages.count("option 'file_format' must be one of delta, iceberg, got \"hudi\"") == 2
    assert "option 'change_log' needs a table of delta, iceberg, got file_format 'hudi'" in messages
    assert project.tables() == {"things"}


def test_ref_changes_by_version_reads_hudi(changes: Changes) -> None:
    project = changes.project
    changes.create("orders", "id int, v string")
    changes.write("orders", "insert into {t} values (1, 'a'), (2, 'b')")
    project.write(
        {
            "models/seen.sql": """
                {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
                select id, v, _op from {{ dbt_cdc.ref_changes(source('given', 'orders'), by='version') }}
            """,
            "models/seen_by_python.py": """
                import dbt_cdc

                def model(dbt, spark):
                    dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="id")
                    dbt.source("given", "orders")
                    return dbt_cdc.ref_changes(dbt, spark, "given", "orders", by="version").select("id", "v", "_op")
            """,
            "models/s.yml": f"sources: [{{name: given, schema: {project.schema}, tables: [{{name: orders}}]}}]",
        }
    )
    project.dbt("run")
    for reader in ("seen", "seen_by_python"):
        assert sorted(project.rows(f"select id, v, _op from {{schema}}.{reader}")) == [(1, "a", "i"), (2, "b", "i")]
    # as a driver of another zone would have told the time of the last instant, which is a text without one
    moved = "cdc_datetime_updated = cdc_datetime_updated + interval 9 hours"
    project.sql(f"update {{schema}}.cdc_metadata set {moved} where tracked_by = 'version'")
    changes.write("orders", "update {t} set v = 'c' where id = 1", "delete from {t} where id = 2")
    project.dbt("run")
    for reader in ("seen", "seen_by_python"):
        assert sorted(project.rows(f"select id, v, _op from {{schema}}.{reader}")) == [(1, "c", "u"), (2, "b", "d")]
    changes.write("seen", "delete from {t}")
    project.dbt("run")
    assert project.rows("select id from {schema}.seen") == []


def test_ref_changes_by_column_reads_hudi(changes: Changes) -> None:
    project = changes.project
    changes.create("orders", "id int, v string, cdc_datetime_updated timestamp")
    changes.write("orders", "insert into {t} values (1, 'a', timestamp '2024-01-01'), (2, 'b', timestamp '2024-01-01')")
    project.write(
        {
            "models/seen.sql": """
                {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
                select id, v, {{ var('run') }} as run from {{ dbt_cdc.ref_changes(source('given', 'orders')) }}
            """,
            "models/s.yml": f"sources: [{{name: given, schema: {project.schema}, tables: [{{name: orders}}]}}]",
        }
    )
    project.dbt("run", "--vars", "run: 1")
    changes.write("orders", "update {t} set v = 'c', cdc_datetime_updated = timestamp '2024-01-02' where id = 1")
    project.dbt("run", "--vars", "run: 2")
    project.dbt("run", "--vars", "run: 3")
    assert project.rows("select id, v, run from {schema}.seen order by id") == [(1, "c", 2), (2, "b", 1)]
    watermarks = "select tracked_by, column_name, watermark, sequence from {schema}.cdc_metadata order by sequence"
    assert project.rows(watermarks) == [
        ("column", "cdc_datetime_updated", "1704067200000000", 1),
        ("column", "cdc_datetime_updated", "1704153600000000", 2),
    ]

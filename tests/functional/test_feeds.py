"""What Debezium and AWS DMS deliver becomes events with the table's own types."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from tests.support.places import in_zone
from tests.support.project import Project
from tests.support.shared import shared_project
from tests.support.snapshots import SOURCES, supply
from tests.support.spark import ROOT

pytestmark = pytest.mark.one_format("iceberg")

COLUMNS = {
    "id": "int",
    "customer name": "string",
    "amount": "decimal(12,2)",
    "big": "decimal(38,3)",
    "free": "decimal(10,4)",
    "born": "date",
    "seen": "timestamp",
    "local": "timestamp_ntz",
    "zoned": "timestamp",
    "photo": "binary",
    "tags": "array<string>",
    "active": "boolean",
    "huge": "bigint",
    "ratio": "double",
}
KINDS = {
    "amount": {"name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}},
    "big": {"name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "3"}},
    "free": {"name": "io.debezium.data.VariableScaleDecimal"},
    "born": {"name": "io.debezium.time.Date"},
    "seen": {"name": "io.debezium.time.Timestamp"},
    "local": {"name": "io.debezium.time.MicroTimestamp"},
    "zoned": {"name": "io.debezium.time.ZonedTimestamp"},
    "photo": {"type": "bytes"},
}
# 123.45 in hundredths is 0x3039; the largest decimal(38) is 38 nines; -0.0001 in ten-thousandths is -1
FULL = {
    "id": 1,
    "customer name": 'Zoë "Z" O\'Neil, ,',
    "amount": "MDk=",
    "big": "SztMqFqGxHoJiiI//////w==",
    "free": {"scale": 4, "value": "/w=="},
    "born": -1,
    "seen": 1700000000123,
    "local": 1700000000123456,
    "zoned": "2023-11-14T22:13:20.5Z",
    "photo": "AP8=",
    "tags": ["a", "b,c", None],
    "active": True,
    "huge": 9223372036854775807,
    "ratio": 1.5,
}
FULL_ROW = (
    1,
    'Zoë "Z" O\'Neil, ,',
    Decimal("123.45"),
    Decimal("99999999999999999999999999999999999.999"),
    Decimal("-0.0001"),
    date(1969, 12, 31),
    datetime(2023, 11, 14, 22, 13, 20, 123000),
    datetime(2023, 11, 14, 22, 13, 20, 123456),
    datetime(2023, 11, 14, 22, 13, 20, 500000),
    bytearray(b"\x00\xff"),
    ["a", "b,c", None],
    True,
    9223372036854775807,
    1.5,
)
POSTGRES = {"connector": "postgresql", "db": "shop", "table": "orders", "txId": 555, "snapshot": "false"}
SEEN = datetime(2023, 11, 14, 22, 13, 20)


def payload(op: str, lsn: int, before: Any = None, after: Any = None, source: Any = None) -> dict[str, Any]:
    where = {**(source or POSTGRES), "lsn": lsn, "ts_ms": 1700000000000}
    return {"before": before, "after": after, "source": where, "op": op, "ts_ms": 1700000009999, "transaction": None}


def with_schema(body: dict[str, Any], kinds: dict[str, Any]) -> dict[str, Any]:
    fields = [{"type": "int64", "optional": True, "field": name, **kinds.get(name, {})} for name in COLUMNS]
    parts = [{"type": "struct", "fields": fields, "optional": True, "field": side} for side in ("before", "after")]
    parts += [{"type": "struct", "fields": [], "field": "source"}, {"type": "string", "field": "op"}]
    return {"schema": {"type": "struct", "fields": parts, "name": "shop.public.orders.Envelope"}, "payload": body}


def store(project: Project, name: str, rows: Iterable[Any], schema: str) -> None:
    frame = project.spark.createDataFrame(list(rows), schema)
    frame.write.format(project.file_format).saveAsTable(f"{project.schema}.{name}")


def texts(envelopes: Iterable[Any]) -> list[tuple[str | None]]:
    return [(None if envelope is None else json.dumps(envelope),) for envelope in envelopes]


def model(call: str) -> str:
    # Delta takes a name with a space only with column mapping
    properties = "tblproperties={'delta.columnMapping.mode': 'name'}"
    return f"{{{{ config(materialized='table', {properties}) }}}}\nselect * from {{{{ dbt_cdc.{call} }}}}\n"


def table(name: str) -> str:
    return f"target.schema ~ '.{name}'"


def test_json_envelopes_with_their_schema_part_are_decoded_by_it(project: Project) -> None:
    envelopes = [
        with_schema(payload("r", 90, after={"id": 7}), KINDS),
        with_schema(payload("c", 100, after=FULL), KINDS),
        with_schema(
            payload("u", 1000, before={"id": 1}, after={**FULL, "photo": "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="}),
            KINDS,
        ),
        with_schema(payload("d", 1001, before={"id": 1, "customer name": "gone"}), KINDS),
        None,
        with_schema(payload("t", 1002), KINDS),
        {"schema": None, "payload": payload("m", 1003)},
    ]
    store(project, "raw", texts(envelopes), "value string")
    store(project, "raw_bytes", [(text and text.encode(),) for (text,) in texts(envelopes)], "message binary")
    encodings = {
        "amount": "text",
        "big": "text",
        "free": "base64",
        "born": "millis",
        "seen": "nanos",
        "local": "millis",
    }
    encodings |= {"zoned": "micros", "photo": "hex"}  # none of which is how they are written
    kinds = {**KINDS, "born": KINDS["zoned"]}
    numeric = with_schema(payload("c", 1, after={"born": "2024-01-31T00:00:00Z", "amount": 1234}), kinds)
    store(project, "numeric", texts([numeric]), "value string")
    asked, as_text = {"born": "date", "amount": "decimal(12,2)"}, {"born": "text", "amount": "text"}
    project.sql("create view {schema}.odd_bytes as select message as `a message.body` from {schema}.raw_bytes")
    project.write(
        {
            "models/events.sql": model(f"from_debezium({table('raw')}, columns={COLUMNS})"),
            "models/from_bytes.sql": model(f"from_debezium({table('raw_bytes')}, columns={COLUMNS}, value='message')"),
            "models/as_text.sql": model(f"from_debezium({table('numeric')}, columns={asked}, encodings={as_text})"),
            "models/said_twice.sql": model(f"from_debezium({table('raw')}, columns={COLUMNS}, encodings={encodings})"),
            "models/from_odd.sql": model(
                f"from_debezium({table('odd_bytes')}, columns={COLUMNS}, value='A message.body')"
            ),
        }
    )
    project.dbt("run")
    nothing = (None,) * 13
    set_columns = [name for name in COLUMNS if name != "photo"]
    by_sequence = "select * from {schema}.events order by _sequence"
    assert project.rows(by_sequence) == [
        (7, *nothing, "r", SEEN, "00000000000000000090", None),
        (*FULL_ROW, "i", SEEN, "00000000000000000100", None),
        (*FULL_ROW[:9], None, *FULL_ROW[10:], "u", SEEN, "00000000000000001000", set_columns),
        (1, "gone", *nothing[:-1], "d", SEEN, "00000000000000001001", None),
        (None, *nothing, "t", SEEN, "00000000000000001002", None),
    ]
    assert project.columns("events") == [
        *COLUMNS.items(),
        ("_op", "string"),
        ("_ts", "timestamp"),
        ("_sequence", "string"),
        ("_columns", "array<string>"),
    ]
    assert project.rows(by_sequence.replace("events", "from_bytes")) == project.rows(by_sequence)
    assert project.columns("from_bytes") == project.columns("events")
    assert project.rows(by_sequence.replace("events", "said_twice")) == project.rows(by_sequence)
    assert project.rows("select born, amount from {schema}.as_text") == [(date(2024, 1, 31), Decimal("1234.00"))]
    assert project.rows(by_sequence.replace("events", "from_odd")) == project.rows(by_sequence)


def test_json_envelopes_without_schema_part_are_decoded_as_the_encodings_say(project: Project) -> None:
    columns = {
        "id": "int",
        "exact": "decimal(10,2)",
        "said": "decimal(10,2)",
        "at": "timestamp",
        "day": "date",
        "h": "binary",
    }
    columns |= {"nano": "timestamp", "old": "timestamp_ntz", "tiny": "decimal(4,0)", "eve": "date", "last": "date"}
    columns |= {"iso": "date", "scaled": "decimal(10,1)", "hundreds": "decimal(10,0)"}
    columns |= {"least": "decimal(38,0)", "greatest": "decimal(38,0)", "double": "decimal(10,1)", "addressed": "binary"}
    after = {"id": 1, "exact": "/w==", "said": "1234", "at": "2023-11-14T22:13:20Z", "day": 19675, "h": "00FF"}
    after |= {"nano": 1700000000123456789, "old": -1, "tiny": "gA==", "eve": -86400000000, "last": 1699920000000000000}
    after |= {"iso": "2005-05-12Z", "scaled": {"scale": 1, "value": "ew=="}, "hundreds": {"scale": -2, "value": "ew=="}}
    after |= {"least": "tMSzV6V5O4X2dd3AAAAAAQ==", "greatest": "SztMqFqGxHoJiiI//////w=="}
    after |= {"double": 1e7, "addressed": "-_8=", "doc": '{"a": 7}'}
    encodings = {"exact": "base64", "said": "text", "h": "hex", "nano": "nanos", "old": "millis", "tiny": "base64"}
    encodings |= {"eve": "micros", "last": "nanos", "hundreds": "base64", "least": "base64", "greatest": "base64"}
    encodings |= {"addressed": "base64"}
    mysql = {"connector": "mysql", "file": "mysql-bin.000003", "pos": 154, "row": 2}
    body = {**payload("u", 0, after=after, source=mysql), "before": None}
    tombstones = ['{"schema": null, "payload": null}', '{"payload":null,\n"schema": {"type": "struct"}}', " null"]
    envelopes = [(text.replace("10000000.0", "1.0E7"),) for (text,) in texts([body]) if text]  # as Java writes it
    store(project, "raw", [*envelopes, *((tombstone,) for tombstone in tombstones)], "value string")
    store(project, "offsets", [(text, 12) for (text,) in texts([body])], "value string, `offset` bigint")
    project.write(
        {
            "models/events.sql": model(f"from_debezium({table('raw')}, columns={columns}, encodings={encodings})"),
            "models/by_offset.sql": model(
                f"from_debezium({table('offsets')}, columns={{'id': 'int'}}, sequence='`offset`')"
            ),
            "models/documents.sql": model(f"from_debezium({table('raw')}, columns={{'doc': 'variant'}})").replace(
                "select *", "select variant_get(doc, '$.a', 'int') as a"
            ),
        }
    )
    project.dbt("run")
    assert project.rows("select * from {schema}.documents") == [(7,)]
    assert project.rows("select * from {schema}.events") == [
        (
            1,
            Decimal("-0.01"),
            Decimal("1234.00"),
            SEEN,
            date(2023, 11, 14),
            bytearray(b"\x00\xff"),
            datetime(2023, 11, 14, 22, 13, 20, 123456),
            datetime(1969, 12, 31, 23, 59, 59, 999000),
            Decimal("-128"),
            date(1969, 12, 31),
            date(2023, 11, 14),
            date(2005, 5, 12),
            Decimal("12.3"),
            Decimal("12300"),
            Decimal("-" + "9" * 38),
            Decimal("9" * 38),
            Decimal("10000000.0"),
            bytearray(b"\xfb\xff"),
            "u",
            SEEN,
            "mysql-bin.00000000000000000003/00000000000000000154/00000000000000000002",
            None,
        )
    ]
    assert project.rows("select * from {schema}.by_offset") == [(1, "u", SEEN, 12, None)]
    assert project.columns("by_offset")[3] == ("_sequence", "bigint")


@pytest.mark.one_format("iceberg")
def test_the_files_of_a_binlog_sort_beyond_their_six_digits(project: Project) -> None:
    places = {"old": ("mysql-bin.999999", 5), "new": ("mysql-bin.1000000", 4), "newer": ("mysql-bin.1000000", 40)}
    sources = {name: {"connector": "mysql", "file": file, "pos": pos, "row": 0} for name, (file, pos) in places.items()}
    bodies = [payload("u", 0, after={"id": 1, "v": name}, source=source) for name, source in sources.items()]
    store(project, "raw", texts(bodies), "value string")
    project.write(
        {"models/events.sql": model(f"from_debezium({table('raw')}, columns={{'id': 'int', 'v': 'string'}})")}
    )
    project.dbt("run")
    assert project.rows("select v from {schema}.events order by _sequence") == [("old",), ("new",), ("newer",)]


def test_struct_envelopes_keep_their_types_or_take_those_asked_for(project: Project) -> None:
    row = "struct<id: int, amount: decimal(10,2), at: bigint, note: string, bytes: array<int>>"
    origin = "struct<connector: string, lsn: bigint, ts_ms: bigint>"
    flat = f"before {row}, after {row}, op string, source {origin}, ts_ms bigint"
    nested = f"value struct<before: {row}, after: {row}, op: string, source: {origin}, ts_ms: bigint>"
    source = Row(connector="postgresql", lsn=5, ts_ms=1700000000000)
    kept = Row(id=1, amount=Decimal("1.50"), at=1700000000000, note="n", bytes=[1])
    mark = "__debezium_unavailable_value"
    marked = Row(id=1, amount=Decimal("1.50"), at=1700000000000, note=mark, bytes=[*mark.encode()])
    events = [
        Row(before=None, after=kept, op="c", source=source, ts_ms=1),
        Row(before=kept, after=None, op="d", source=Row(connector="postgresql", lsn=6, ts_ms=1700000000000), ts_ms=1),
        Row(before=kept, after=marked, op="u", source=Row(connector="postgresql", lsn=7, ts_ms=1700000000000), ts_ms=1),
    ]
    store(project, "flat", events, flat)
    store(project, "nested", [*[(event,) for event in events], (None,)], nested)
    columns = {"id": "bigint", "amount": "string", "at": "timestamp", "note": "string"}
    number = "struct<born: int, free: struct<scale: int, value: binary>, fixed: binary, said: binary, at: timestamp, day: decimal(14,0)>"
    free, digits = Row(scale=1, value=bytearray(b"{")), bytearray(b"09")  # 0x7b is 123, 0x3039 is 12345
    avro = Row(
        before=None, after=Row(born=19675, free=free, fixed=digits, said=digits, at=SEEN, day=Decimal(20240131)), op="c"
    )
    store(project, "avro", [avro], f"before {number}, after {number}, op string")
    typed = {"born": "date", "free": "decimal(10,1)", "fixed": "decimal(8,2)", "said": "decimal(8,2)"}
    typed |= {"at": "timestamp", "day": "decimal(14,0)"}
    encodings = {"free": "base64", "said": "base64", "at": "millis", "day": "base64"}  # some have their type already
    project.write(
        {
            "models/numbers.sql": model(f"from_debezium({table('avro')}, columns={typed}, encodings={encodings})"),
            "models/envelopes.sql": "select * from {{ target.schema }}.flat",
            "models/of_envelopes.sql": model("from_debezium(ref('envelopes'))"),
            "models/loaded.sql": "select 1 as id, 'I' as Op, 7 as nr",
            "models/of_loaded.sql": model("from_dms(ref('loaded'), sequence='nr')"),
            "models/as_they_are.sql": model(f"from_debezium({table('flat')})"),
            "models/asked_for.sql": model(
                f"from_debezium({table('nested')}, columns={columns}, encodings={{'at': 'millis'}})"
            ),
        }
    )
    project.dbt("run")
    low, high, highest = (f"0000000000000000000{lsn}" for lsn in (5, 6, 7))
    assert project.rows("select * from {schema}.as_they_are order by _sequence") == [
        (1, Decimal("1.50"), 1700000000000, "n", [1], "i", SEEN, low, None),
        (1, Decimal("1.50"), 1700000000000, "n", [1], "d", SEEN, high, None),
        (1, Decimal("1.50"), 1700000000000, None, None, "u", SEEN, highest, ["id", "amount", "at"]),
    ]
    assert project.columns("as_they_are")[:3] == [("id", "int"), ("amount", "decimal(10,2)"), ("at", "bigint")]
    assert project.rows("select * from {schema}.asked_for order by _sequence") == [
        (1, "1.50", SEEN, "n", "i", SEEN, low, None),
        (1, "1.50", SEEN, "n", "d", SEEN, high, None),
        (1, "1.50", SEEN, None, "u", SEEN, highest, ["id", "amount", "at"]),
    ]
    assert project.columns("asked_for")[:3] == [("id", "bigint"), ("amount", "string"), ("at", "timestamp")]
    numbers = (date(2023, 11, 14), Decimal("12.3"), Decimal("123.45"), Decimal("123.45"), SEEN, Decimal("20240131"))
    assert project.rows("select * from {schema}.numbers") == [(*numbers, "i", *[None] * 3)]
    of_refs = ("of_envelopes", "of_loaded")
    held = [(project.columns(name), project.rows(f"select count(*) from {{schema}}.{name}")) for name in of_refs]
    assert [rows for _, rows in held] == [[(3,)], [(1,)]]
    project.dbt("run", "--empty", "--select", *of_refs)
    empty = [(project.columns(name), project.rows(f"select count(*) from {{schema}}.{name}")) for name in of_refs]
    assert empty == [(columns, [(0,)]) for columns, _ in held]


def test_structs_of_before_and_after_need_not_be_alike(project: Project, tmp_path: Path) -> None:
    """JSON files as Spark infers them: fields in the order of the alphabet, those that no envelope has are not there."""
    first, second, none = tmp_path / "inserts", tmp_path / "changes", tmp_path / "truncates"
    given = {
        first: [payload("c", 1, after={"id": 1, "name": "a"}), payload("c", 2, after={"id": 2, "name": "b"})],
        second: [payload("u", 3, before={"id": 1, "tags": None, "nr": "7"},
                         after={"name": "c", "id": 1, "size": 5_000_000_000, "tags": ["x"], "nr": 7}),
                 payload("d", 4, before={"id": 2, "old": True, "size": 1.5, "nr": "8"})],
        none: [payload("t", 5)],
    }  # fmt: skip
    for folder, bodies in given.items():
        folder.mkdir()
        (folder / "part.json").write_text("\n".join(json.dumps(body) for body in bodies))
        inferred = project.spark.read.json(str(folder))
        inferred.write.format(project.file_format).saveAsTable(f"{project.schema}.raw_{folder.name}")
        project.write({f"models/{folder.name}.sql": model(f"from_debezium({table(f'raw_{folder.name}')})")})
    # an envelope within a struct, without source and ts_ms
    store(project, "packed", [(7, ("s", ((1,), (2,), "u")))], PACKED)
    project.write(
        {"models/unpacked.sql": model(f"from_debezium({table('packed')}, value='value.payload', sequence='lsn')")}
    )
    project.dbt("run", "--exclude", "truncates")
    assert project.rows("select * from {schema}.unpacked") == [(2, "u", None, 7, None)]
    rows = "select id, name, {} _op from {{schema}}.{} order by id"
    assert project.columns("inserts")[:2] == [("id", "bigint"), ("name", "string")]
    assert project.rows(rows.format("", "inserts")) == [(1, "a", "i"), (2, "b", "i")]
    assert project.columns("changes")[:6] == [
        ("id", "bigint"), ("name", "string"), ("nr", "bigint"), ("size", "double"), ("tags", "array<string>"),
        ("old", "boolean"),
    ]  # fmt: skip
    assert project.rows(rows.format("nr, size, tags, old,", "changes")) == [
        (1, "c", 7, 5e9, ["x"], None, "u"),
        (2, None, 8, 1.5, None, True, "d"),
    ]
    assert "raw_truncates is a struct, expected at least one" in project.error("run", "--select", "truncates")


TOO_LONG = "AQAAAAAAAAAAAAAAAAAAAAA="  # 2 to the 128th, in 17 bytes
INCREMENTAL = {"connector": "postgresql", "snapshot": "incremental"}
REREAD = {"scn": "112", "snapshot": "incremental"}
DOCUMENT = '{"_id": 1}'  # as MongoDB's connector writes it
TEN_THOUSANDTHS = {"name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "4"}}
IMAGE = "before struct<id: int>, after struct<id: int>, op string"
ENVELOPE = "before: struct<id: int>, after: struct<id: int>, op: string"
PACKED = f"lsn bigint, value struct<schema: string, payload: struct<{ENVELOPE}>>"

PLACELESS = ("mysql", "sqlserver", "oracle")

#: table: its rows, and their columns where these are not one of JSON
MISREAD_TABLES: dict[str, tuple[list[Any], str]] = {
    "decimals": (texts([payload("c", 1, after={"amount": "1234"})]), "value string"),
    "times": (texts([payload("c", 1, after={"at": 1700000000000})]), "value string"),
    "numbers": (texts([payload("c", 1, after={"amount": TOO_LONG})]), "value string"),
    "increments": (texts([payload("r", 1, after={"id": 1}, source=INCREMENTAL)]), "value string"),
    "reread": (texts([payload("r", 1, after={"id": 1}, source={"connector": "oracle", **REREAD})]), "value string"),
    "placeless": (texts([{**payload("c", 1, after={"id": 1}), "source": POSTGRES}]), "value string"),
    **{
        f"placeless_{connector}": (
            texts([{**payload("c", 1, after={"id": 1}), "source": {"connector": connector, "ts_ms": 7}}]),
            "value string",
        )
        for connector in PLACELESS
    },
    "flattened": (texts([{"id": 1, "__op": "c"}]), "value string"),
    "broken": ([('{"op": "c", "after": {"id": ',)], "value string"),
    "documents": (texts([payload("c", 1, after=DOCUMENT)]), "value string"),
    "hex_texts": (
        texts([with_schema(payload("c", 1, after={"photo": "0aff"}), {"photo": {"type": "string"}})]),
        "value string",
    ),
    "no_tombstone": ([('{"payload": null, "id": 1}',)], "value string"),
    "micro_times": (
        texts([with_schema(payload("c", 1, after={"born": 7}), {"born": {"name": "io.debezium.time.MicroTime"}})]),
        "value string",
    ),
    "days": (
        texts([with_schema(payload("c", 1, after={"born": 19675}), {"born": {"name": "io.debezium.time.Date"}})]),
        "value string",
    ),
    "dms_rows": ([("I", "12a", "2024-01-01")], "Op string, amount string, changed string"),
    "dms_clock": ([("I", "2024-01-31 10:30", "2024-01-01")], "Op string, day string, changed string"),
    "dms_finer": ([("I", "10.505", "2024-01-01")], "Op string, amount string, changed string"),
    # 12345 ten-thousandths
    "finer": (
        texts([with_schema(payload("c", 1, after={"amount": "MDk="}), {"amount": TEN_THOUSANDTHS})]),
        "value string",
    ),
    "structs": ([((1,), (2,), "u")], IMAGE),
    "opless": ([(None, (1,), None)], IMAGE),
    "texts": ([((1,), DOCUMENT, "u")], "before struct<id: int>, after string, op string"),
    "packed": ([(7, ("s", ((1,), (2,), "u")))], PACKED),
}

#: model: how it reads a table, and what is said of it
MISREAD: dict[str, tuple[str, tuple[str, ...]]] = {
    "decimals_read": (
        f"from_debezium({table('decimals')}, columns={{'amount': 'decimal(8,2)'}})",
        (
            "from_debezium can't tell how column amount (decimal(8,2)) is written, as no schema part of the envelope says"
            " it in a way that is known. Expected: encodings={'amount': one of base64, text}",
        ),
    ),
    "times_read": (
        f"from_debezium({table('times')}, columns={{'at': 'timestamp'}})",
        ("can't tell how column at (timestamp) is written",),
    ),
    "numbers_read": (
        f"from_debezium({table('numbers')}, columns={{'amount': 'decimal(38,2)'}}, encodings={{'amount': 'base64'}})",
        (
            "column amount (decimal(38,2)) has a number of more than 16 bytes, which no decimal holds; ask for string to"
            f" get it as Debezium wrote it: {TOO_LONG}",
        ),
    ),
    **{
        f"{name}_read": (
            f"from_debezium({table(name)}, columns={{'id': 'int'}})",
            (
                "or whose source has no place in the log of its connector (lsn, file, commit_lsn, scn), has none among the"
                " changes; expected that place, or `sequence`: a column that follows the order in which Debezium wrote",
            ),
        )
        for name in ("increments", "placeless", "reread", *[f"placeless_{connector}" for connector in PLACELESS])
    },
    "flattened_read": (
        f"from_debezium({table('flattened')}, columns={{'id': 'int'}})",
        (
            "flattened has a row that is no Debezium envelope: its op is missing or none of c, u, d, r, t, m, or its after is no row,"
            " got op NULL. Expected before, after, op, source, ts_ms;",
        ),
    ),
    "broken_read": (
        f"from_debezium({table('broken')}, columns={{'id': 'int'}})",
        ("broken has a row that is no Debezium envelope",),
    ),
    "no_tombstone_read": (
        f"from_debezium({table('no_tombstone')}, columns={{'id': 'int'}})",
        ("no_tombstone has a row that is no Debezium envelope",),
    ),
    "documents_read": (
        f"from_debezium({table('documents')}, columns={{'_id': 'int'}})",
        ("documents has a row that is no Debezium envelope", "its after is no row, got op c. Expected before,"),
    ),
    "hex_read": (
        f"from_debezium({table('hex_texts')}, columns={{'photo': 'binary'}})",
        ("can't tell how column photo (binary) is written",),
    ),
    "untyped": (f"from_debezium({table('times')})", ("JSON has no types, got no `columns`",)),
    "micro_times_read": (
        f"from_debezium({table('micro_times')}, columns={{'born': 'date'}})",
        ("column born is by the envelope's schema part a io.debezium.time.MicroTime, of which no date can be made",),
    ),
    "days_read": (
        f"from_debezium({table('days')}, columns={{'born': 'timestamp'}}, encodings={{'born': 'millis'}})",
        ("column born is by the envelope's schema part a io.debezium.time.Date, of which no timestamp can be made",),
    ),
    "dms_read": (
        f"from_dms({table('dms_rows')}, columns={{'amount': 'decimal(8,2)'}}, timestamp='changed')",
        ("dbt_cdc: from_dms: column amount (decimal(8,2)) can not be read from: 12a",),
    ),
    "dms_clock_read": (
        f"from_dms({table('dms_clock')}, columns={{'day': 'date'}}, timestamp='changed')",
        ("dbt_cdc: from_dms: column day (date) can not be read from: 2024-01-31 10:30",),
    ),
    "dms_finer_read": (
        f"from_dms({table('dms_finer')}, columns={{'amount': 'decimal(8,2)'}}, timestamp='changed')",
        ("dbt_cdc: from_dms: column amount (decimal(8,2)) can not be read from: 10.505",),
    ),
    "dms_widest_read": (
        f"from_dms({table('dms_finer')}, columns={{'amount': 'decimal(38,2)'}}, timestamp='changed')",
        ("dbt_cdc: from_dms: column amount (decimal(38,2)) can not be read from: 10.505",),
    ),
    "texts_read": (f"from_debezium({table('texts')})", ("texts has a row that is no Debezium envelope",)),
    "opless_read": (f"from_debezium({table('opless')})", ("opless has a row that is no Debezium envelope",)),
    "finer_read": (
        f"from_debezium({table('finer')}, columns={{'amount': 'decimal(8,2)'}})",
        ("dbt_cdc: from_debezium: column amount (decimal(8,2)) can not be read from: MDk=",),
    ),
    "struct_read": (
        f"from_debezium({table('structs')}, columns={{'idd': 'int'}})",
        ("unknown column 'idd', did you mean 'id'?",),
    ),
    "misspelt": (
        f"from_debezium({table('times')}, columns={{'amount': 'decimal(8,2)', 'id': 'int'}},"
        " encodings={'amuont': 'text', 'amount': 'bas64', 'id': 'text'})",
        (
            "unknown column in encodings 'amuont', did you mean 'amount'?",
            "unknown encoding 'bas64', did you mean 'base64'?",
            "column 'id' of type int takes no encoding, got 'text'",
        ),
    ),
    "unknown_types": (
        f"from_debezium({table('times')}, columns={{'id': 'intt', 'amount': 'decimal(8,2'}}, encodings={{'id': 'text'}})",
        (
            "from_debezium: column 'id': unknown type 'intt', did you mean 'int'?",
            "from_debezium: column 'amount': type \"decimal(8,2\" is none of Spark's, expected such as varchar(10), decimal(38,2)",
        ),
    ),
    "no_value": (
        f"from_debezium({table('times')}, columns={{'id': 'int'}}, value='valeu')",
        ("unknown column in value 'valeu', did you mean 'value'?",),
    ),
    "no_field": (
        f"from_debezium({table('packed')}, value='value.paylaod', sequence='lnsn')",
        (
            "unknown column in value 'paylaod', did you mean 'payload'?",
            "unknown column in sequence 'lnsn', did you mean 'lsn'?",
        ),
    ),
    "one_level_up": (
        f"from_debezium({table('packed')})",
        (
            "value: value is a struct of schema, payload, expected one of before, after and op; give value='value.payload'",
        ),
    ),
    "text_inside": (
        f"from_debezium({table('times')}, columns={{'id': 'int'}}, value='value.payload')",
        ("unknown column in value 'payload'",),
    ),
}

#: column: its type, its encoding, and a value that is none of these; PostgreSQL's infinity is one
UNREADABLE: dict[str, tuple[str, str | None, Any]] = {
    "id": ("int", None, "x1"),
    "amount": ("decimal(8,2)", "text", "a"),
    "day": ("date", None, "soon"),
    "bytes": ("binary", "base64", "é!"),
    "noon": ("timestamp", None, "12:00:00"),  # of which day?
    "clock": ("date", None, "2024-01-31T10:30:00Z"),
    "roughly": ("date", None, "2024-01-31 or so"),
    "month": ("date", "text", "202403"),
    "period": ("timestamp", "text", "202403"),
    "zoned": ("timestamp_ntz", "text", "2024-01-31T10:30:00+05:00"),
    "literal": ("double", None, "1d"),
    "forever": ("timestamp", "millis", 9223372036825200),
    "longest": ("timestamp", "millis", 9223372036825200000),
    "longago": ("timestamp", "millis", -9223372036832400),
    "infinite": ("date", "text", "-5877611-06-21Z"),
    "eternal": ("timestamp_ntz", "millis", -9223372036832400000),
    "ever": ("timestamp", "micros", 9223372036825200000),
    "never": ("timestamp_ntz", "micros", -9223372036832400000),
    "endless": ("timestamp", "nanos", 9223372036825200000),
    "doomsday": ("date", "micros", 9223372036825200000),
    "last_day": ("date", "nanos", -9223372036832400000),
    "oldest": ("timestamp", "nanos", -9223372036854775808),
    "far": ("timestamp_ntz", "micros", 4000000000000000000),
    "sizes": ("array<int>", None, [1, "x"]),
    "more": ("map<string,int>", None, {"k": 1, "l": "y"}),
    "pair": ("struct<a: struct<b: array<int>>>", None, {"a": {"b": [1.5]}}),
}


def read_unreadable(column: str) -> str:
    """A call that reads one column of all those values."""
    type_, encoding, _ = UNREADABLE[column]
    encodings = {column: encoding} if encoding else {}
    return f"from_debezium({table('unreadable')}, columns={ {column: type_}!r}, encodings={encodings!r})"


@dataclass(frozen=True)
class Misread:
    """What was said of each model of a run, and the tables that are there after it."""

    messages: dict[str, str]
    tables: set[str]


@pytest.fixture(scope="module")
def misread(spark: SparkSession, target: dict[str, Any]) -> Iterator[Misread]:
    with shared_project(spark, target) as project:
        for name, (rows, schema) in MISREAD_TABLES.items():
            store(project, name, rows, schema)
        values = [payload("c", 1, after={column: value}) for column, (_, _, value) in UNREADABLE.items()]
        store(project, "unreadable", texts(values), "value string")
        calls = {f"unreadable_{column}": read_unreadable(column) for column in UNREADABLE}
        calls |= {name: call for name, (call, _) in MISREAD.items()}
        project.write({f"models/{name}.sql": model(call) for name, call in calls.items()})
        project.sql("set spark.sql.ansi.enabled = false")
        try:
            results = project.invoke("run").result.results
        finally:
            project.sql("reset spark.sql.ansi.enabled")
        yield Misread({result.node.name: str(result.message) for result in results}, project.tables())


@pytest.mark.parametrize("reader", MISREAD)
def test_what_could_mean_two_things_or_is_no_envelope_fails(misread: Misread, reader: str) -> None:
    for told in MISREAD[reader][1]:
        assert told in misread.messages[reader]


@pytest.mark.parametrize("column", UNREADABLE)
def test_a_value_that_is_none_of_the_type_asked_for_fails_and_is_shown(misread: Misread, column: str) -> None:
    type_, _, value = UNREADABLE[column]
    shown = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    told = f"dbt_cdc: from_debezium: column {column} ({type_}) can not be read from: {shown}"
    assert told in misread.messages[f"unreadable_{column}"]


def test_what_can_not_be_read_is_not_written(misread: Misread) -> None:
    assert misread.tables == {*MISREAD_TABLES, "unreadable"}


def test_rows_of_dms_in_csv_become_events_and_a_full_load_reads_as_r(project: Project, tmp_path: Path) -> None:
    full, changes = tmp_path / "LOAD00000001.csv", tmp_path / "20231114-221320000.csv"
    # the time of a full load's row is that of its transfer, here after the changes
    full.write_text('1,"Doe, Jane",10.50,2023-11-15 00:00:00.000000\n2,Bob,,2023-11-15 00:00:00.000000\n')
    changes.write_text(
        "U,1,Jane,11.00,2023-11-14 22:13:20.000001\n"
        "I,3,Ann,1,2023-11-14 22:13:20.000002\n"
        "D,2,Bob,,2023-11-14 22:13:20.000003\n"
    )
    names = ["id", "name", "amount", "changed"]
    project.write(
        {
            "models/full_load.sql": csv_model(full, names),
            "models/change_rows.sql": csv_model(changes, ["Op", *names]),
            "models/events.sql": """
                {{ config(materialized='table') }}
                {% set columns = {'id': 'int', 'name': 'string', 'amount': 'decimal(8,2)'} %}
                select * from {{ dbt_cdc.from_dms(ref('full_load'), columns=columns, timestamp='changed') }}
                union all
                select * from {{ dbt_cdc.from_dms('change_rows', columns=columns, timestamp='changed') }}
            """,
            "models/all_columns.sql": model("from_dms('change_rows', timestamp='changed', sequence='id')"),
            "models/unordered.sql": model("from_dms('change_rows')"),
            "models/misnamed.sql": model("from_dms('change_rows', columns={'nam': 'string'}, timestamp='chagned')"),
            "models/no_op.sql": model(
                "from_dms('change_rows', columns={'id': 'itn'}, op='operation', sequence='changd')"
            ),
        }
    )
    message = project.error("run")
    assert "from_dms: rows with an operation need an order, got neither `timestamp` nor `sequence`" in message
    assert "unknown column 'nam', did you mean 'name'?" in message
    assert "unknown column in timestamp 'chagned', did you mean 'changed'?" in message
    for told in (
        "'id': unknown type 'itn', did you mean 'int'?",
        "column in op 'operation'",
        "in sequence 'changd', did you",
    ):
        assert told in message
    assert project.tables() == {"full_load", "change_rows", "events", "all_columns"}
    midnight = datetime(2023, 11, 15)
    assert project.rows("select * from {schema}.events order by _sequence, id") == [
        (1, "Doe, Jane", Decimal("10.50"), "r", midnight, ""),
        (2, "Bob", None, "r", midnight, ""),
        (1, "Jane", Decimal("11.00"), "u", SEEN.replace(microsecond=1), "2023-11-14 22:13:20.000001"),
        (3, "Ann", Decimal("1.00"), "i", SEEN.replace(microsecond=2), "2023-11-14 22:13:20.000002"),
        (2, "Bob", None, "d", SEEN.replace(microsecond=3), "2023-11-14 22:13:20.000003"),
    ]
    assert project.columns("events") == [
        ("id", "int"),
        ("name", "string"),
        ("amount", "decimal(8,2)"),
        ("_op", "string"),
        ("_ts", "timestamp"),
        ("_sequence", "string"),
    ]
    assert project.columns("all_columns") == [(name, "string") for name in ("name", "amount", "_op")] + [
        ("_ts", "timestamp"),
        ("_sequence", "string"),
    ]


def test_positions_sort_as_the_logs_of_their_sources_and_instants_stay_what_they_are(project: Project) -> None:
    lsn = {"commit_lsn": "00000027:00000758:0005", "change_lsn": "00000027:00000758:0003", "event_serial_no": 2}
    oracle = {"connector": "oracle", "scn": "9007199254740993", "ssn": 0}
    sources: list[dict[str, Any]] = [
        {"connector": "sqlserver", **lsn},
        {"connector": "db2", **lsn, "event_serial_no": None},
        {**oracle, "rs_id": " 0x0000b1.00012ab3.0010 "},
        {**oracle, "rs_id": " 0x0000b1.00012ab3.0020 "},
        {**oracle, "snapshot": "last"},
        {"connector": "mongodb"},
    ]
    store(
        project,
        "raw",
        texts(
            [payload("u", 1, after={"id": n}, source=s) for n, s in enumerate(sources)]
            # before anything is recorded, a snapshot has no LSN
            + [payload("r", 1, after={"id": 6}, source={"connector": "sqlserver", "snapshot": "true"})]
        ),
        "value string",
    )
    numbers = ["1.50E1", "-0E-10", "100E-1", "-7.000", "+.5", "1e+3"]
    store(
        project, "numbers", [("I", text, "2024-01-01") for text in numbers], "Op string, amount string, changed string"
    )
    moments = {"id": "int", "at": "timestamp", "wall": "timestamp_ntz", "day": "date"}
    # one o'clock comes twice that night
    project.sql("""
        create view {schema}.times as
        select cast(null as struct<id: int, at: timestamp, wall: timestamp, day: timestamp>) as before, 'c' as op,
            named_struct('id', 1, 'at', timestamp '2023-11-05 06:30:00Z', 'wall', timestamp '2023-11-05 06:30:00Z',
                'day', timestamp '2023-11-05 00:00:00Z') as after
    """)
    project.write(
        {
            "models/positions.sql": model(f"from_debezium({table('raw')}, columns={{'id': 'int'}})"),
            "models/amounts.sql": model(
                f"from_dms({table('numbers')}, columns={{'amount': 'decimal(38,1)'}}, timestamp='changed')"
            ),
            "models/instants.sql": model(f"from_debezium({table('times')}, columns={moments})"),
        }
    )
    with in_zone(project, "America/New_York"):
        project.dbt("run")
    scn, zero = "00009007199254740993", "0" * 20
    assert project.rows("select id, _sequence from {schema}.positions order by id") == [
        (0, f"00000027:00000758:0005/00000027:00000758:0003/{zero[:-1]}2"),
        (1, f"00000027:00000758:0005/00000027:00000758:0003/{zero}"),
        (2, f"{scn}/0x0000b1.00012ab3.0010/{zero}"),
        (3, f"{scn}/0x0000b1.00012ab3.0020/{zero}"),
        (4, f"{scn}/{zero}"),
        (5, "00000001700000000000"),
        (6, zero),
    ]
    read = [Decimal(text) for text in ("-7.0", "0.0", "0.5", "10.0", "15.0", "1000.0")]
    assert project.rows("select amount from {schema}.amounts order by amount") == [(number,) for number in read]
    assert project.columns("amounts")[0] == ("amount", "decimal(38,1)")
    at = datetime(2023, 11, 5, 6, 30)
    assert project.rows("select id, at, wall, day from {schema}.instants") == [(1, at, at, date(2023, 11, 5))]


def csv_model(file: Path, names: list[str]) -> str:
    columns = ", ".join(f"_c{i} as {name}" for i, name in enumerate(names))
    return f"{{{{ config(materialized='table') }}}}\nselect {columns} from csv.`{file}`\n"


def test_dms_rows_with_another_operation_fail(project: Project) -> None:
    store(project, "changes", [("X", 1, 1, 1.5)], "Op string, id int, seq bigint, ratio double")
    project.write(
        {
            "models/events.sql": model(f"from_dms({table('changes')}, sequence='seq')"),
            "models/by_double.sql": model(f"from_dms({table('changes')}, sequence='ratio')"),
        }
    )
    message = project.error("run")
    assert (
        "changes has a row with another operation than I, U, D in Op, got X; expected DMS output, give the" in message
    )
    assert "from_dms: column 'ratio' of type double can't order changes, expected text, a timestamp, a date" in message
    assert project.tables() == {"changes"}
    project.sql("delete from {schema}.changes")
    # names as Hive keeps them
    store(
        project,
        "numbered",
        [("U", 1, 9, "10"), (None, 2, 99, None), ("I", 3, None, "")],
        "op string, id int, seq bigint, digits string",
    )
    project.write(
        {
            "models/events.sql": model(f"from_dms({table('numbered')}, sequence='SEQ')"),
            "models/by_double.sql": model(f"from_dms({table('numbered')}, sequence='digits')"),
        }
    )
    project.dbt("run")
    assert project.rows("select _sequence from {schema}.by_double where id = 1") == [("0" * 36 + "10",)]
    assert project.rows("select id, _op, _ts, _sequence from {schema}.events order by id") == [
        (1, "u", None, "0" * 37 + "9"),
        (2, "r", None, ""),
        (3, "r", None, ""),
    ]
    assert project.rows("select _op, _sequence from {schema}.by_double where id = 3") == [("r", "")]


def test_a_timestamp_is_utc_in_any_session_time_zone(project: Project) -> None:
    body = payload("c", 1, after={"at": 1700000000000, "wall": 1700000000000})
    columns = {"at": "timestamp", "wall": "timestamp_ntz"}
    encodings = {"at": "millis", "wall": "millis"}
    store(project, "raw", texts([body]), "value string")
    project.write(
        {"models/events.sql": model(f"from_debezium({table('raw')}, columns={columns}, encodings={encodings})")}
    )
    with in_zone(project, "America/New_York"):
        project.dbt("run")
    seconds = int(datetime(2023, 11, 14, 22, 13, 20, tzinfo=timezone.utc).timestamp())
    assert project.rows("select unix_seconds(at), wall, unix_seconds(_ts) from {schema}.events") == [
        (seconds, SEEN, seconds)
    ]


LISTS = {"tags": "array<string>", "sizes": "array<int>", "more": "map<string,string>"}
LISTS |= {"refs": "array<string>", "parts": "array<string>", "scan": "string"}
ORDER_COLUMNS = {"id": "bigint", "customer": "string", "note": "string", "placed_at": "timestamp", **LISTS}
UNAVAILABLE = "__debezium_unavailable_value"


def order(id_: int, customer: str, note: str) -> dict[str, Any]:
    nested: dict[str, Any] = {"tags": ["a"], "sizes": [1, 2], "more": {"k": "v"}}
    nested |= {"refs": ["00000000-0000-3000-8000-000000000001"], "parts": ["YQ=="], "scan": "61"}
    if note == UNAVAILABLE:  # as PostgreSQL's large arrays and hstores come that an update left alone, and BLOBs in hex
        nested = {"tags": [UNAVAILABLE], "sizes": [*UNAVAILABLE.encode()], "more": {UNAVAILABLE: UNAVAILABLE}}
        nested |= {"refs": ["b68a35a7-17ad-35b3-af2a-ae46edb4545a"], "scan": UNAVAILABLE.encode().hex()}
        nested |= {"parts": ["X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="]}
    return {"id": id_, "customer": customer, "note": note, "placed_at": 1700000000000000, **nested}


def order_envelope(*parts: Any, **images: Any) -> dict[str, Any]:
    kinds = {"placed_at": {"name": "io.debezium.time.MicroTimestamp"}}
    body = with_schema(payload(*parts, **images), {})
    for part in body["schema"]["fields"][:2]:
        part["fields"] = [{"type": "string", "field": name, **kinds.get(name, {})} for name in ORDER_COLUMNS]
    return body


ORDERS = [
    order_envelope("r", 10, after=order(1, "Ann", "read")),
    order_envelope("r", 10, after=order(2, "Bob", "read")),
    order_envelope("u", 30, after=order(1, "Anna", UNAVAILABLE)),
    order_envelope("c", 20, after=order(3, "Cid", "new")),
    order_envelope("d", 40, before={"id": 2}),
    None,
]
ORDERS_AND_LATE_ONES = [
    order_envelope("u", 25, after=order(2, "Bobby", "late, before the delete")),
    order_envelope("u", 50, after=order(3, "Cid", "changed")),
    *ORDERS,
]

#: batch: its envelopes, and id, customer, note and placed_at of the orders after it
ORDER_BATCHES: dict[str, tuple[list[Any], list[tuple[Any, ...]]]] = {
    "a first batch": (ORDERS, [(1, "Anna", "read", SEEN), (3, "Cid", "new", SEEN)]),
    "the same and late events": (ORDERS_AND_LATE_ONES, [(1, "Anna", "read", SEEN), (3, "Cid", "changed", SEEN)]),
    "a truncate": ([order_envelope("t", 45)], [(3, "Cid", "changed", SEEN)]),
    "events around the truncate": (
        [
            order_envelope("c", 44, after=order(4, "Dan", "older than the truncate, but later here")),
            order_envelope("c", 46, after=order(5, "Eve", "after the truncate")),
        ],
        [(3, "Cid", "changed", SEEN), (5, "Eve", "after the truncate", SEEN)],
    ),
}
ORDER_OPTIONS = {
    "sequence_by": "_sequence",
    "apply_as_deletes": "_op = 'd'",
    "apply_as_truncates": "_op = 't'",
    "columns_to_update": "_columns",
    "except_column_list": ["_op", "_ts", "_sequence", "_columns"],
}
# the changes of that table are a feed in their turn, given whole each time
COPIED = """
    {{ config(materialized='apply_changes', unique_key='id', meta={'dbt_cdc': {
        'sequence_by': 'ts', 'stored_as_scd_type': 2, 'apply_as_deletes': "op = 'd'",
        'column_list': ['customer', 'note']}}) }}
    select image.*, op, ts
    from (select if(op = 'd', before, after) as image, op, ts
          from {{ dbt_cdc.table_changes(ref('orders')) }})
"""


@dataclass(frozen=True)
class Orders:
    """A table of orders after all batches, with the rows that it had after each, and its lists after the first."""

    project: Project
    kept: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    lists: list[tuple[Any, ...]] = field(default_factory=list)


@pytest.fixture(scope="module")
def orders(spark: SparkSession, target: dict[str, Any]) -> Iterator[Orders]:
    with_feed = "tblproperties={'delta.enableChangeDataFeed': 'true'}"
    config = f"materialized='apply_changes', unique_key='id', {with_feed}, meta={{'dbt_cdc': {ORDER_OPTIONS}}}"
    query = f"select * from {{{{ dbt_cdc.from_debezium({table('raw')}, columns={ORDER_COLUMNS}) }}}}"
    with shared_project(spark, target) as project:
        orders = Orders(project)
        project.write({"models/orders.sql": f"{{{{ config({config}) }}}}\n{query}\n"})
        for batch, (envelopes, _) in ORDER_BATCHES.items():
            if batch == "a truncate":
                project.write({"models/copied.sql": COPIED})
            store(project, "raw", texts(envelopes), "value string")
            project.dbt("run")
            orders.kept[batch] = project.rows("select id, customer, note, placed_at from {schema}.orders order by id")
            if batch == "a first batch":
                orders.lists.extend(project.rows(f"select {', '.join(LISTS)} from {{schema}}.orders"))
            project.sql("drop table {schema}.raw")
        yield orders


@pytest.mark.parametrize("batch", ORDER_BATCHES)
def test_a_debezium_feed_goes_into_apply_changes_as_documented(orders: Orders, batch: str) -> None:
    assert orders.kept[batch] == ORDER_BATCHES[batch][1]


def test_what_debezium_marks_as_unavailable_stays_as_it_was(orders: Orders) -> None:
    assert orders.lists == [(["a"], [1, 2], {"k": "v"}, ["00000000-0000-3000-8000-000000000001"], ["YQ=="], "61")] * 2


def test_a_debezium_feed_gives_the_columns_asked_for(orders: Orders) -> None:
    assert orders.project.columns("orders") == list(ORDER_COLUMNS.items())


def test_the_changes_of_a_table_that_a_feed_goes_into_are_a_feed_in_their_turn(orders: Orders) -> None:
    copied = "select id, customer, note, __END_AT is null from {schema}.copied order by id, __START_AT"
    assert orders.project.rows(copied) == [
        (1, "Anna", "read", False),
        (3, "Cid", "new", False),
        (3, "Cid", "changed", True),
        (5, "Eve", "after the truncate", True),
    ]


def documented(section: str) -> str:
    """The first SQL in a section of docs/feeds.md."""
    return re.split(r"```(?:sql)?\n", (ROOT / "docs/feeds.md").read_text().split(f"\n## {section}\n")[1])[1]


def test_a_snapshot_is_rebuilt_from_its_history_as_documented(project: Project) -> None:
    rebuilt = documented("From a snapshot's history")
    project.write(
        {
            "models/sources.yml": SOURCES,
            "snapshots/s.yml": """
                snapshots:
                  - name: things_snapshot
                    relation: source('raw', 'things')
                    config: {unique_key: id, strategy: check, check_cols: [status], hard_deletes: invalidate,
                             meta: {dbt_cdc: {operational_metadata: true}}}
                  - name: daily
                    relation: source('raw', 'things')
                    config: {unique_key: id, strategy: check, check_cols: [status], updated_at: day,
                             hard_deletes: invalidate}
            """,
            "models/rebuilt.sql": rebuilt,
            "models/of_days.sql": rebuilt.replace("things_snapshot", "daily"),
        }
    )
    history = "select id, status, dbt_valid_from, dbt_valid_to from {schema}.things_snapshot order by id, 3"
    today = project.rows("select current_date()")[0][0]
    old = "date '2024-01-01'"
    for rows in (
        f"(1, 'new', {old}), (2, 'new', current_date()), (3, 'new', {old})",
        f"(1, 'open', current_date()), (3, 'new', {old}), (4, 'new', {old})",
        f"(1, 'shut', current_date()), (2, 'new', current_date()), (3, 'new', {old}), (4, 'open', current_date())",
        f"(1, 'shut', current_date()), (3, 'new', {old})",
    ):
        supply(project, rows, "id, status, day")
        project.dbt("build", "--exclude", "of_days")
        assert project.rows("select * from {schema}.rebuilt order by id, 3") == project.rows(history)
    assert [(*row[:2], row[3] is None) for row in project.rows(history)] == [
        (1, "new", False),
        (1, "open", False),
        (1, "shut", True),
        (2, "new", False),
        (2, "new", False),
        (3, "new", True),
        (4, "new", False),
        (4, "open", False),
    ]

    # days: some records end where they begin
    then = date(2024, 1, 1)
    days = "select id, status, dbt_valid_from, dbt_valid_to from {schema}.daily order by id, 3, 4 nulls last, 2"
    assert project.rows(days) == [
        (1, "new", then, today),
        (1, "open", today, today),
        (1, "shut", today, None),
        (2, "new", today, today),
        (2, "new", today, today),
        (3, "new", then, None),
        (4, "new", then, today),
        (4, "open", today, today),
    ]
    project.dbt("run", "--select", "of_days")
    assert project.rows("select * from {schema}.of_days order by id, 3") == [
        (1, "new", then, today),
        (1, "shut", today, None),
        (3, "new", then, None),
        (4, "new", then, today),
    ]

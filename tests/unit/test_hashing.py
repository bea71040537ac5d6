"""The hash rule: digests computed by hand, and what must not make a difference."""

from __future__ import annotations

import hashlib

import pytest
from pyspark.sql import SparkSession

from dbt_cdc.hashing import hash_expression, pre_image

ROW = """
    select
        'x"y\\\\z' as B, 1 as a, cast(null as string) as gone, cast(1.5 as decimal(10, 2)) as c, 'NULL' as d, '' as e,
        date'2020-02-03' as f, timestamp'2020-01-01 12:00:00.5+00:00' as g, X'00FF' as h, double('NaN') as i,
        -0.0D as j, array('p', null) as k, named_struct('q', cast(null as int), 'r', 2) as l,
        map('z', 1, 'b', null) as m, timestamp_ntz'2020-01-01 12:00:00' as n, 'é漢😀' as o
"""
# written by hand from the rule: lower-cased names in order, NULL columns absent, one compact JSON object
TEXT = (
    '{"a":1,"b":"x\\"y\\\\z","c":1.50,"d":"NULL","e":"","f":"2020-02-03","g":"2020-01-01T12:00:00.500000Z",'
    '"h":"AP8=","i":"NaN","j":-0.0,"k":["p",null],"l":{"r":2},"m":[{"key":"b"},{"key":"z","value":1}],'
    '"n":"2020-01-01T12:00:00.000000","o":"é漢😀"}'
)


def test_the_pre_image_is_json_of_what_is_not_null_in_any_time_zone_and_order(spark: SparkSession) -> None:
    zone = spark.conf.get("spark.sql.session.timeZone")
    assert zone is not None
    frame = spark.sql(ROW)
    other = frame.select(*reversed(frame.columns))
    try:
        for session_zone in ("UTC", "Asia/Tokyo"):
            spark.conf.set("spark.sql.session.timeZone", session_zone)
            for each in (frame, other):
                assert each.selectExpr(pre_image(each.schema.fields)).collect()[0][0] == TEXT
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


@pytest.mark.parametrize(
    ("algorithm", "digest"),
    [
        ("md5", hashlib.md5(TEXT.encode()).hexdigest()),
        ("sha2_256", hashlib.sha256(TEXT.encode()).hexdigest()),
    ],
)
def test_the_digest_is_that_of_the_texts_bytes(spark: SparkSession, algorithm: str, digest: str) -> None:
    frame = spark.sql(ROW)
    assert frame.selectExpr(hash_expression(frame.schema.fields, algorithm)).collect()[0][0] == digest


def test_xxhash64_is_always_16_digits(spark: SparkSession) -> None:
    frame = spark.range(200)
    digests = frame.selectExpr(hash_expression(frame.schema.fields, "xxhash64") + " as d")
    assert digests.where("d rlike '^[0-9a-f]{16}$'").count() == 200


def test_no_columns_and_only_null_columns_have_the_same_digest(spark: SparkSession) -> None:
    empty = hashlib.md5(b"{}").hexdigest()
    frame = spark.sql("select cast(null as string) as a, cast(null as map<string, int>) as b")
    assert frame.selectExpr(hash_expression(frame.schema.fields), hash_expression([])).collect()[0] == (empty, empty)


def test_decimals_have_their_scale_and_are_written_as_java_writes_them(spark: SparkSession) -> None:
    frame = spark.sql("""
        select cast(0 as decimal(9, 2)) as a, cast(0 as decimal(38, 18)) as b, cast(1e-7 as decimal(9, 7)) as c,
            cast(0.000001 as decimal(9, 7)) as d, cast(1.5 as decimal(38, 18)) as e, cast(1e20 as decimal(38, 0)) as f
    """)
    expected = '{"a":0.00,"b":0E-18,"c":1E-7,"d":0.0000010,"e":1.500000000000000000,"f":100000000000000000000}'
    assert frame.selectExpr(pre_image(frame.schema.fields)).collect()[0][0] == expected


def test_names_with_quotes_dots_and_case_are_read_as_columns(spark: SparkSession) -> None:
    frame = spark.sql("""select 1 as `a.b`, 2 as `c``d`, 3 as `it's "q"`, 4 as Zeta""")
    expected = '{"a.b":1,"c`d":2,"it\'s \\"q\\"":3,"zeta":4}'
    assert frame.selectExpr(pre_image(frame.schema.fields)).collect()[0][0] == expected

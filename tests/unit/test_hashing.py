"""The hash rule: digests computed by hand, and what must not make a difference."""

from __future__ import annotations

import hashlib

import pytest
from pyspark.sql import SparkSession

from dbt_cdc.hashing import hash_expression, pre_image
from tests.support.places import PLACES, at

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


# of TEXT's bytes, by tools that are not Spark; xxhash64 has the seed 42
DIGESTS = {
    "md5": "9b1292d1d1eabad9198728fb4c74cfed",
    "sha2_256": "70c00573054708fd18349f14ae1319714b9d0a5df55d96346616aac9badfc332",
    "xxhash64": "c6f38fc892b3ae34",
}


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place[0])
def test_the_pre_image_is_json_of_what_is_not_null_in_any_place_and_order(
    spark: SparkSession, place: tuple[str, str]
) -> None:
    with at(spark, place):
        frame = spark.sql(ROW)
        for each in (frame, frame.select(*reversed(frame.columns))):
            fields = each.schema.fields
            digests = [hash_expression(fields, algorithm) for algorithm in DIGESTS]
            assert each.selectExpr(pre_image(fields), *digests).collect() == [(TEXT, *DIGESTS.values())]


def test_digests_are_those_that_other_tools_give(spark: SparkSession) -> None:
    assert DIGESTS["md5"] == hashlib.md5(TEXT.encode()).hexdigest()
    assert DIGESTS["sha2_256"] == hashlib.sha256(TEXT.encode()).hexdigest()
    frame = spark.sql("select id from values (1), (2), (251), (null) as (id)")
    digests = [hash_expression(frame.schema.fields, algorithm) for algorithm in ("sha2_256", "xxhash64")]
    assert frame.selectExpr("id", *digests).collect() == [
        (1, "037c9214eef74cc3887f3a4f085b4e17d76280dafd273b0ee160c09c4ba1cfd4", "2053ab77a04b4d75"),
        (2, "9e7e65453739bbc64ba155eed18a37bd5fb1196c7f29ded1da660b94414d7ad8", "7a67caa09a132e4e"),
        (251, "7ed9723524eb084b487621ac6b7026d3656aee47e78778c2f09d9376f2612e88", "00a783e72075773f"),
        (None, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", "b955abafff6631c0"),
    ]


def test_no_columns_and_only_null_columns_have_the_same_digest(spark: SparkSession) -> None:
    empty = hashlib.md5(b"{}").hexdigest()
    frame = spark.sql("select cast(null as string) as a, cast(null as map<string, int>) as b")
    assert frame.selectExpr(hash_expression(frame.schema.fields), hash_expression([])).collect()[0] == (empty, empty)


def test_null_is_absent_also_where_its_column_has_a_default(spark: SparkSession) -> None:
    spark.sql(
        "create table with_default (id int, v string default 'x', m map<string, int> default map()) using parquet"
    )
    spark.sql("insert into with_default values (1, null, null)")
    frame = spark.table("with_default")
    assert frame.selectExpr(pre_image(frame.schema.fields)).collect() == [('{"id":1}',)]
    spark.sql("drop table with_default")


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

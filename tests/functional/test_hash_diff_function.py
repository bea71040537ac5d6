"""dbt_cdc.hash_diff, the function: what it gives for both sides, and what it refuses."""

from __future__ import annotations

import datetime
import hashlib
from typing import Any

import pytest
from pyspark.sql import SparkSession

import dbt_cdc
from tests.support.places import on_another_day
from tests.support.spark import session_conf

pytestmark = pytest.mark.one_format("delta")

NEW, OLD = datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)


def told(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.select("id", "v", "operation", "eff_start_date").collect())


def test_rows_of_both_sides_are_told_apart_whether_or_not_the_digests_are_there(spark: SparkSession) -> None:
    first = spark.sql("select * from values (1, 'a'), (2, 'b'), (3, null) as (id, v)")
    second = spark.sql("select * from values (1, 'a'), (2, 'B'), (4, null) as (id, v)")
    start = dbt_cdc.hash_diff(None, first, keys="id", effective_date="2020-01-01")
    assert start.columns == ["keyhash", "nonkeyhash", "id", "v", "operation", "eff_start_date"]
    assert told(start.where("id < 3")) == [(1, "a", "I", OLD), (2, "b", "I", OLD)]
    digests = start.where("id = 3").select("keyhash", "nonkeyhash").collect()[0]
    assert tuple(digests) == (hashlib.md5(b'{"id":3}').hexdigest(), hashlib.md5(b"{}").hexdigest())

    full = dbt_cdc.hash_diff(start, second, keys=["id"], effective_date=NEW)
    assert sorted((r.id, r.operation, r.eff_start_date) for r in full.collect()) == [
        (1, "N", OLD), (2, "U", NEW), (3, "D", NEW), (4, "I", NEW)]  # fmt: skip
    delta = dbt_cdc.hash_diff(first, second, keys=["id"], effective_date=NEW, extract_type="delta")
    assert sorted((r.id, r.operation, r.eff_start_date) for r in delta.collect()) == [
        (1, "N", None), (2, "U", NEW), (3, "X", None), (4, "I", NEW)]  # fmt: skip
    # its own result is the next current: what was deleted stays gone, or comes back as new
    third = spark.sql("select * from values (2, 'B'), (3, null) as (id, v)")
    after = dbt_cdc.hash_diff(full.where("id <> 1"), third, keys=["id"], effective_date="2020-01-03")
    assert sorted((r.id, r.operation) for r in after.collect()) == [(2, "N"), (3, "I"), (4, "D")]
    bare = full.where("id <> 1").drop("keyhash", "nonkeyhash")
    after = dbt_cdc.hash_diff(bare, third, keys=["id"], effective_date=datetime.datetime(2020, 1, 3))
    assert sorted((r.id, r.operation, str(r.eff_start_date)) for r in after.collect()) == [
        (2, "N", "2020-01-02"), (3, "I", "2020-01-03"), (4, "D", "2020-01-03")]  # fmt: skip
    # without a date it is today's in UTC, whatever the zone of the process
    with on_another_day() as days:
        new = dbt_cdc.hash_diff(None, third, keys="id")
    assert new.select("eff_start_date").distinct().collect()[0][0] in days
    without = dbt_cdc.hash_diff(full, third.where("id = 2"), keys=["id"], effective_date="2020-01-03")
    assert sorted((r.id, r.operation) for r in without.collect()) == [(1, "D"), (2, "N"), (4, "D")]


def test_ignored_columns_and_other_algorithms(spark: SparkSession) -> None:
    first = spark.sql("select 1 as id, 'a' as v, 1 as batch")
    second = spark.sql("select 1 as id, 'a' as v, 2 as batch")
    same = dbt_cdc.hash_diff(first, second, keys=["id"], ignore_columns=["batch"], hash_algorithm="sha2_256").collect()
    assert [(row.operation, row.batch, len(row.keyhash)) for row in same] == [("N", 1, 64)]
    # one that only the current state has can be ignored, too
    lacks = dbt_cdc.hash_diff(first, second.drop("batch"), keys=["id"], ignore_columns=["batch"]).collect()
    assert [(row.operation, row.batch) for row in lacks] == [("N", 1)]
    differs = dbt_cdc.hash_diff(first, second, keys=["id"], hash_algorithm="xxhash64").collect()
    assert [(row.operation, row.batch, len(row.keyhash)) for row in differs] == [("U", 2, 16)]
    # digests of current that were made in another way are made anew
    kept = dbt_cdc.hash_diff(None, first, keys=["id"])
    again = dbt_cdc.hash_diff(kept, second, keys=["id"], ignore_columns=["batch"], hash_algorithm="sha2_256").collect()
    assert [(row.operation, row.batch, len(row.keyhash)) for row in again] == [("N", 1, 64)]


def test_names_match_whatever_their_case_and_a_column_of_two_types_takes_the_wider_one(spark: SparkSession) -> None:
    current = spark.sql("select * from values (1, 'a', 1.5), (2, 'b', 2.5), (3, 'c', 3.5) as (ID, Name, paid)")
    incoming = spark.sql("select * from values (1L, 'a', 1.50), (2L, 'B', 2.50) as (id, name, PAID)")
    for known in (current, dbt_cdc.hash_diff(None, current, keys="Id", effective_date=OLD)):
        told = dbt_cdc.hash_diff(known, incoming, keys="iD", effective_date=NEW)
        assert told.columns == ["keyhash", "nonkeyhash", "id", "name", "PAID", "operation", "eff_start_date"]
        assert [dict(told.dtypes)[name] for name in ("id", "PAID")] == ["bigint", "decimal(3,2)"]
        rows = told.selectExpr("id", "name", "cast(PAID as string)", "operation").collect()
        assert sorted(map(tuple, rows)) == [(1, "a", "1.50", "N"), (2, "B", "2.50", "U"), (3, "c", "3.50", "D")]


def test_digests_are_used_as_they_are_where_a_column_is_kept_apart_if_they_were_made_alike(spark: SparkSession) -> None:
    data = spark.sql("select * from values (1, 'a', 's1'), (2, 'b', 's2') as (id, v, ssn)")
    kept = dbt_cdc.hash_diff(None, data, keys="id").drop("ssn")
    changed = data.selectExpr("id", "v", "if(id = 2, 'new', ssn) as ssn")
    assert [row.operation for row in dbt_cdc.hash_diff(kept, changed, keys="id").orderBy("id").collect()] == ["N", "U"]
    with pytest.raises(ValueError, match=r"digests of current are not sha2_256 of these keys, and it lacks .*: ssn"):
        dbt_cdc.hash_diff(kept, changed, keys="id", hash_algorithm="sha2_256")
    # the digest of a narrower column says nothing about a wider one
    with pytest.raises(ValueError, match="column 'id' is bigint in incoming and int in current: cast one of them"):
        dbt_cdc.hash_diff(kept, changed.selectExpr("cast(id as bigint) as id", "v", "ssn"), keys="id")


def test_keys_that_are_null_or_stand_twice_and_wrong_options_are_refused(spark: SparkSession) -> None:
    good = spark.sql("select 1 as id, 'a' as v")
    bad = spark.sql("select * from values (1, 'a'), (1, 'b'), (null, 'c') as (id, v)")
    for sides in ({"current": good, "incoming": bad}, {"current": bad, "incoming": good}):
        with pytest.raises(ValueError) as rows:
            dbt_cdc.hash_diff(**sides, keys=["id"])
        side = "incoming" if sides["incoming"] is bad else "current"
        assert str(rows.value) == (
            f"dbt_cdc.hash_diff: 1 row(s) of {side} have NULL in a key part: id in {{}}; give every row a whole key; "
            f'2 row(s) of {side} share their key with another row: {{"id":1}} 2 times; supply each key once'
        )
    part = good.selectExpr("id", "cast(null as string) as `the part`", "v")
    told = '1 row(s) of {} have NULL in a key part: the part in {{"id":1}}; give every row a whole key'
    with pytest.raises(ValueError) as both:
        dbt_cdc.hash_diff(part, part, keys=["id", "the part"])
    assert str(both.value) == f"dbt_cdc.hash_diff: {told.format('current')}; {told.format('incoming')}"
    long = spark.sql("select repeat('x', 300) as id, v from values ('a'), ('b') as (v)")
    with pytest.raises(
        ValueError, match=r'share their key with another row: {"id":"x{193} 2 times; supply each key once'
    ):
        dbt_cdc.hash_diff(None, long, keys="id")
    for columns in ("id, v, v", "id, v, 2 as V"):
        for current, incoming in (
            (good, good.selectExpr(*columns.split(", "))),
            (good.selectExpr(*columns.split(", ")), good),
        ):
            side = "incoming" if current is good else "current"
            with pytest.raises(ValueError, match=f"{side} has column 'v' 2 times, each name may stand once"):
                dbt_cdc.hash_diff(current, incoming, keys="id")
    with pytest.raises(ValueError) as wrong:
        dbt_cdc.hash_diff(good, good, keys=["ID_"], extract_type="half", hash_algorithm="md4", effective_date="soon")
    with pytest.raises(ValueError) as unlike:
        dbt_cdc.hash_diff(good.selectExpr("id as nr", "1 as v"), good, keys=["id"])
    assert "current has no key column 'id'; column 'v' is string in incoming and int in current" in str(unlike.value)
    for part in ("did you mean 'id'?", "got 'half'", "got 'md4'", "got 'soon'"):
        assert part in str(wrong.value)
    for setting in ("parser.escapedStringLiterals", "parser.quotedRegexColumnNames", "caseSensitive"):
        with (
            session_conf(spark, {f"spark.sql.{setting}": "true"}),
            pytest.raises(ValueError, match=f"spark.sql.{setting} must be false, got true"),
        ):
            dbt_cdc.hash_diff(None, good, keys="id")
    with pytest.raises(ValueError) as kinds:
        dbt_cdc.hash_diff(5, None, keys=["id", 1], ignore_columns=["v", "V"])
    for part in (
        "incoming must be a Spark DataFrame, got a builtins.NoneType",
        "current must be a Spark DataFrame, got a builtins.int",
        "keys must be names of columns, got ['id', 1]",
        "ignore_columns: each column may stand once, got v, V",
    ):
        assert part in str(kinds.value)
    for given in (5, spark.range(1).id, True):
        with pytest.raises(ValueError, match=r"keys must be names of columns, got \[.+\]"):
            dbt_cdc.hash_diff(good, good, keys=given)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"hash_algorithm must be one of .+, got \['md5'\]"):
        dbt_cdc.hash_diff(good, good, keys="id", hash_algorithm=["md5"])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="keys: name at least one column"):
        dbt_cdc.hash_diff(good, good, keys=None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="incoming has a column 'operation', which hash_diff adds itself"):
        dbt_cdc.hash_diff(good, spark.sql("select 1 as id, 'SELL' as operation"), keys=["id"])
    for given in ("20200102", "", datetime.datetime(2020, 1, 2, 12)):
        with pytest.raises(ValueError, match=f"effective_date must be a date like 2019-06-18, got '{given}'"):
            dbt_cdc.hash_diff(good, good, keys=["id"], effective_date=given)
    # a column of NULLs alone is of any type
    nothing = dbt_cdc.hash_diff(good.selectExpr("id", "'a' as v"), good.selectExpr("id", "null as v"), keys=["id"])
    assert nothing.columns == ["keyhash", "nonkeyhash", "id", "v", "operation", "eff_start_date"]
    assert [tuple(row) for row in nothing.select("id", "v", "operation").collect()] == [(1, None, "U")]
    # an `operation` of somebody else's says nothing about a key being gone
    theirs = spark.sql("select 1 as id, 'a' as v, 'D' as operation")
    ((operation, date),) = (
        dbt_cdc.hash_diff(theirs, good.selectExpr("id", "'b' as v"), keys=["id"], effective_date="2020-01-02")
        .select("operation", "eff_start_date")
        .collect()
    )
    assert (operation, str(date)) == ("U", "2020-01-02")

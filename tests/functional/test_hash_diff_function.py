"""dbt_cdc.hash_diff, the function: what it gives for both sides, and what it refuses."""

from __future__ import annotations

import datetime
import hashlib
from typing import Any

import pytest
from pyspark.sql import SparkSession

import dbt_cdc

pytestmark = pytest.mark.one_format

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


def test_ignored_columns_and_other_algorithms(spark: SparkSession) -> None:
    first = spark.sql("select 1 as id, 'a' as v, 1 as batch")
    second = spark.sql("select 1 as id, 'a' as v, 2 as batch")
    same = dbt_cdc.hash_diff(first, second, keys=["id"], ignore_columns=["batch"], hash_algorithm="sha2_256").collect()
    assert [(row.operation, row.batch, len(row.keyhash)) for row in same] == [("N", 1, 64)]
    differs = dbt_cdc.hash_diff(first, second, keys=["id"], hash_algorithm="xxhash64").collect()
    assert [(row.operation, row.batch, len(row.keyhash)) for row in differs] == [("U", 2, 16)]


def test_keys_that_are_null_or_stand_twice_and_wrong_options_are_refused(spark: SparkSession) -> None:
    good = spark.sql("select 1 as id, 'a' as v")
    bad = spark.sql("select * from values (1, 'a'), (1, 'b'), (null, 'c') as (id, v)")
    with pytest.raises(ValueError, match=r'3 rows of incoming .*{"id":1} 2 times'):
        dbt_cdc.hash_diff(good, bad, keys=["id"])
    with pytest.raises(ValueError, match="3 rows of current"):
        dbt_cdc.hash_diff(bad, good, keys=["id"])
    with pytest.raises(ValueError) as wrong:
        dbt_cdc.hash_diff(good, good, keys=["ID_"], extract_type="half", hash_algorithm="md4", effective_date="soon")
    for part in ("did you mean 'id'?", "got 'half'", "got 'md4'", "got 'soon'"):
        assert part in str(wrong.value)

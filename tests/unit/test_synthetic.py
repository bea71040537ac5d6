"""Synthetic loads: rows against a generator written in plain Python, plans, column kinds, errors."""

from __future__ import annotations

import hashlib
import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame, SparkSession

from dbt_cdc import synthetic
from dbt_cdc.synthetic import Columns, SyntheticError
from dbt_cdc.synthetic._series import MAX_LOAD, MAX_ROWS, Series, mixed

ARTICLE: dict[str, Any] = {
    "no_init_recs": 10_000,
    "no_incr_recs": 10_000,
    "no_keys": 5,
    "no_nonkeys": 10,
    "pct_del": 0.2,
    "pct_upd": 0.4,
    "pct_unchanged": 0.4,
}
SMALL: dict[str, Any] = {**ARTICLE, "no_init_recs": 10, "no_incr_recs": 12, "no_keys": 2, "no_nonkeys": 2}

PRIMES = (11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579, 2870177450012600261)
MASK = 2**64 - 1


def xxhash64(*longs: int) -> int:
    """XXH64 of longs, each with the hash so far as its seed, beginning with 42, as Spark chains them."""
    seed = 42
    for value in longs:
        state = (seed + PRIMES[4] + 8) & MASK
        state ^= rotate(value * PRIMES[1], 31) * PRIMES[0] & MASK
        state = (rotate(state, 27) * PRIMES[0] + PRIMES[3]) & MASK
        state = (state ^ state >> 33) * PRIMES[1] & MASK
        state = (state ^ state >> 29) * PRIMES[2] & MASK
        seed = state ^ state >> 32
    return seed


def rotate(value: int, by: int) -> int:
    value &= MASK
    return (value << by | value >> (64 - by)) & MASK


def salt(purpose: str, column: int) -> int:
    return int(hashlib.sha256(f"0/{purpose}/{column}".encode()).hexdigest()[:16], 16) >> 1


def key(row: int, column: int) -> str:
    high, low = xxhash64(salt("high", column), row), xxhash64(salt("low", column), row)
    digits = f"{high % 2**60:015x}"
    tail = f"{low % 2**62 + 2**63:016x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[12:]}-{tail[:4]}-{tail[4:]}"


def nonkey(row: int, column: int, version: int) -> float:
    return ((xxhash64(salt("value", column), row, version) >> 12) * 2 + version % 2) / 2**53


def load_by_hand(count: int) -> set[tuple[Any, ...]]:
    """Rows of SMALL after `count` loads: the oldest fifth goes, the updated two fifths wander through the rest."""
    alive, versions, born = list(range(10)), dict.fromkeys(range(100), 0), 10
    for load in range(1, count + 1):
        size = len(alive)
        alive = alive[size * 2 // 10 :]
        updated = size * 4 // 10
        offset = 0 if load == 1 else load * updated
        for row in alive:
            versions[row] += (row + offset) % len(alive) < updated
        while len(alive) < 12:
            alive.append(born)
            born += 1
    return {(key(r, 1), key(r, 2), nonkey(r, 1, versions[r]), nonkey(r, 2, versions[r])) for r in alive}


def collected(frame: DataFrame) -> set[tuple[Any, ...]]:
    rows = [tuple(row) for row in frame.collect()]
    assert len(set(rows)) == len(rows)
    return set(rows)


def test_rows_are_those_that_plain_python_makes_from_row_numbers_and_seed(spark: SparkSession) -> None:
    first = synthetic.initial(spark, no_init_recs=10, no_keys=2, no_nonkeys=2)
    assert collected(first) == load_by_hand(0)
    for load in (1, 2, 3, 7):
        assert collected(synthetic.incremental(spark, **SMALL, load=load)) == load_by_hand(load)


def test_the_articles_second_day_is_2000_new_4000_updated_2000_deleted_and_4000_unchanged(spark: SparkSession) -> None:
    synthetic.initial(spark, no_init_recs=10_000, no_keys=5, no_nonkeys=10).createOrReplaceTempView("synthetic_day1")
    synthetic.incremental(spark, **ARTICLE).createOrReplaceTempView("synthetic_day2")
    keys = ", ".join(f"keycol{i}" for i in range(1, 6))
    differing = " + ".join(f"int(a.nonkeycol{i} <> b.nonkeycol{i})" for i in range(1, 11))
    found = spark.sql(
        f"""select case when a.keycol1 is null then 'I' when b.keycol1 is null then 'D' end, {differing}, count(*)
            from synthetic_day1 a full join synthetic_day2 b using ({keys}) group by 1, 2"""
    )
    assert {tuple(row) for row in found.collect()} == {
        ("I", None, 2000),
        (None, 10, 4000),
        ("D", None, 2000),
        (None, 0, 4000),
    }
    assert synthetic.counts(
        **{name: ARTICLE[name] for name in ARTICLE if name not in ("no_keys", "no_nonkeys")}
    ) == synthetic.Counts(inserted=2000, updated=4000, deleted=2000, unchanged=4000)


def test_the_same_rows_whatever_the_partitioning_and_others_for_another_seed(spark: SparkSession) -> None:
    one = collected(synthetic.incremental(spark, **SMALL, num_partitions=1))
    assert collected(synthetic.incremental(spark, **SMALL, num_partitions=7)) == one
    assert not collected(synthetic.incremental(spark, **SMALL, seed=1)) & one


def test_keys_have_the_shape_of_version_4_uuids_and_nonkeys_spread_over_0_to_1(spark: SparkSession) -> None:
    frame = synthetic.initial(spark, no_init_recs=5000, no_keys=1, no_nonkeys=1)
    assert frame.dtypes == [("keycol1", "string"), ("nonkeycol1", "double")]
    rows = frame.collect()
    shape = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
    assert all(shape.fullmatch(row[0]) for row in rows)
    assert {row[0][0] for row in rows} == set("0123456789abcdef")
    tenths = [sum(i <= row[1] * 10 < i + 1 for row in rows) for i in range(10)]
    assert sum(tenths) == 5000 and all(400 < count < 600 for count in tenths)


def test_a_hundred_million_rows_are_planned_as_one_range_in_a_hundred_tasks_without_a_shuffle(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    big = {**ARTICLE, "no_init_recs": 10**8, "no_incr_recs": 10**8}
    for frame in (
        synthetic.initial(spark, no_init_recs=10**8, no_keys=5, no_nonkeys=10),
        synthetic.incremental(spark, **big, load=4),
    ):
        frame.explain()
        plan = capsys.readouterr().out
        operators = re.findall(r"(?m)^[ +*:()\d-]*([A-Z]\w+)", plan.partition("== Physical Plan ==")[2])
        assert set(operators) == {"Project", "Range"}
        assert "Range (0, 100000000, step=1, splits=100)" in plan


def test_arithmetic_at_the_largest_sizes_stays_within_64_bits(spark: SparkSession) -> None:
    series = Series(MAX_ROWS, MAX_ROWS, "0.000000001", "0.999999998", "0.000000001")
    last = series.start(MAX_LOAD) + MAX_ROWS - 1
    row = f"{series.start(MAX_LOAD)}L + {mixed('id', MAX_ROWS, 2**63 - 1)}"
    frame = spark.range(MAX_ROWS - 5, MAX_ROWS).selectExpr(f"{row} as row")
    found = frame.selectExpr("row", f"{series.version(MAX_LOAD, 'row')} as version").collect()
    assert all(series.start(MAX_LOAD) <= row.row <= last and row.version >= 0 for row in found)


def test_column_types_are_as_asked_and_an_update_changes_each_of_them(spark: SparkSession) -> None:
    types = "boolean smallint int bigint float double decimal(12,2) decimal(38,38) string date timestamp timestamp_ntz"
    columns = Columns(types=tuple(types.split()))
    asked = {**SMALL, "no_nonkeys": 13, "pct_del": 0, "pct_upd": 1, "pct_unchanged": 0, "columns": columns}
    before, after = (synthetic.incremental(spark, **asked, load=load) for load in (1, 2))
    assert [kind for _, kind in before.dtypes[2:]] == [*types.split(), "boolean"]
    one, two = ({row.keycol1: row for row in frame.collect()} for frame in (before, after))
    assert one.keys() == two.keys()
    assert all(a != b for key in one for a, b in zip(one[key][2:], two[key][2:], strict=True))
    sample = one[min(one)]
    kinds = [bool, int, int, int, float, float, Decimal, Decimal, str, date, datetime, datetime, bool]
    assert [type(value) for value in sample[2:]] == kinds
    assert {row.nonkeycol1 for row in one.values()} == {True, False}


def test_nulls_come_in_about_the_share_asked_for_and_skew_favours_small_values(spark: SparkSession) -> None:
    columns = Columns(types=("int",), null_share=0.25, skew=3)
    arguments = {**ARTICLE, "no_keys": 1, "no_nonkeys": 1, "columns": columns}
    for load in (1, 4):
        values = [row[1] for row in synthetic.incremental(spark, **arguments, load=load).collect()]
        assert 2300 < values.count(None) < 2700
        present = [value for value in values if value is not None]
        # a draw u becomes u^4: half of the values lie below 1/16 of the range
        assert 0.47 < sum(value < 10**6 / 16 for value in present) / len(present) < 0.53


def test_a_load_may_be_empty_and_all_keys_may_be_replaced(spark: SparkSession) -> None:
    nothing = {**SMALL, "no_incr_recs": 0, "pct_del": 1, "pct_upd": 0, "pct_unchanged": 0}
    assert synthetic.incremental(spark, **nothing).collect() == []
    replaced = {**nothing, "no_incr_recs": 3}
    one, two = (collected(synthetic.incremental(spark, **replaced, load=load)) for load in (1, 2))
    assert len(one) == len(two) == 3 and not one & two


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"no_init_recs": 0}, "no_init_recs must be a whole number from 1 to 4000000000, got 0"),
        ({"no_init_recs": 10.0}, "no_init_recs must be a whole number from 1 to 4000000000, got 10.0"),
        ({"no_keys": True}, "no_keys must be a whole number from 1 to 10000, got True"),
        ({"no_incr_recs": -1}, "no_incr_recs must be a whole number from 0 to 4000000000, got -1"),
        ({"no_incr_recs": 7}, "no_incr_recs must be at least 8, got 7: 10 initial rows less 2 deleted ones remain"),
        ({"no_keys": 0}, "no_keys must be a whole number from 1 to 10000, got 0"),
        ({"no_nonkeys": 0}, "no_nonkeys must be at least 1 where rows are updated, got 0"),
        ({"num_partitions": 0}, "num_partitions must be a whole number of at least 1, got 0"),
        ({"num_partitions": "8"}, "num_partitions must be a whole number of at least 1, got '8'"),
        ({"load": 0}, "load must be a whole number from 1 to 1000000000, got 0"),
        ({"pct_del": -0.1}, "pct_del must be a number from 0 to 1, got -0.1"),
        ({"pct_upd": "some"}, "pct_upd must be a number from 0 to 1, got 'some'"),
        ({"pct_upd": float("nan")}, "pct_upd must be a number from 0 to 1, got nan"),
        ({"pct_del": 0.3}, "pct_del + pct_upd + pct_unchanged must be exactly 1, got 0.3 + 0.4 + 0.4 = 1.1"),
        ({"columns": Columns(types="money")}, "unknown type 'money' of non-key columns. Known: "),
        ({"columns": Columns(null_share=0.6)}, "null_share must lie between 0 and 0.5, got 0.6"),
        ({"columns": Columns(skew=-1)}, "skew must lie between 0 and 100, got -1"),
        ({"columns": Columns(null_share="0.1")}, "null_share must be a number between 0 and 0.5, got '0.1'"),
        ({"columns": Columns(skew=True)}, "skew must be a number between 0 and 100, got True"),
        ({"columns": Columns(types=5)}, "types must be the name of a type, or a list of names, got 5"),
        ({"columns": Columns(types=(1,))}, "types must be the name of a type, or a list of names, got (1,)"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_before_anything_is_planned(change: dict[str, Any], fault: str) -> None:
    no_session: Any = None
    with pytest.raises(SyntheticError) as error:
        synthetic.incremental(no_session, **{**SMALL, **change})
    lines = str(error.value).splitlines()
    assert lines[0] == "dbt_cdc.synthetic: incremental can't run, nothing was written:"
    assert [line.startswith(f"  - {fault}") for line in lines[1:]] == [True]


def test_a_load_that_is_none_is_not_taken_for_another() -> None:
    no_session, no_load = cast(Any, None), cast(Any, "Initial")
    with pytest.raises(SyntheticError) as error:
        synthetic.from_options(no_session, no_load, SMALL)
    assert str(error.value).splitlines() == [
        "dbt_cdc.synthetic: Initial can't run, nothing was written:",
        "  - the load must be one of initial, incremental, got 'Initial'",
    ]


def test_all_faults_are_named_at_once() -> None:
    no_session: Any = None
    with pytest.raises(SyntheticError) as error:
        synthetic.initial(no_session, no_init_recs=0, no_keys=-1, no_nonkeys=-1, columns=Columns(types=()))
    assert len(str(error.value).splitlines()) == 5
    with pytest.raises(SyntheticError) as error:
        synthetic.incremental(no_session, **{**SMALL, "no_keys": 0, "load": 0, "pct_del": -1, "pct_upd": 2})
    assert [line.split()[1] for line in str(error.value).splitlines()[1:]] == ["no_keys", "load", "pct_del", "pct_upd"]


@pytest.mark.parametrize("shares", [(0.1, 0.2, 0.7), ("0.1", "0.2", "0.7"), (Decimal("0.1"), 0.2, "0.7"), (0, 0, 1)])
def test_shares_are_taken_as_written(shares: tuple[Any, ...]) -> None:
    names = ("pct_del", "pct_upd", "pct_unchanged")
    counted = synthetic.counts(no_init_recs=10, no_incr_recs=10, **dict(zip(names, shares, strict=True)))
    assert counted.deleted == int(10 * Decimal(str(shares[0])))


def test_what_is_no_columns_and_no_disorder_is_told(spark: SparkSession) -> None:
    shape: dict[str, Any] = {"no_keys": 1, "no_nonkeys": 1}
    with pytest.raises(SyntheticError) as error:
        synthetic.initial(spark, no_init_recs=0, **shape, columns=cast(Any, "int"))
    assert str(error.value) == (
        "dbt_cdc.synthetic: initial can't run, nothing was written:\n"
        "  - no_init_recs must be a whole number from 1 to 4000000000, got 0\n"
        "  - columns must be a dbt_cdc.synthetic.Columns, got 'int': give Columns(…)"
    )
    with pytest.raises(SyntheticError) as error:
        synthetic.change_feed(spark, no_recs=1, no_events=1, columns=cast(Any, None), disorder=cast(Any, {"late": 0.1}))
    assert "disorder must be a dbt_cdc.synthetic.Disorder, got {'late': 0.1}: give Disorder(…)" in str(error.value)
    assert "columns must be a dbt_cdc.synthetic.Columns, got None: give Columns(…)" in str(error.value)

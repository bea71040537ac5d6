"""Distinct rows never share their pre-image, equal rows always do, whatever their values hold."""

from __future__ import annotations

import datetime
import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from dbt_cdc.hashing import pre_image

pytestmark = pytest.mark.one_format("delta")

SCHEMA = (
    "a string, b string, c binary, d array<string>, e struct<x: string, y: int>, f decimal(10, 2), g date, h double,"
    " i map<string, string>, j timestamp"
)
TEXTS = st.sampled_from(["", "NULL", "null", '"', '","b":"', "\\", "a", "ab", "b", "{", "}", "\n", "\x00", "é", "😀"])
TEXTS |= st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
MAYBE = st.none() | TEXTS
ROWS = st.tuples(
    MAYBE,
    MAYBE,
    st.none() | st.binary(max_size=3),
    st.none() | st.lists(MAYBE, max_size=3),
    st.none() | st.tuples(MAYBE, st.none() | st.integers(0, 2)),
    st.none() | st.decimals(-99, 99, places=2),
    st.none() | st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)),
    st.none() | st.sampled_from([0.0, -0.0, 1.0, float("nan"), float("inf"), -float("inf"), 1e-300]),
    st.none() | st.dictionaries(TEXTS, MAYBE, max_size=3),
    st.none() | st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)),
)
#: A row, the columns in which a second differs from it by what another has, and where a third cuts its first text.
NEAR = st.tuples(ROWS, ROWS, st.sets(st.integers(0, 9), min_size=1, max_size=2), st.integers(0, 3))


def neighbours(row: tuple[Any, ...], other: tuple[Any, ...], columns: set[int], cut: int) -> list[tuple[Any, ...]]:
    """The row, one that differs in few columns, one with a part of its first text moved to the second, and the row itself again."""
    changed = tuple(other[i] if i in columns else value for i, value in enumerate(row))
    first, second = row[0] or "", row[1] or ""
    respelled = (*row[:8], row[8] and dict(reversed(row[8].items())), *row[9:])
    return [row, changed, (first[:cut], first[cut:] + second, *row[2:]), respelled]


def identity(row: tuple[Any, ...]) -> str:
    """What makes a row the same row: NaN is NaN, -0.0 is not 0.0, a map has no order."""
    values = list(row)
    values[5] = None if row[5] is None else Decimal(row[5]).quantize(Decimal("0.01")) + 0
    values[7] = None if row[7] is None else "NaN" if row[7] != row[7] else struct.pack(">d", row[7]).hex()
    values[8] = None if row[8] is None else sorted(row[8].items())
    return repr(values)


@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(near=st.lists(NEAR, min_size=10, max_size=40))
def test_distinct_rows_have_distinct_pre_images(spark: SparkSession, near: list[tuple[Any, ...]]) -> None:
    rows = [row for drawn in near for row in neighbours(*drawn)]
    frame = spark.createDataFrame(rows, SCHEMA)
    images = [row[0] for row in frame.selectExpr(pre_image(frame.schema.fields)).collect()]
    same = {identity(row): image for row, image in zip(rows, images, strict=True)}
    assert [same[identity(row)] for row in rows] == images
    assert len(set(images)) == len(same)

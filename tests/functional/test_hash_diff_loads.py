"""hash_diff: one key after another over many loads, '' among the keys; every table's rows are written by hand."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from tests.support.hash_diff import Model
from tests.support.project import Project

pytestmark = pytest.mark.one_format("iceberg")

Told = list[tuple[Any, ...]]


class Loaded:
    """A model of string columns, loaded day by day; `names` are the columns that its tables show."""

    def __init__(self, project: Project, names: str, **options: Any) -> None:
        self.project, self.names = project, names
        self.model = Model(project.spark, project.schema, project.file_format, **options)

    def load(self, day: int, extract: str, columns: str, *rows: tuple[str | None, ...]) -> Told:
        """What each operation counted, but for zeros."""
        schema = ", ".join(f"{name} string" for name in columns.split())
        frame = self.project.spark.createDataFrame(rows, schema)
        counts = self.model.load_frame(f"2020-01-{day:02}", frame, extract)
        return [(name, n) for name, n in counts.items() if n]

    def current(self) -> Told:
        """Keys and values, operation, and the day it has been so since."""
        return self.project.rows(f"select {self.names}, operation, day(eff_start_date) from {{schema}}.t order by all")

    def history(self, day: int) -> Told:
        query = f"select {self.names}, operation from {{schema}}.t__history where day(eff_start_date) = {day}"
        return self.project.rows(query + " order by all")

    def check(self, day: int, extract: str, columns: str, *rows: tuple[str | None, ...], gives: Told) -> None:
        """Load; the current rows are those given, the history's partition and the counts follow from them."""
        counts = self.load(day, extract, columns, *rows)
        assert self.current() == [row for row in gives if row[-2] != "D"]
        assert self.history(day) == [row[:-1] for row in gives if row[-2] in "IUD"]
        assert dict(counts) == Counter(row[-2] for row in gives)


def test_deltas_over_many_days_leave_and_take_up_keys_of_empty_parts(project: Project) -> None:
    loaded = Loaded(project, "a, b, v", unique_key=["a", "b"], sensitive_columns=["s"])

    def sensitive() -> Told:
        joined = "{schema}.t__sensitive join {schema}.t using (keyhash)"
        assert project.rows(f"select count(*) from {joined}") == project.rows("select count(*) from {schema}.t")
        return project.rows(f"select a, b, s from {joined} where s is not null order by all")

    def past(day: int) -> Told:
        on = "h.keyhash = s.keyhash and h.nonkeyhash = s.nonkeyhash"
        query = f"select a, b, s from {{schema}}.t__history h join {{schema}}.t__sensitive_base s on {on}"
        return project.rows(query + f" where day(h.eff_start_date) = {day} order by all")

    first = "", "p", "s1"
    loaded.check(
        1, "delta", "a b v s", ("", *first), ("a", *first), ("ab", "", "", None), ("", "ab", "p", None),
        gives=[("", "", "p", "I", 1), ("", "ab", "p", "I", 1), ("a", "", "p", "I", 1), ("ab", "", "", "I", 1)],
    )  # fmt: skip
    assert sensitive() == [("", "", "s1"), ("a", "", "s1")]
    # a value goes away and comes back: in v, and in s alone
    loaded.check(
        2, "delta", "s b a v", ("s1", "", "", "q"), ("s2", "", "a", "p"), (None, "ab", "", "p"), (None, "b", "a", None),
        gives=[("", "", "q", "U", 2), ("", "ab", "p", "N", 1), ("a", "", "p", "U", 2), ("a", "b", None, "I", 2),
               ("ab", "", "", "X", 1)],
    )  # fmt: skip
    assert sensitive() == [("", "", "s1"), ("a", "", "s2")]
    assert past(2) == [("", "", "s1"), ("a", "", "s2"), ("a", "b", None)]
    loaded.check(
        3, "delta", "a b v s", ("", *first), ("a", *first), ("ab", "", None, None), ("a", "b", None, None),
        gives=[("", "", "p", "U", 3), ("", "ab", "p", "X", 1), ("a", "", "p", "U", 3), ("a", "b", None, "N", 2),
               ("ab", "", None, "U", 3)],
    )  # fmt: skip
    assert sensitive() == [("", "", "s1"), ("a", "", "s1")]
    # a column comes: where it is NULL the row is unchanged, '' is a value
    loaded.names = "a, b, v, city"
    loaded.check(
        4, "delta", "a b v s city", ("", *first, None), ("a", *first, "Rome"), ("b", "", "p", None, ""),
        ("", "ab", "p", None, ""),
        gives=[("", "", "p", None, "N", 3), ("", "ab", "p", "", "U", 4), ("a", "", "p", "Rome", "U", 4),
               ("a", "b", None, None, "X", 2), ("ab", "", None, None, "X", 3), ("b", "", "p", "", "I", 4)],
    )  # fmt: skip
    # and is missing again: NULL
    loaded.check(
        6, "delta", "a b v s", ("", *first), ("a", *first), ("", "ab", "p", None),
        gives=[("", "", "p", None, "N", 3), ("", "ab", "p", None, "U", 6), ("a", "", "p", None, "U", 6),
               ("a", "b", None, None, "X", 2), ("ab", "", None, None, "X", 3), ("b", "", "p", "", "X", 4)],
    )  # fmt: skip
    # a full load takes away what it does not supply; a delta gives some of it again
    loaded.check(
        7, "full", "a b v s city", ("", *first, None), ("a", "b", None, None, None), ("b", "", "p", None, ""),
        gives=[("", "", "p", None, "N", 3), ("", "ab", "p", None, "D", 7), ("a", "", "p", None, "D", 7),
               ("a", "b", None, None, "N", 2), ("ab", "", None, None, "D", 7), ("b", "", "p", "", "N", 4)],
    )  # fmt: skip
    assert sensitive() == [("", "", "s1")]
    assert past(7) == [("", "ab", None), ("a", "", "s1"), ("ab", "", None)]
    eighth = [("", "", "p", None, "X", 3), ("a", "", "p", None, "I", 8), ("a", "b", "", None, "U", 8),
              ("b", "", "p", "", "N", 4)]  # fmt: skip
    loaded.check(
        8, "delta", "a b v s city", ("a", *first, None), ("a", "b", "", None, None), ("b", "", "p", None, ""),
        gives=eighth,
    )  # fmt: skip
    assert sensitive() == [("", "", "s1"), ("a", "", "s1")]
    # '' is a part of a key, NULL is none
    with pytest.raises(DbtRuntimeError, match=r'2 row\(s\) have NULL in a key part: a in {"b":"","'):
        loaded.load(9, "delta", "a b v s", (None, *first), ("", None, "p", None), ("c", "", "p", None))
    with pytest.raises(DbtRuntimeError, match=r'2 rows share their key with another row: {"a":"x{194} 2 times. Supply'):
        loaded.load(9, "delta", "a b v s", ("x" * 300, *first), ("x" * 300, *first))
    assert loaded.current() == eighth
    assert [loaded.history(day) == [] for day in range(1, 10)] == [day in (5, 9) for day in range(1, 10)]
    digests, data = [("keyhash", "string"), ("nonkeyhash", "string")], [(name, "string") for name in ("a", "b", "v")]
    told, city = [("operation", "string"), ("eff_start_date", "date")], ("city", "string")
    assert project.columns("t") == [*digests, *data, city, *told]
    assert project.columns("t__history") == [*digests, *data, *told, city]
    assert project.columns("t__sensitive") == [digests[0], ("s", "string")]
    described = [row[0] for row in project.rows("describe table {schema}.t__history")]
    assert described[described.index("# Partition Information") + 2 :] == ["eff_start_date"]


def test_an_empty_text_is_a_key_like_any_other_in_loads_of_both_kinds(project: Project) -> None:
    loaded = Loaded(project, "k, v", unique_key=["k"])
    loaded.check(
        1, "full", "k v", ("", "a"), (" ", "a"), ("NULL", "a"),
        gives=[("", "a", "I", 1), (" ", "a", "I", 1), ("NULL", "a", "I", 1)],
    )  # fmt: skip
    loaded.check(
        2, "full", "k v", ("", "b"), ("NULL", "a"),
        gives=[("", "b", "U", 2), (" ", "a", "D", 2), ("NULL", "a", "N", 1)],
    )  # fmt: skip
    loaded.check(
        3, "delta", "k v", ("", "a"), (" ", ""),
        gives=[("", "a", "U", 3), (" ", "", "I", 3), ("NULL", "a", "X", 1)],
    )  # fmt: skip
    loaded.check(
        4, "full", "k v", (" ", ""),
        gives=[("", "a", "D", 4), (" ", "", "N", 3), ("NULL", "a", "D", 4)],
    )  # fmt: skip
    again = [("", "a", "N", 3), (" ", "", "D", 4), ("NULL", "b", "U", 4)]
    loaded.check(4, "full", "k v", ("", "a"), ("NULL", "b"), gives=again)  # the date again: '' is there after all
    with pytest.raises(DbtRuntimeError, match=r'2 rows share their key with another row: {"k":""} 2 times'):
        loaded.load(5, "delta", "k v", ("", "a"), ("", "b"))
    assert loaded.current() == [again[0], again[2]]
    assert [loaded.history(day) for day in (1, 2, 3)] == [
        [("", "a", "I"), (" ", "a", "I"), ("NULL", "a", "I")],
        [("", "b", "U"), (" ", "a", "D")],
        [("", "a", "U"), (" ", "", "I")],
    ]

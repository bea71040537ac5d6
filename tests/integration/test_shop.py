"""The integration project, day by day: what each capability leaves behind, and SQL that sqlfluff accepts."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from sqlfluff.core import FluffConfig, Linter

from integration_tests import demo
from tests.support.project import Project
from tests.support.shared import shop_project
from tests.support.spark import ROOT


@dataclass(frozen=True)
class SecondDay:
    """What day 2 said of the accounts, and left in them."""

    results: dict[str, Any]
    log: str
    accounts: set[tuple[Any, ...]]


@pytest.fixture(scope="module")
def days(spark: SparkSession, target: dict[str, Any], table_format: str) -> Iterator[tuple[Project, SecondDay]]:
    """The shop after three days."""
    os.environ["DBT_CDC_FORMAT"] = table_format
    with tempfile.TemporaryDirectory() as folder:
        spark.sql("create schema if not exists shop")
        project = shop_project(Path(folder), spark, "shop", target)
        for day in (1, 2, 3):
            left_out = demo.NOT_TODAY[day]
            project.dbt("build", "--profile", "consumer", "--vars", f"{{day: {day}}}", "--exclude", *left_out)
            if day == 2:
                accounts = set(project.rows("select operation, count(*) from {schema}.accounts group by all"))
                second = SecondDay(project.run_results()["accounts"], project.log(), accounts)
        yield project, second


@pytest.fixture
def shop(days: tuple[Project, SecondDay]) -> Project:
    return days[0]


def test_the_snapshot_names_the_run_that_wrote_and_closed_every_record(shop: Project) -> None:
    runs = {row[0]: f"day {n}" for n, row in enumerate(shop.rows(
        "select insert_process_id from {schema}.customer_history group by 1 order by min(insert_timestamp)"), 1)}  # fmt: skip
    counts = shop.rows(
        """
        select insert_process_id, update_process_id, count(*) from {schema}.customer_history group by all
        """
    )
    assert {(runs[written], runs.get(closed), records) for written, closed, records in counts} == {
        ("day 1", None, 920),
        ("day 1", "day 2", 80),
        ("day 2", None, 50),
        ("day 2", "day 3", 40),
        ("day 3", None, 50),
    }


def test_a_customer_that_returns_with_an_old_timestamp_is_there_again(shop: Project) -> None:
    rows = shop.rows(
        """
        select insert_process_id <=> update_process_id, dbt_valid_to is null, update_process_id is null,
            effective_end_timestamp = timestamp_ntz '9999-12-31 23:59:59.999999'
        from {schema}.customer_history where customer_id = 42 order by insert_timestamp
        """
    )
    assert rows == [(False, False, False, False), (False, True, True, True)]


def test_extracts_are_counted_exactly(days: tuple[Project, SecondDay]) -> None:
    shop, second = days
    assert second.accounts == {("I", 2000), ("U", 4000), ("N", 4000)}
    assert second.results["adapter_response"]["operations"] == {"I": 2000, "U": 4000, "D": 2000, "X": 0, "N": 4000}
    assert second.results["adapter_response"]["rows_affected"] == 8000
    told = "full load of 2019-06-19: 2000 I, 4000 U, 2000 D, 0 X, 4000 N"
    assert second.results["message"] == told
    assert any(told in line and "accounts" in line for line in second.log.splitlines())
    history = "select cast(eff_start_date as string), operation, count(*) from {schema}.accounts__history group by all"
    assert set(shop.rows(history)) == {
        ("2019-06-18", "I", 10000),
        ("2019-06-19", "I", 2000),
        ("2019-06-19", "U", 4000),
        ("2019-06-19", "D", 2000),
    }
    # day 3 brought day 2's extract again
    assert shop.rows("select operation, count(*) from {schema}.accounts group by all") == [("N", 10000)]
    results = shop.run_results()["accounts"]
    assert results["adapter_response"]["operations"] == {"I": 0, "U": 0, "D": 0, "X": 0, "N": 10000}


def test_employees_come_out_right_though_their_events_came_late(shop: Project) -> None:
    assert shop.rows("select * from {schema}.employees order by id") == [
        (1, "Alex", "chef", "FR"),
        (2, "Jessica", "owner", "US"),
        (3, "Mikhail", "security", "UK"),
        (4, "Gary", "cleaner", "UK"),
        (5, "Chris", "owner", "NL"),
    ]
    assert shop.rows("select * from {schema}.employees_history order by id, __START_AT") == [
        (1, "Alex", "chef", "FR", 1, None),
        (2, "Jessica", "owner", "US", 2, None),
        (3, "Mikhail", "security", "UK", 3, None),
        (4, "Gary", "cleaner", "UK", 4, None),
        (5, "Chris", "manager", "NL", 5, 6),
        (5, "Chris", "owner", "NL", 6, None),
        (6, "Pat", "mechanic", "NL", 7, 8),
    ]
    assert shop.rows("select op, after.name from {schema}.employees__changes order by 2") == [
        ("i", "Alex"),
        ("i", "Chris"),
        ("i", "Gary"),
        ("i", "Jessica"),
        ("i", "Mikhail"),
    ]


def test_each_reader_has_every_order_once(shop: Project) -> None:
    assert shop.rows("select count(*), count(distinct order_id) from {schema}.orders") == [(275, 275)]
    assert shop.rows("select count(*), count(distinct order_id) from {schema}.order_lines") == [(275, 275)]
    assert shop.rows("select count(*), count(distinct order_id) from {schema}.order_points") == [(275, 275)]
    edges = "select source, destination, count(*) from {schema}.cdc_metadata group by all order by 1"
    assert shop.rows(edges) == [
        ("shop.order_lines", "shop.order_points", 3),
        ("shop.orders", "shop.order_lines", 3),
    ]
    # 200, 50 and 25 orders came, and no run read an older one again
    told = re.findall(r"shop\.(\w+) reads (\d+) rows of shop\.(\w+) \((all of them|new ones)\)", shop.log())
    assert sorted(set(told)) == sorted(
        (reader, rows, source, which)
        for reader, source in (("order_lines", "orders"), ("order_points", "order_lines"))
        for rows, which in (("200", "all of them"), ("50", "new ones"), ("25", "new ones"))
    )


def test_feeds_of_debezium_and_dms_end_in_tables(shop: Project) -> None:
    assert shop.rows("select id, status, cast(weight as string) from {schema}.shipments order by id") == [
        (2, "delivered", "7.30"),
        (3, "packed", "12.50"),
    ]
    live = "select id, city, __END_AT is null from {schema}.parcels order by id, __START_AT"
    assert shop.rows(live) == [
        (1, "Rome", False),
        (1, "Paris", True),
        (2, "Oslo", False),
        (3, "Lima", False),
        (3, "Quito", True),
    ]


#: Lines of the demo's tables, in their order, without what is another in each run (process ids, times, versions).
STORY = [
    "day 1 920",
    "day 1 day 2 80",
    "day 2 50",
    "day 2 day 3 40",
    "day 3 50",
    "2019-06-18 I 10000",
    "2019-06-19 D 2000",
    "2019-06-19 I 2000",
    "2019-06-19 U 4000",
    "5 Chris owner NL",
    "5 Chris manager NL 5 6",
    "5 Chris owner NL 6",
    "6 Pat mechanic NL 7 8",
    "i Alex chef",
    "shop.order_lines shop.order_points 3",
    "shop.orders shop.order_lines 3",
    "275 275 275",
]
MOVING = re.compile(r" \w{8}…| \d{4}-\d\d-\d\d \S+$|^\d+ (?=i )")


@pytest.mark.one_format("delta")  # whose tables hold the same as those of others
def test_the_demo_tells_the_story_of_its_tables(shop: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """What `make demo` prints after its third day."""
    told = demo.Shop("test", shop.schema)
    for chapter in demo.CHAPTERS:
        chapter(told)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    returned = [line.split() for line in lines if line.startswith("42 ")]
    assert [(row[-1], "9999-12-31" in row) for row in returned] == [("True", False), ("False", True)]
    assert [line for line in (MOVING.sub("", line) for line in lines) if line in STORY] == STORY


def test_what_the_package_writes_passes_sqlfluff(shop: Project) -> None:
    linter = Linter(config=FluffConfig.from_path(str(ROOT)))
    found, names, linted = [], set(), ""
    for folder in ("run", "compiled"):  # most of what is compiled stands in what is run
        for file in sorted((shop.folder / "target" / folder).rglob("*.sql")):
            # seeds are data; generic tests lie in the folder of their .yml file: those of dbt, and what dbt runs around ours,
            # are dbt's text
            of_dbt = re.match("(not_null|unique)_" if folder == "compiled" else "(not_null|unique|dbt_cdc)_", file.name)
            if "seeds" in file.parts or (file.parent.suffix == ".yml" and of_dbt):
                continue
            names.add(f"{folder}/{file.name}")
            text = file.read_text()
            if text.strip() in linted:
                continue
            linted += text
            violations = linter.lint_string(text).get_violations()
            found += [f"{file.name}:{v.line_no} {v.rule_code()} {v.desc()}" for v in violations]
    assert found == []
    of_each_kind = {"run/employees.sql", "run/employees_history.sql", "run/order_lines.sql", "run/customer_history.sql"}
    of_each_kind |= {"compiled/dbt_cdc_open_records_carry_high_date_customer_history_.sql"}
    assert of_each_kind <= names

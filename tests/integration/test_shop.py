"""The integration project, day by day: what each capability leaves behind, and SQL that sqlfluff accepts."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from sqlfluff.core import FluffConfig, Linter

from tests.support.project import Project
from tests.support.spark import ROOT

NOT_COPIED = shutil.ignore_patterns("packages.yml", "profiles.yml", "dbt_packages", "target", "logs", "warehouse")


@pytest.fixture(scope="module")
def shop(spark: SparkSession, target: dict[str, Any], table_format: str) -> Iterator[Project]:
    """The shop after three days."""
    os.environ["DBT_CDC_FORMAT"] = table_format
    with tempfile.TemporaryDirectory() as folder:
        spark.sql("create schema if not exists shop")
        project = Project(Path(folder) / "shop", spark, "shop", target)
        shutil.copytree(ROOT / "integration_tests", project.folder, ignore=NOT_COPIED, dirs_exist_ok=True)
        for day in (1, 2, 3):
            project.dbt("build", "--profile", "consumer", "--vars", f"{{day: {day}}}")
        yield project
        project.drop_schema()


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


def test_what_the_package_writes_passes_sqlfluff(shop: Project) -> None:
    linter = Linter(config=FluffConfig.from_path(str(ROOT)))
    found = []
    for folder in ("compiled", "run"):
        files = (shop.folder / "target" / folder).rglob("*.sql")
        for file in sorted(file for file in files if "seeds" not in file.parts):
            linted = linter.lint_string(file.read_text())
            found += [f"{file.name}:{v.line_no} {v.rule_code()} {v.desc()}" for v in linted.get_violations()]
    assert found == []

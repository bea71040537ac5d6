"""The main job, as a story: three business days through seeds, models and snapshots, and what happened on each.

    python -m integration_tests.demo [--target delta|iceberg|…]

Everything runs in this process, on the Spark that the profile's target names (local by default).
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dbt.cli.main import dbtRunner

from integration_tests.quick_spark import NO_SYNC, parse_macros_once, submit_arguments

HERE = Path(__file__).resolve().parent
SCHEMA = "dbt_cdc"
SPARK_LOG = HERE / "logs" / "spark.log"
#: day -> what it leaves out: seeds hold all days and are loaded once, extracts come on their day
NOT_TODAY = {
    1: ["synthetic_incremental"],
    2: ["synthetic_initial", "resource_type:seed"],
    3: ["package:dbt_cdc", "resource_type:seed"],
}


class Shop:
    """The consumer project beside this file, and the tables that it builds."""

    def __init__(self, target: str, schema: str = SCHEMA) -> None:
        self.target = target
        self.schema = schema

    def dbt(self, *arguments: str) -> Any:
        """Run a dbt command; its result, or an end with what went wrong."""
        where = ["--project-dir", str(HERE), "--profiles-dir", str(HERE)]
        chosen = [] if arguments[0] == "deps" else ["--target", self.target]
        result = dbtRunner().invoke([*arguments, *where, *chosen, "--quiet"])
        if not result.success:
            messages = [f"{r.node.name}: {r.message}" for r in getattr(result.result, "results", [])]
            print(f"dbt {' '.join(arguments)} failed", result.exception or "", *messages, f"see {SPARK_LOG}", sep="\n")
            raise SystemExit(1)
        return result.result

    def build(self, day: int) -> None:
        """One day, in dependency order."""
        began = time.monotonic()
        results = self.dbt("build", "--vars", f"{{day: {day}}}", "--exclude", "tag:feeds", *NOT_TODAY[day])
        print(f"\n=== Day {day}: dbt build, {len(results)} nodes in {time.monotonic() - began:.0f} s")
        for result in results:
            if result.node.config.materialized in ("snapshot", "hash_diff", "apply_changes", "incremental"):
                print(f"    {result.node.name}: {result.message}")

    def rows(self, query: str) -> list[Any]:
        """Rows of a query on the project's schema (`{schema}`)."""
        from pyspark.sql import SparkSession

        return SparkSession.builder.getOrCreate().sql(query.format(schema=self.schema)).collect()

    def show(self, title: str, query: str) -> None:
        """Print a query's rows as a table under a title."""
        rows = self.rows(query)
        print(f"\n{title}")
        print_table(rows[0].asDict().keys() if rows else [], ([*row] for row in rows))


def print_table(names: Iterable[str], rows: Iterable[list[Any]]) -> None:
    """Print names and rows in aligned columns."""
    cells = [[*names], *([("" if v is None else str(v)) for v in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    for number, row in enumerate(cells):
        print("  " + "  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip())
        if number == 0:
            print("  " + "  ".join("-" * width for width in widths))


def quiet_spark() -> None:
    """Send what Spark's JVM and its Ivy client say to a file, so that the story stays readable."""
    SPARK_LOG.parent.mkdir(exist_ok=True)
    sys.stderr = os.fdopen(os.dup(2), "w")
    with SPARK_LOG.open("w") as log:
        os.dup2(log.fileno(), 2)


def snapshots(shop: Shop) -> None:
    """Which run wrote and which run closed every record."""
    shop.show(
        "Snapshot customer_history: records by the run that wrote and the run that closed them",
        """
        with runs as (
            select process_id, 'day ' || row_number() over (order by min(at)) as run
            from (
                select insert_process_id as process_id, insert_timestamp as at from {schema}.customer_history
                union all
                select update_process_id, update_timestamp from {schema}.customer_history
                where update_process_id is not null
            )
            group by process_id
        )
        select inserted.run as written_by, closed.run as closed_by, count(*) as records,
            substr(insert_process_id, 1, 8) || '…' as insert_process_id,
            substr(update_process_id, 1, 8) || '…' as update_process_id
        from {schema}.customer_history as history
        join runs as inserted on inserted.process_id = history.insert_process_id
        left join runs as closed on closed.process_id = history.update_process_id
        group by all order by 1, 2 nulls first
        """,
    )
    shop.show(
        "Customer 42: there on day 1, deleted on day 2, back on day 3 with its old updated_at",
        """
        select customer_id, credit_limit, risk, updated_at, dbt_valid_to,
            effective_end_timestamp, update_process_id is not null as closed
        from {schema}.customer_history where customer_id = 42 order by insert_timestamp
        """,
    )


def extracts(shop: Shop) -> None:
    """Current and history of the synthetic accounts."""
    shop.show(
        "Hash-diff of accounts (10,000 rows a day, 5 UUID keys, 10 non-keys): the history by day and operation",
        """
        select eff_start_date, operation, count(*) as rows
        from {schema}.accounts__history group by all order by 1, 2
        """,
    )


def employees(shop: Shop) -> None:
    """Chris's update came late, Pat's delete early."""
    shop.show("APPLY CHANGES, SCD 1: employees", "select * from {schema}.employees order by id")
    shop.show(
        "APPLY CHANGES, SCD 2: employees_history (Chris's update came a day late, Pat's delete a day early)",
        "select * from {schema}.employees_history order by id, __START_AT",
    )
    shop.show(
        "Change log of employees: what each run changed",
        """
        select version, op, coalesce(after.name, before.name) as name, before.role as was, after.role as became
        from {schema}.employees__changes order by cast(version as bigint), name
        """,
    )


def orders(shop: Shop) -> None:
    """Each model read only what was new to it."""
    shop.show(
        "Edges: how far order_lines has read orders, and order_points has read order_lines",
        """
        select source, destination, count(*) as runs, max(cdc_datetime_updated) as watermark
        from {schema}.cdc_metadata group by all order by 1
        """,
    )
    shop.show(
        "Rows that arrived and rows that were made from them",
        """
        select (select count(*) from {schema}.orders) as orders,
            (select count(*) from {schema}.order_lines) as order_lines,
            (select count(*) from {schema}.order_points) as order_points
        """,
    )


CHAPTERS = (snapshots, extracts, employees, orders)
NEXT = """
Look at next
  docs/tutorial.md                this story, explained
  integration_tests/models        the models behind these tables, a few lines each
  integration_tests/target/run    the SQL that was run, as a person can read it
  docs/                           one page per capability; docs/flow draws the materializations
  make demo-iceberg               the same story on Apache Iceberg
"""


def main() -> None:
    """Three days, then what to look at next."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="delta")
    target = parser.parse_args().target
    os.chdir(HERE)
    # the warehouse beside this file, which every demo begins anew, and none that a user's own profile names
    os.environ.pop("DBT_CDC_WAREHOUSE", None)
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", submit_arguments(target, NO_SYNC))
    quiet_spark()
    parse_macros_once()
    shutil.rmtree(HERE / "warehouse", ignore_errors=True)
    shop = Shop(target)
    shop.dbt("deps")
    for day in (1, 2, 3):
        shop.build(day)
    for chapter in CHAPTERS:
        chapter(shop)
    print(NEXT)


if __name__ == "__main__":
    main()

"""Snapshots: stock dbt-spark against dbt_cdc with operational metadata, same data, one command.

    python -m benchmarks.snapshot [--rows 1000000] [--table-format delta] [--strategy timestamp]

Three runs of one snapshot (hard deletes on) over a table of 12 columns: the first load, then 40 % updated and 20 %
deleted, then 0.1 % updated. Each side has a process and a JVM of its own, warmed up by three small snapshots.
CPU seconds are those of the process and its JVM, garbage collection and compilation included.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT, cpu_seconds
from tests.support.processes import environment

RUNS = ["first load", "40 % updated, 20 % deleted", "0.1 % updated"]
SIDES = ["stock", "dbt_cdc"]


def main() -> None:
    arguments = parse()
    if arguments.side:
        print(json.dumps(measure(arguments)))
        return
    measured = {side: run_side(side, arguments) for side in SIDES}
    report(measured, arguments)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--table-format", default="delta", choices=["delta", "iceberg"])
    parser.add_argument("--strategy", default="timestamp", choices=["timestamp", "check"])
    parser.add_argument("--memory", default="4g", help="heap of the JVM")
    parser.add_argument("--output", type=Path, help="where to write the figures as JSON")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    return parser.parse_args()


def run_side(side: str, arguments: argparse.Namespace) -> list[dict[str, float]]:
    given = ["--rows", str(arguments.rows), "--table-format", arguments.table_format, "--strategy", arguments.strategy]
    env = environment(DBT_CDC_DRIVER_MEMORY=arguments.memory, TZ="UTC")
    command = [sys.executable, "-m", "benchmarks.snapshot", "--side", side, *given]
    done = subprocess.run(command, env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return list(json.loads(done.stdout.strip().splitlines()[-1]))


def measure(arguments: argparse.Namespace) -> list[dict[str, float]]:
    from tests.support.shared import own_project
    from tests.support.spark import target_settings

    with tempfile.TemporaryDirectory(prefix="dbt_cdc_benchmark_") as folder:
        settings = target_settings(arguments.table_format, Path(folder) / "warehouse")
        project = own_project(Path(folder), arguments.table_format, settings, "bench")
        configure(project, arguments)
        for name in ("small_0", "small_1", "small_2"):
            snapshots(project, name, 1000)
        measured = snapshots(project, "big", arguments.rows)
        check(project, arguments.rows)
        project.spark.stop()
    return measured


def configure(project: Any, arguments: argparse.Namespace) -> None:
    stock = arguments.side == "stock"
    meta = {} if stock else {"+meta": {"dbt_cdc": {"operational_metadata": True}}}
    project.configure(dispatch=not stock, snapshots=meta)
    strategy = (
        "strategy: timestamp, updated_at: updated_at"
        if arguments.strategy == "timestamp"
        else "strategy: check, check_cols: all"
    )
    lines = ["snapshots:"]
    for name in ("small_0", "small_1", "small_2", "big"):
        config = f"{{unique_key: id, {strategy}, hard_deletes: invalidate}}"
        lines.append(f"  - {{name: {name}, relation: \"source('bench', '{name}_source')\", config: {config}}}")
    tables = ", ".join(f"{{name: {name}_source}}" for name in ("small_0", "small_1", "small_2", "big"))
    source = f"sources: [{{name: bench, schema: bench, tables: [{tables}]}}]"
    project.write({"models/sources.yml": source, "snapshots/s.yml": "\n".join(lines)})


def snapshots(project: Any, name: str, rows: int) -> list[dict[str, float]]:
    return [one_run(project, name, rows, day) for day in range(len(RUNS))]


def one_run(project: Any, name: str, rows: int, day: int) -> dict[str, float]:
    supply(project, f"{name}_source", rows, day)
    wall, cpu = time.perf_counter(), cpu_seconds()
    project.dbt("snapshot", "--select", name)
    return {"wall": time.perf_counter() - wall, "cpu": cpu_seconds() - cpu}


def check(project: Any, rows: int) -> None:
    """A side that lacks records would be a cheap one."""
    found = project.rows("select count(*), count_if(dbt_valid_to is null) from {schema}.big")
    expected = [(rows + rows * 4 // 10 + rows // 1000, rows * 8 // 10)]
    if found != expected:
        raise SystemExit(f"records and open records are {found}, expected {expected}")


def supply(project: Any, table: str, rows: int, day: int) -> None:
    """The source on a day: the same rows on either side, made from row numbers."""
    version = f"if(id % 10 < 4 and {day} >= 1, 1, 0) + if(id % 1000 = 5 and {day} >= 2, 1, 0)"
    texts = ", ".join(f"concat('text {n} ', cast(hash(id, {n}, version) as string)) as text_{n}" for n in range(6))
    numbers = ", ".join(f"cast(hash(id, version, {n}) as double) / 7 as number_{n}" for n in range(3))
    project.sql(
        f"create or replace table {{schema}}.{table} using {project.file_format} as "
        f"select sha1(cast(id as string)) as id, {texts}, {numbers}, date'2024-01-01' + cast(id % 300 as int) as day, "
        f"timestamp'2024-01-01 00:00:00' + make_interval(0, 0, 0, version) as updated_at "
        f"from (select id, {version} as version from range(0, {rows}) where {day} = 0 or id % 10 < 8)"
    )


def report(measured: dict[str, list[dict[str, float]]], arguments: argparse.Namespace) -> None:
    print(f"{arguments.rows} rows, {arguments.table_format}, strategy {arguments.strategy}, {os.cpu_count()} cores")
    print("| run | stock wall s | dbt_cdc wall s | stock CPU s | dbt_cdc CPU s | CPU ratio |")
    print("|---|---|---|---|---|---|")
    for day, name in enumerate(RUNS):
        stock, ours = (measured[side][day] for side in SIDES)
        print(
            f"| {name} | {stock['wall']:.1f} | {ours['wall']:.1f} | {stock['cpu']:.1f} | {ours['cpu']:.1f} "
            f"| {ours['cpu'] / stock['cpu']:.2f} |"
        )
    if arguments.output:
        arguments.output.write_text(json.dumps(measured, indent=2) + "\n")


if __name__ == "__main__":
    main()

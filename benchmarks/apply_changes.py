"""What apply_changes costs beside a plain MERGE of the same batch, in one run: wall and CPU seconds.

    PYTHONPATH=src:. python benchmarks/apply_changes.py                 in full
    PYTHONPATH=src:. python benchmarks/apply_changes.py --scale 0.01    a hundredth, to see that it works

(a) a batch of 10,000 events on SCD 2 targets of 100,000, 1,000,000 and 10,000,000 rows, keys in one range and tables
    in the order of the key (a load by rising key gives that; later, `optimize … zorder by (id)` on both tables);
(b) a batch of 1,000,000 events; (c) the same events in 20 batches; (d) all history anew by window functions.
The plain MERGE updates the live row of each key and inserts what is new: it does not close versions or heed order.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.support.project import Project
from tests.support.spark import profile_target, start_session, test_settings

OPTIONS = {
    "sequence_by": "seq",
    "stored_as_scd_type": 2,
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op", "seq"],
}
MODEL = "{{ config(materialized='apply_changes', unique_key='id', meta={'dbt_cdc': %r}) }}\n" % OPTIONS + (
    "select * from {{ target.schema }}.{{ var('feed') }}{{ var('where', '') }}"
)


class Bench:
    def __init__(self, table_format: str, folder: Path) -> None:
        settings = test_settings(table_format, folder / "warehouse")
        self.spark: SparkSession = start_session(settings)
        self.spark.sql("create schema if not exists bench")
        output = {**profile_target(table_format), "server_side_parameters": settings}
        self.format = table_format
        self.project = Project(folder / "project", self.spark, "bench", {"file_format": table_format, "output": output})
        self.results: list[dict[str, Any]] = []

    def feed(self, name: str, keys: str, rows: int, sequence: int) -> None:
        """A feed of `rows` events, `keys` being SQL over the row's number `n`."""
        self.spark.sql(f"drop table if exists bench.{name}")
        self.spark.sql(
            f"""create table bench.{name} using {self.format} as
            select {keys} as id, concat('name ', n % 1000) as name, n % 97 as score, cast(n as double) / 7 as amount,
                   if(n % 20 = 19 and {sequence} > 1, 'D', 'U') as op, {sequence} + n div 1000000000 as seq
            from (select id as n from range({rows}))"""
        )

    def apply(self, model: str, feed: str, where: str = "") -> None:
        self.project.write({f"models/{model}.sql": MODEL})
        self.project.dbt("run", "--select", model, "--vars", json.dumps({"feed": feed, "where": where}))

    def plain_merge(self, target: str, feed: str) -> None:
        self.spark.sql(
            f"""merge into bench.{target} t using bench.{feed} s on t.id = s.id and t.__END_AT is null
            when matched and s.op = 'D' then delete
            when matched then update set name = s.name, score = s.score, amount = s.amount, __START_AT = s.seq
            when not matched then insert (id, name, score, amount, __START_AT) values (s.id, s.name, s.score, s.amount, s.seq)"""
        )

    def measure(self, what: str, action: Any, *arguments: Any) -> float:
        wall, cpu = time.monotonic(), cpu_seconds()
        action(*arguments)
        result = {
            "what": what,
            "wall": round(time.monotonic() - wall, 2),
            "cpu": round(cpu_seconds() - cpu, 2),
        }
        self.results.append(result)
        print(f"{what:<60} {result['wall']:>9.2f} s wall {result['cpu']:>9.2f} s CPU", flush=True)
        return float(result["wall"])


def cpu_seconds() -> float:
    """CPU time of this process and of its Spark JVM."""
    me = os.getpid()
    total = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(stat.parent.name) == me or int(fields[1]) == me:
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def small_batches(bench: Bench, scale: float) -> None:
    """(a): one batch on growing targets."""
    events = max(int(10_000 * scale), 10)
    walls = []
    for rows in (int(n * scale) for n in (100_000, 1_000_000, 10_000_000)):
        bench.feed("history", "n", rows, 1)
        bench.apply(f"scd2_{rows}", "history")
        bench.spark.sql(
            f"create or replace table bench.plain_{rows} using {bench.format} as select * from bench.scd2_{rows}"
        )
        bench.feed("batch", f"{rows // 2} + n", events, 2)
        plain = bench.measure(
            f"plain MERGE, {events} events into {rows} rows", bench.plain_merge, f"plain_{rows}", "batch"
        )
        ours = bench.measure(f"apply_changes, {events} events into {rows} rows", bench.apply, f"scd2_{rows}", "batch")
        walls.append(ours)
        print(f"    apply_changes / plain MERGE: {ours / plain:.2f}")
    print(f"    apply_changes, largest / ten times smaller target: {walls[2] / walls[1]:.2f}")


def large_batches(bench: Bench, scale: float) -> None:
    """(b), (c) and (d): many events at once, in batches, and all history anew."""
    events = int(1_000_000 * scale)
    bench.feed("history", "n", events, 1)
    bench.feed("large", f"(n * 7919) % {2 * events}", events, 2)
    for model in ("one", "twenty"):
        bench.apply(model, "history")
    one = bench.measure(f"apply_changes, {events} events in 1 batch", bench.apply, "one", "large")

    def in_batches() -> None:
        for number in range(20):
            bench.apply("twenty", "large", f" where id % 20 = {number}")

    twenty = bench.measure(f"apply_changes, {events} events in 20 batches", in_batches)
    naive = bench.measure(f"all history anew by window functions, {2 * events} events", recompute, bench)
    same = bench.spark.sql("select * from bench.one except select * from bench.twenty").isEmpty()
    print(f"    20 batches / 1 batch: {twenty / one:.2f}; 1 batch / naive: {one / naive:.2f}; same tables: {same}")


def recompute(bench: Bench) -> None:
    bench.spark.sql(
        f"""create or replace table bench.naive using {bench.format} as
        select id, name, score, amount, seq as __START_AT, lead(seq) over (partition by id order by seq) as __END_AT
        from (select * from bench.history union all select * from bench.large) where op = 'U'"""
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--table-format", default="delta", choices=["delta", "iceberg"])
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="dbt_cdc_bench_"))
    try:
        bench = Bench(arguments.table_format, folder)
        bench.feed("warm", "n", 100, 1)
        bench.apply("warm_up", "warm")
        small_batches(bench, arguments.scale)
        large_batches(bench, arguments.scale)
        print(json.dumps(bench.results))
        bench.spark.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

"""What apply_changes costs beside a plain MERGE of the same batch, in one run: wall and CPU seconds.

    python -m benchmarks.apply_changes                     in full
    python -m benchmarks.apply_changes --scale 0.01        a hundredth, to see that it works
    python -m benchmarks.apply_changes --parts small --rows 1000000 --statements

(a) `small`: batches of 10,000 events on SCD 2 targets of 100,000, 1,000,000 and 10,000,000 rows, the tables ordered by
    the key (docs/apply_changes.md says how), the keys of a batch in one range (near) or spread over all (spread), with
    (marked) and without deletion vectors (Delta) or merge-on-read (Iceberg);
(b) `large`: a batch of 1,000,000 events; (c) the same events in 20 batches; (d) all history anew by window functions.

Two plain MERGEs stand beside it, each a statement by itself: the upsert updates the live row of each key and inserts
what is new, and closes no versions; the one for SCD 2, as Delta's documentation has it, closes the live row and inserts
the new one, so that a batch in order gives the table that apply_changes makes (checked). Neither heeds an order or
remembers anything. dbt's own incremental model merges the batch into a table of its own within an ordinary `dbt run`;
it deletes nothing: a delete is an update to it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from dbt.adapters.spark import session

from benchmarks.measure import cpu_seconds
from tests.support.project import words_of
from tests.support.shared import own_project
from tests.support.spark import target_settings

OPTIONS = {
    "sequence_by": "seq",
    "stored_as_scd_type": 2,
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op", "seq"],
}
#: what makes a MERGE mark rows as gone instead of writing their files anew
MARKS = {"delta": "delta.enableDeletionVectors", "iceberg": "write.merge.mode"}
MARKED = {"delta": ("false", "true"), "iceberg": ("copy-on-write", "merge-on-read")}
APPLIED = """
    {{ config(materialized='apply_changes', unique_key='id', meta={'dbt_cdc': OPTIONS}) }}
    select * from {{ target.schema }}.batch
"""
INCREMENTAL = """
    {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
    select id, name, score, amount, seq as __START_AT, cast(null as int) as __END_AT
    from {{ target.schema }}.batch
"""


class Bench:
    def __init__(self, table_format: str, folder: Path, memory: str) -> None:
        os.environ["DBT_CDC_DRIVER_MEMORY"] = memory
        settings = target_settings(table_format, folder / "warehouse") | {
            "spark.sql.shuffle.partitions": "16",
        }
        self.format = table_format
        self.project = own_project(folder, table_format, settings, "bench")
        self.spark = self.project.spark
        self.results: list[dict[str, Any]] = []

    def model(self, name: str, text: str) -> None:
        self.project.write({f"models/{name}.sql": text.replace("OPTIONS", repr(OPTIONS))})

    def mark(self, tables: dict[str, str], marked: bool) -> None:
        """From now on a MERGE marks rows as gone, or writes their files anew."""
        setting = f"'{MARKS[self.format]}' = '{MARKED[self.format][marked]}'"
        for table in tables.values():
            self.spark.sql(f"alter table bench.{table} set tblproperties ({setting})")

    def feed(self, name: str, keys: str, rows: int, sequence: int) -> None:
        """A feed of `rows` events of one sequence; `keys`: SQL over its number `n`.

        From sequence 2 on, every twentieth event is a delete.
        """
        self.spark.sql(f"drop table if exists bench.{name}")
        self.spark.sql(
            f"""create table bench.{name} using {self.format} as
            select {keys} as id, concat('name ', n % 1000) as name, n % 97 as score,
                   cast(n + 1 as double) / {sequence} as amount, if(n % 20 = 19 and {sequence} > 1, 'D', 'U') as op,
                   {sequence} as seq
            from (select id as n from range({rows}))"""
        )

    def run(self, model: str, feed: str, where: str = "") -> None:
        """As a project does: the model's text is the same in each run, so that dbt need not parse everything anew."""
        self.spark.sql(f"create or replace view bench.batch as select * from bench.{feed}{where}")
        self.project.dbt("run", "--select", model)

    def cluster(self, table: str) -> None:
        """Orders a table's files by the key, as docs/apply_changes.md says."""
        if self.format == "delta":
            self.spark.conf.set("spark.databricks.delta.optimize.maxFileSize", str(16 << 20))
            self.spark.sql(f"optimize bench.{table} zorder by (id)")
        else:
            self.spark.sql(
                f"call system.rewrite_data_files(table => 'bench.{table}', strategy => 'sort', sort_order => 'id',"
                f" options => map('rewrite-all', 'true', 'target-file-size-bytes', '{16 << 20}'))"
            )

    def plain_merge(self, target: str, feed: str) -> None:
        self.spark.sql(
            f"""merge into bench.{target} t using bench.{feed} s on t.id = s.id and t.__END_AT is null
            when matched and s.op = 'D' then delete
            when matched then update set name = s.name, score = s.score, amount = s.amount, __START_AT = s.seq
            when not matched and s.op <> 'D' then insert (id, name, score, amount, __START_AT)
                values (s.id, s.name, s.score, s.amount, s.seq)"""
        )

    def merge_versions(self, target: str, feed: str) -> None:
        self.spark.sql(
            f"""merge into bench.{target} t using (
                select s.id as live_id, s.* from bench.{feed} s
                union all
                select null, s.* from bench.{feed} s join bench.{target} t on s.id = t.id and t.__END_AT is null
                where s.op <> 'D' and not struct(s.name, s.score, s.amount) <=> struct(t.name, t.score, t.amount)
            ) s on t.id = s.live_id and t.__END_AT is null
            when matched and (s.op = 'D' or not struct(s.name, s.score, s.amount) <=> struct(t.name, t.score, t.amount))
                then update set __END_AT = s.seq
            when not matched and s.op <> 'D' then insert (id, name, score, amount, __START_AT)
                values (s.id, s.name, s.score, s.amount, s.seq)"""
        )

    def measure(self, what: str, actions: list[Callable[[], None]]) -> float:
        """Runs the actions, all alike, and prints their medians; the CPU seconds."""
        walls, cpus = [], []
        for action in actions:
            wall, cpu = time.monotonic(), cpu_seconds()
            action()
            walls.append(time.monotonic() - wall)
            cpus.append(cpu_seconds() - cpu)
        result = {"what": what, "wall": round(statistics.median(walls), 2), "cpu": round(statistics.median(cpus), 2)}
        self.results.append(result)
        print(f"{what:<66} {result['wall']:>9.2f} s wall {result['cpu']:>9.2f} s CPU", flush=True)
        return max(float(result["cpu"]), 0.01)


def print_statements() -> None:
    """Prints what each statement of dbt costs."""
    stock = {"execute": session.Cursor.execute, "fetchall": session.Cursor.fetchall}

    def timed(step: str) -> Callable[..., Any]:
        def call(self: Any, *arguments: Any) -> Any:
            wall, cpu = time.monotonic(), cpu_seconds()
            result = stock[step](self, *arguments)
            said = words_of(arguments[0])[:110] if arguments else "fetch"
            print(f"        {time.monotonic() - wall:6.2f} s wall {cpu_seconds() - cpu:6.2f} s CPU  {said}", flush=True)
            return result

        return call

    for step in stock:
        setattr(session.Cursor, step, timed(step))


def small_batches(bench: Bench, sizes: list[int], events: int, repeats: int) -> None:
    """(a): small batches on growing targets."""
    costs: dict[tuple[str, int], float] = {}
    for rows in sizes:
        tables = make_targets(bench, rows)
        for marked in (False, True):
            bench.mark(tables, marked)
            for spread in (False, True):
                feeds = []
                for repeat in range(repeats):
                    keys = f"n * {rows // events} + {repeat}" if spread else f"{rows // 2 + repeat * events} + n"
                    feeds.append(f"batch_{repeat}")
                    # after those of all feeds before: no event is late
                    bench.feed(feeds[-1], keys, events, 2 + spread + 2 * marked)
                kind = f"{'spread' if spread else 'near'} keys{', marked' if marked else ''}"
                costs[kind, rows] = compare(bench, tables, feeds, f"{events} events, {kind}, {rows} rows")
        for table in tables.values():
            bench.spark.sql(f"drop table bench.{table}")
    for (kind, rows), cost in costs.items():
        if (kind, rows // 10) in costs:
            print(f"    apply_changes, {kind}: {rows} / {rows // 10} rows: {cost / costs[kind, rows // 10]:.2f} (CPU)")


def make_targets(bench: Bench, rows: int) -> dict[str, str]:
    """Tables of the same rows, ordered by the key: what writes it -> its name."""
    tables = {kind: f"{kind}_{rows}" for kind in ("applied", "plain", "versions", "incremental")}
    bench.feed("history", "n", rows, 1)
    bench.model(tables["applied"], APPLIED)
    bench.model(tables["incremental"], INCREMENTAL)
    bench.run(tables["applied"], "history")
    for kind, table in tables.items():
        if kind != "applied":
            bench.spark.sql(
                f"create table bench.{table} using {bench.format} as select * from bench.{tables['applied']}"
            )
    for table in (*tables.values(), f"{tables['applied']}__events"):
        bench.cluster(table)
    return tables


def compare(bench: Bench, tables: dict[str, str], feeds: list[str], what: str) -> float:
    writers: dict[str, Callable[[str], None]] = {
        "upsert MERGE": partial(bench.plain_merge, tables["plain"]),
        "SCD 2 MERGE": partial(bench.merge_versions, tables["versions"]),
        "dbt incremental": partial(bench.run, tables["incremental"]),
        "apply_changes": partial(bench.run, tables["applied"]),
    }
    costs = {
        name: bench.measure(f"{name}, {what}", [partial(writer, feed) for feed in feeds])
        for name, writer in writers.items()
    }
    *others, ours = costs
    print(
        "    apply_changes: " + ", ".join(f"{costs[ours] / costs[other]:.2f} x {other}" for other in others) + " (CPU)"
    )
    check_same(bench, tables["applied"], tables["versions"], what)
    return costs[ours]


def check_same(bench: Bench, one: str, other: str, what: str) -> None:
    """Stop where one table has a row that the other lacks, or has it more often."""
    rows, others = bench.spark.table(f"bench.{one}"), bench.spark.table(f"bench.{other}")
    if not (rows.exceptAll(others).isEmpty() and others.exceptAll(rows).isEmpty()):
        raise SystemExit(f"{one} and {other} differ: {what}")


def large_batches(bench: Bench, events: int) -> None:
    """(b), (c) and (d): many events at once, in batches, and all history anew."""
    bench.feed("history", "n", events, 1)
    bench.feed("large", f"(n * 7919) % {2 * events}", events, 2)
    for model in ("one", "twenty"):
        bench.model(model, APPLIED)
        bench.run(model, "history")
    one = bench.measure(f"apply_changes, {events} events in 1 batch", [partial(bench.run, "one", "large")])

    def in_batches() -> None:
        for number in range(20):
            bench.run("twenty", "large", f" where id % 20 = {number}")

    twenty = bench.measure(f"apply_changes, {events} events in 20 batches", [in_batches])
    naive = bench.measure(f"all history anew by window functions, {2 * events} events", [partial(recompute, bench)])
    check_same(bench, "one", "twenty", "1 batch and 20")
    check_same(bench, "one", "naive", "in a batch and all anew")
    print(f"    20 batches / 1 batch: {twenty / one:.2f}; 1 batch / naive: {one / naive:.2f} (CPU)")


def recompute(bench: Bench) -> None:
    bench.spark.sql(
        f"""create or replace table bench.naive using {bench.format} as
        select id, name, score, amount, __START_AT, __END_AT
        from (select *, seq as __START_AT, lead(seq) over (partition by id order by seq) as __END_AT
              from (select * from bench.history union all select * from bench.large))
        where op = 'U'"""
    )


def warm_up(bench: Bench) -> None:
    """Each statement a few times, so that the JVM has compiled what is measured."""
    bench.model("warm_up", APPLIED)
    bench.model("warm_up_too", INCREMENTAL)
    for number in range(5):
        bench.feed("warm", "n", 1000, number + 1)
        bench.run("warm_up", "warm")
        bench.run("warm_up_too", "warm")
        bench.plain_merge("warm_up_too", "warm")
        bench.merge_versions("warm_up_too", "warm")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--table-format", default="delta", choices=["delta", "iceberg"])
    parser.add_argument("--parts", nargs="+", default=["small", "large"], choices=["small", "large"])
    parser.add_argument("--rows", nargs="+", type=int, default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--memory", default="4g")
    parser.add_argument("--statements", action="store_true", help="print what each statement costs")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="dbt_cdc_bench_"))
    try:
        bench = Bench(arguments.table_format, folder, arguments.memory)
        warm_up(bench)
        if arguments.statements:
            print_statements()
        if "small" in arguments.parts:
            sizes = [int(rows * arguments.scale) for rows in arguments.rows]
            small_batches(bench, sizes, max(int(10_000 * arguments.scale), 10), arguments.repeat)
        if "large" in arguments.parts:
            large_batches(bench, int(1_000_000 * arguments.scale))
        print(json.dumps(bench.results))
        bench.spark.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

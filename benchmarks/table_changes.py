"""What asking for changes costs: table_changes beside the format's own query for the same range, and what a log costs.

    python -m benchmarks.table_changes --table-format delta --rows 1000000 --commits 10

Prints one line per query: CPU seconds of the Spark process (all threads) and the ratio to the format's own query,
the least of `--repeat` runs; then, by logging mode and without a log, the CPU of a merge and of a plain scan of the
table (the least of several, in changing order) and bytes on disk. Hudi has no such logs, and an environment of its own.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.measure import cpu_seconds
from tests.support.changes import FEED_ON, LOG_HOOKS, Changes
from tests.support.project import Project
from tests.support.shared import own_project
from tests.support.spark import UNASKED, target_settings

MODES = ("key_op", "data_before", "data_before_after")


def cost(spark: SparkSession, query: str, repeat: int) -> float:
    def once() -> float:
        before = cpu_seconds()
        spark.sql(query).write.format("noop").mode("overwrite").save()
        return cpu_seconds() - before

    once()
    return min(once() for _ in range(repeat))


def build(project: Project, table: str, rows: int, commits: int) -> None:
    """A table of `rows` rows and then `commits` merges: each updates 5 %, deletes 1 % and inserts 1 %."""
    columns = "(id bigint, a string, b double, c timestamp)"
    key = ", primaryKey = 'id'" if project.file_format == "hudi" else ""
    properties = f"tblproperties ({FEED_ON[project.file_format]}{key})"
    project.sql(f"create table {{schema}}.{table} {columns} using {project.file_format} {properties}")
    image = "md5(cast(id * 31 + {0} as string)) as a, id / 7.0D + {0} as b, timestamp_seconds({0}) as c"
    project.sql(f"insert into {{schema}}.{table} select id, {image.format(0)} from range({rows})")
    for number in range(commits):
        changed = (
            f"select id, pmod(id, 100) = {number * 6} as gone, {image.format(number + 1)} from range({rows})"
            f" where pmod(id, 100) between {number * 6} and {number * 6 + 5}"
            f" union all select {rows} + id, false, {image.format(number + 1)}"
            f" from range({number * rows // 100}, {(number + 1) * rows // 100})"
        )
        project.sql(
            f"merge into {{schema}}.{table} t using ({changed}) s on t.id = s.id when matched and s.gone then delete"
            " when matched and not s.gone then update set a = s.a, b = s.b, c = s.c"
            " when not matched then insert (id, a, b, c) values (s.id, s.a, s.b, s.c)"
        )


def own_query(project: Project, table: str) -> str:
    """The format's own query for all commits after the first load, with updates paired where it has such a form."""
    name = f"{project.schema}.{table}"
    if project.file_format == "delta":
        return f"select * from table_changes('{name}', 2)"
    first = first_version(project, table)
    if project.file_format == "hudi":
        return f"select * from hudi_table_changes('{name}', 'cdc', '{first}')"
    project.spark.sql(
        f"call spark_catalog.system.create_changelog_view(table => '{name}',"
        f" options => map('start-snapshot-id', '{first}'), changelog_view => 'own_changes',"
        " identifier_columns => array('id'), compute_updates => true)"
    )
    return "select * from own_changes"


def first_version(project: Project, table: str) -> str:
    """The commit of the first load."""
    return "1" if project.file_format == "delta" else Changes(project).versions(table)[0]


def paired_by_hand(project: Project, table: str) -> str:
    """What one writes over Delta's feed to get op, before and after: both kinds of images joined by key and commit."""
    side = (
        "select struct(id, a, b, c) as image, _commit_version as version, _commit_timestamp as ts"
        f" from table_changes('{project.schema}.{table}', 2) where _change_type in ('{{}}', 'update_{{}}image')"
    )
    return (
        "select coalesce(o.version, n.version) as version, coalesce(o.ts, n.ts) as ts, o.image as before,"
        " n.image as after, case when o.image is null then 'i' when n.image is null then 'd' else 'u' end as op"
        f" from ({side.format('delete', 'pre')}) o full outer join ({side.format('insert', 'post')}) n"
        " on o.image.id = n.image.id and o.version = n.version where not (o.image <=> n.image)"
    )


def compiled(project: Project, **calls: str) -> dict[str, str]:
    """Our queries, as dbt compiles them."""
    config = "{{ config(materialized='table') }} select * from "
    project.write({f"models/{name}.sql": f"{config}{{{{ dbt_cdc.table_changes({c}) }}}}" for name, c in calls.items()})
    project.dbt("compile", "--select", *calls)
    folder = project.folder / "target/compiled/consumer/models"
    return {name: (folder / f"{name}.sql").read_text() for name in calls}


def compare_queries(project: Project, rows: int, commits: int, repeat: int) -> None:
    build(project, "fed", rows, commits)
    call = f"'{project.schema}.fed', unique_key='id', begin='{first_version(project, 'fed')}'"
    forms = {form: f"{call}, format='{form}'" for form in ("cdc", "net", "latest_state")}
    base = report(project, {"own query": own_query(project, "fed")}, repeat)
    ours = compiled(project, **forms)
    report(project, ours, repeat, base)
    check(project, ours["cdc"], rows, commits)
    if project.file_format == "delta":
        by_hand = paired_by_hand(project, "fed")
        report(project, {"paired by hand": by_hand}, repeat, base)
        check(project, by_hand, rows, commits)
        project.sql("alter table {schema}.fed set tblproperties (delta.enableChangeDataFeed = false)")
        report(project, compiled(project, comparison=call), repeat, base)


def check(project: Project, query: str, rows: int, commits: int) -> None:
    """An answer that lacks changes would be a cheap one."""
    found = dict(project.rows(f"select op, count(*) from ({query}) group by op"))
    hundredth = commits * (rows // 100)
    expected = {"i": hundredth, "u": 5 * hundredth, "d": hundredth}
    if found != expected:
        raise SystemExit(f"the query gives {found}, expected {expected}: {query}")


def report(project: Project, queries: dict[str, str], repeat: int, base: float = 0) -> float:
    """Print what queries cost, beside `base`; the cost of the last."""
    seconds = base
    for name, query in queries.items():
        seconds = cost(project.spark, query, repeat)
        print(f"{name:<16}{seconds:>9.2f} s CPU {seconds / (base or seconds):>6.2f} x", flush=True)
    return seconds


def compare_logs(project: Project, folder: Path, rows: int, repeat: int) -> None:
    project.sql("create table {schema}.feed (id bigint, a string, b double) using " + project.file_format)
    model = (
        "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id',%s) }} select * from %s"
    )
    modes = ("off", *MODES)
    for mode in modes:
        hooks = "" if mode == "off" else LOG_HOOKS.replace("MODE", repr(mode))
        project.write({f"models/{mode}.sql": model % (hooks, project.schema + ".feed")})
    spent: dict[str, list[float]] = {mode: [] for mode in modes}
    for number in range(repeat + 1):  # a first load, then merges; each mode is first, second, third and last in turn
        ids = f"range(0, {rows + rows // 20}, 10)" if number else f"range({rows})"
        project.sql(
            f"insert overwrite {{schema}}.feed select id, md5(cast(id as string)), id / 7.0D + {number} from {ids}"
        )
        for mode in in_turn(modes, number):
            before = cpu_seconds()
            project.dbt("run", "--select", mode)
            spent[mode].append(cpu_seconds() - before)
    scanned: dict[str, list[float]] = {mode: [] for mode in modes}
    for number in range(4 * repeat):
        for mode in in_turn(modes, number):
            scanned[mode].append(cost(project.spark, f"select * from {project.schema}.{mode}", 1))
    writes = {mode: min(seconds[1:]) for mode, seconds in spent.items()}
    scans = {mode: min(seconds) for mode, seconds in scanned.items()}
    print(f"{'change_log':<20}{'write':>8}{'scan':>9}{'ratio':>8}{'table':>12}{'log':>12}")
    for mode in modes:
        tables, logs = (
            sum(bytes_of(path) for path in folder.rglob(name) if path.is_dir()) for name in (mode, f"{mode}__changes")
        )
        ratio = scans[mode] / scans["off"]
        print(f"{mode:<20}{writes[mode]:>7.2f}s{scans[mode]:>8.2f}s{ratio:>8.2f}{tables:>12}{logs:>12}")


def in_turn(modes: tuple[str, ...], number: int) -> tuple[str, ...]:
    first = number % len(modes)
    return (*modes[first:], *modes[:first])


def bytes_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*.parquet"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table-format", default="delta", choices=["delta", "iceberg", "hudi"])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--commits", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--parts", nargs="+", default=["queries", "logs"], choices=["queries", "logs"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = target_settings(given.table_format, folder / "warehouse")
        settings.update(UNASKED["hudi"] if given.table_format == "hudi" else {})
        project = own_project(folder, given.table_format, settings, "bench")
        if "queries" in given.parts:
            compare_queries(project, given.rows, given.commits, given.repeat)
        if "logs" in given.parts and given.table_format != "hudi":
            compare_logs(project, folder / "warehouse", given.rows, given.repeat)
        project.spark.stop()


if __name__ == "__main__":
    main()

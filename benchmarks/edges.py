"""What reading only new rows costs, beside a plain incremental model with a `max()` subquery and a full recomputation.

    python -m benchmarks.edges --upstream 10000000          10,000 new rows each round

One upstream, several readers, the same new rows for each, in one run of this script. `copy` readers keep every row:
their targets grow with the upstream, and the MERGE into them with it. `customer` readers keep a row per customer,
which leaves the cost of reading. Prints for each reader the CPU seconds of its `dbt run` less those of a run with
nothing to do, dbt's own execution time of the node, and ratios to the plain reader of its kind; medians of the
rounds.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from benchmarks.measure import cpu_seconds
from tests.support.project import Project
from tests.support.shared import own_project
from tests.support.spark import target_settings

CONFIG = "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='%s') }} "
SOURCES = {
    "column": "{{ dbt_cdc.ref_changes(source('raw', 'orders')) }}",
    "version": "{{ dbt_cdc.ref_changes(source('raw', 'orders'), by='version', unique_key='id') }}",
    "plain": """{{ source('raw', 'orders') }}
        {% if is_incremental() %}
        where cdc_datetime_updated > (select max(cdc_datetime_updated) from {{ this }}){% endif %}""",
}
KINDS = {
    "copy": (CONFIG % "id", "select id, customer, amount, cdc_datetime_updated from "),
    "customer": (
        CONFIG % "customer",
        "select customer, max(amount) as amount, max(cdc_datetime_updated) as cdc_datetime_updated from ",
    ),
}
FULL = "{{ config(materialized='table') }} "
Costs = dict[str, list[tuple[float, float]]]


def readers() -> dict[str, str]:
    models = {"nothing": "{{ config(materialized='ephemeral') }} select 1 as id"}
    for kind, (config, select) in KINDS.items():
        tail = " group by customer" if kind == "customer" else ""
        for way, source in SOURCES.items():
            models[f"{kind}_{way}"] = config + select + source + tail
        models[f"{kind}_full"] = FULL + select + "{{ source('raw', 'orders') }}" + tail
    return models


def rows(first: int, count: int, stamp: str) -> str:
    return f"""select id, cast(id % 1000 as int) as customer, cast(id * 7 % 100000 as double) as amount,
        timestamp '{stamp}' + make_interval(0, 0, 0, 0, 0, 0, id / 1000000.0) as cdc_datetime_updated
        from range({first}, {first + count}) as r (id)"""


def measure(project: Project, upstream: int, new: int, rounds: int) -> Costs:
    feed = " tblproperties ('delta.enableChangeDataFeed' = 'true')" if project.file_format == "delta" else ""
    orders = f"{project.schema}.orders"
    project.sql(f"create table {orders} using {project.file_format}{feed} as {rows(0, upstream, '2024-01-01')}")
    source = f"sources: [{{name: raw, schema: {project.schema}, tables: [{{name: orders}}]}}]"
    models = readers()
    project.write({"models/sources.yml": source, **{f"models/{name}.sql": sql for name, sql in models.items()}})
    project.dbt("run", "--threads", "1")
    costs: Costs = {name: [] for name in models}
    for number in range(rounds + 1):  # the first warms up
        project.sql(f"insert into {orders} {rows(upstream + number * new, new, f'2024-02-{number + 1:02}')}")
        for name in models:
            before = cpu_seconds()
            project.dbt("run", "--select", name)
            spent = cpu_seconds() - before
            taken = 0.0 if name == "nothing" else project.run_results()[name]["execution_time"]
            if number:
                costs[name].append((spent, taken))
        for name in (name for name in models if name.startswith("copy")):
            assert project.rows(f"select count(*) from {project.schema}.{name}") == [(upstream + (number + 1) * new,)]
    return costs


def report(costs: Costs) -> list[str]:
    cpu = {name: statistics.median(spent for spent, _ in each) for name, each in costs.items()}
    node = {name: statistics.median(taken for _, taken in each) for name, each in costs.items()}
    lines = [f"{'reader':18} {'CPU s':>8} {'to plain':>9} {'node s':>8} {'to plain':>9}"]
    for name in costs:
        if name == "nothing":
            continue
        plain = name.split("_")[0] + "_plain"
        own, peer = cpu[name] - cpu["nothing"], cpu[plain] - cpu["nothing"]
        ratio = node[name] / node[plain]
        lines.append(f"{name:18} {own:8.2f} {own / peer:9.2f} {node[name]:8.2f} {ratio:9.2f}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--upstream", type=int, default=10_000_000)
    parser.add_argument("--new", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--table-format", default="delta", choices=["delta", "iceberg"])
    parser.add_argument("--log", help="keep dbt's log here")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = target_settings(chosen.table_format, Path(folder) / "warehouse")
        project = own_project(Path(folder), chosen.table_format, settings, "bench")
        lines = report(measure(project, chosen.upstream, chosen.new, chosen.repeat))
        if chosen.log:
            Path(chosen.log).write_text(project.log())
        project.spark.stop()
    print(
        f"{chosen.table_format}, {chosen.new:,} new rows in {chosen.upstream:,}, {chosen.repeat} rounds",
        *lines,
        sep="\n",
    )


if __name__ == "__main__":
    main()

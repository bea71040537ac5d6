"""What reading only new rows costs, beside a plain incremental model with a `max()` subquery and a full recomputation.

One upstream, four readers, the same new rows for each, in one run of this script: `python -m benchmarks.edges`.
Prints dbt's own execution times (median over rounds), each also as a ratio to the plain incremental model.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from tests.support.project import Project
from tests.support.spark import profile_target, start_session, test_settings

CONFIG = "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}"
COLUMNS = "id, customer, amount, cdc_datetime_updated"
UPSTREAM = "source('raw', 'orders')"
MODELS = {
    "by_column": f"{CONFIG} select {COLUMNS} from {{{{ dbt_cdc.ref_changes({UPSTREAM}) }}}}",
    "by_version": f"{CONFIG} select {COLUMNS} from {{{{ dbt_cdc.ref_changes({UPSTREAM}, by='version') }}}}",
    "plain": f"""{CONFIG} select {COLUMNS} from {{{{ source('raw', 'orders') }}}}
        {{% if is_incremental() %}}
        where cdc_datetime_updated > (select max(cdc_datetime_updated) from {{{{ this }}}}){{% endif %}}""",
    "full": f"{{{{ config(materialized='table') }}}} select {COLUMNS} from {{{{ source('raw', 'orders') }}}}",
}


def rows(first: int, count: int, stamp: str) -> str:
    return f"""select id, cast(id % 1000 as int) as customer, cast(id * 7 % 100000 as double) as amount,
        timestamp '{stamp}' + make_interval(0, 0, 0, 0, 0, 0, id / 1000000.0) as cdc_datetime_updated
        from range({first}, {first + count}) as r (id)"""


def measure(project: Project, upstream: int, new: int, rounds: int) -> dict[str, float]:
    feed = " tblproperties ('delta.enableChangeDataFeed' = 'true')" if project.file_format == "delta" else ""
    orders = f"{project.schema}.orders"
    project.sql(f"create table {orders} using {project.file_format}{feed} as {rows(0, upstream, '2024-01-01')}")
    source = f"sources: [{{name: raw, schema: {project.schema}, tables: [{{name: orders}}]}}]"
    project.write({"models/sources.yml": source, **{f"models/{name}.sql": sql for name, sql in MODELS.items()}})
    project.dbt("run", "--threads", "1")
    times: dict[str, list[float]] = {name: [] for name in MODELS}
    for number in range(rounds):
        project.sql(f"insert into {orders} {rows(upstream + number * new, new, f'2024-02-{number + 1:02}')}")
        project.dbt("run", "--threads", "1")
        for name, result in project.run_results().items():
            if name in times:
                times[name].append(result["execution_time"])
        sizes = {name: project.rows(f"select count(*) from {project.schema}.{name}")[0][0] for name in MODELS}
        assert set(sizes.values()) == {upstream + (number + 1) * new}, sizes
    return {name: statistics.median(taken) for name, taken in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upstream", type=int, default=10_000_000)
    parser.add_argument("--new", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--format", default="delta", choices=["delta", "iceberg"])
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = test_settings(chosen.format, Path(folder) / "warehouse")
        spark = start_session(settings)
        spark.sql("create schema if not exists bench")
        output = {**profile_target(chosen.format), "server_side_parameters": settings}
        project = Project(Path(folder) / "project", spark, "bench", {"file_format": chosen.format, "output": output})
        seconds = measure(project, chosen.upstream, chosen.new, chosen.rounds)
        spark.stop()
    ratios = {name: round(taken / seconds["plain"], 2) for name, taken in seconds.items()}
    print(json.dumps({**vars(chosen), "seconds": seconds, "to_plain": ratios}, indent=2))


if __name__ == "__main__":
    main()

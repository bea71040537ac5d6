"""One project, SQL and Python models and a snapshot, gives the same tables wherever it runs."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import yaml

from tests.servers.remote import CONNECT, run, thrift
from tests.servers.spark_server import Server
from tests.support import spark as embedded

FILES = {
    "seeds/orders.csv": """
        id,customer,amount
        1,Ada,10
        2,Bob,20
        3,,30
    """,
    "models/totals.sql": """
        {{ config(materialized='table') }}
        select count(*) as orders, sum(amount) as amount from {{ ref('orders') }}
    """,
    "models/frame.py": """
        from pyspark.sql import functions as F


        def model(dbt, spark):
            dbt.config(materialized="table")
            return dbt.ref("orders").withColumn("twice", F.col("amount") * 2)
    """,
    "models/pandas_frame.py": """
        import pandas


        def model(dbt, spark):
            dbt.config(materialized="table")
            return pandas.DataFrame({"id": [1, 2], "name": ["Ada", None]})
    """,
    "models/merged.py": """
        def model(dbt, spark):
            dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="id")
            orders = dbt.ref("frame")
            if dbt.is_incremental:
                seen = spark.table(str(dbt.this)).count()
                return orders.selectExpr("id", f"{seen} as seen").where("id > 1")
            return orders.selectExpr("id", "0 as seen")
    """,
    "models/downstream.sql": """
        {{ config(materialized='table') }}
        select m.id, m.seen, f.twice from {{ ref('merged') }} m join {{ ref('frame') }} f on f.id = m.id
    """,
    "snapshots/kept.yml": """
        snapshots:
          - name: kept
            relation: ref('frame')
            config: {unique_key: id, strategy: check, check_cols: [amount]}
    """,
}
QUERIES = (
    "select * from {schema}.totals",
    "select * from {schema}.frame order by id",
    "select * from {schema}.pandas_frame order by id",
    "select * from {schema}.downstream order by id",
    "select id, amount, dbt_valid_to from {schema}.kept order by id",
)
ROWS = [
    [["3", "60"]],
    [["1", "Ada", "10", "20"], ["2", "Bob", "20", "40"], ["3", "None", "30", "60"]],
    [["1", "Ada"], ["2", "None"]],
    [["1", "0", "20"], ["2", "3", "40"], ["3", "3", "60"]],
    [["1", "10", "None"], ["2", "20", "None"], ["3", "30", "None"]],
]


def make_project(folder: Path, output: dict[str, Any], file_format: str, **model_configs: Any) -> Path:
    settings = {"+file_format": file_format}
    project = {
        "name": "consumer", "version": "1.0.0", "config-version": 2, "profile": "consumer",
        "flags": {"send_anonymous_usage_stats": False},
        "models": {**settings, **model_configs}, "seeds": settings, "snapshots": settings,
    }  # fmt: skip
    profiles = {"consumer": {"target": "test", "outputs": {"test": output}}}
    written = {
        **{path: textwrap.dedent(text).lstrip() for path, text in FILES.items()},
        "dbt_project.yml": yaml.safe_dump(project),
        "profiles.yml": yaml.safe_dump(profiles),
        "packages.yml": yaml.safe_dump({"packages": [{"local": str(embedded.ROOT)}]}),
    }
    for path, text in written.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / "dbt_packages").mkdir()
    (folder / "dbt_packages/dbt_cdc").symlink_to(embedded.ROOT)
    return folder


def built_twice(folder: Path, schema: str, remote: str | None = None) -> None:
    queries = [query.replace("{schema}", schema) for query in QUERIES]
    told = run(folder, [["build"], ["build", "--select", "merged+", "kept"]], queries, remote=remote)
    assert [success for success, _ in told["dbt"]] == [True, True], told["dbt"]
    assert told["rows"] == ROWS


def test_it_runs_in_an_embedded_session(tmp_path: Path, table_format: str) -> None:
    output = {
        **CONNECT,
        "schema": "here",
        "server_side_parameters": embedded.test_settings(table_format, tmp_path / "w", catalog="hive"),
    }
    built_twice(make_project(tmp_path, output, table_format), "here")


def test_it_runs_over_spark_connect(tmp_path: Path, table_format: str, server: Server) -> None:
    output = {**CONNECT, "schema": "over_connect"}
    built_twice(make_project(tmp_path, output, table_format), "over_connect", server.connect_url)


def test_sql_runs_over_thrift_and_python_over_spark_connect(tmp_path: Path, table_format: str, server: Server) -> None:
    output = {**thrift(server.thrift_port), "schema": "over_both"}
    configs = {"+submission_method": "session"}
    built_twice(make_project(tmp_path, output, table_format, **configs), "over_both", server.connect_url)

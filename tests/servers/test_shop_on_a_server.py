"""The integration project on a server: over Spark Connect, and with SQL over thrift and Python over Connect."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import yaml

from tests.servers.remote import CONNECT, run, thrift
from tests.servers.spark_server import Server
from tests.support.spark import ROOT

NOT_COPIED = shutil.ignore_patterns("profiles.yml", "dbt_packages", "target", "logs", "warehouse")

QUERIES = {
    "select operation, count(*) from {schema}.accounts group by all order by 1": [
        ["I", "2000"],
        ["N", "4000"],
        ["U", "4000"],
    ],
    "select id, name, role, __START_AT, __END_AT from {schema}.employees_history where id > 4 order by 1, 4": [
        ["5", "Chris", "manager", "5", "6"],
        ["5", "Chris", "owner", "6", "None"],
        ["6", "Pat", "mechanic", "7", "8"],
    ],
    "select op, count(*) from {schema}.employees__changes group by all": [["i", "5"]],
    "select count(*), count(distinct order_id) from {schema}.order_points": [["250", "250"]],
    "select count(*) from {schema}.customer_history where update_process_id is null": [["1010"]],
    "select count(*), count(distinct update_process_id) from {schema}.customer_history"
    " where update_process_id is not null": [["80", "1"]],
}


def two_days(folder: Path, output: dict[str, Any], file_format: str, remote: str) -> None:
    shop = folder / "shop"
    shutil.copytree(ROOT / "integration_tests", shop, ignore=NOT_COPIED)
    profiles = {"dbt_cdc": {"target": "test", "outputs": {"test": output}}}
    (shop / "profiles.yml").write_text(yaml.safe_dump(profiles))
    (shop / "dbt_packages").mkdir()
    (shop / "dbt_packages/dbt_cdc").symlink_to(ROOT)
    (shop / "packages.yml").write_text(yaml.safe_dump({"packages": [{"local": str(ROOT)}]}))
    build = ["build", "--exclude", "tag:feeds", "--vars"]
    queries = [query.replace("{schema}", output["schema"]) for query in QUERIES]
    told = run(
        shop,
        [[*build, "{day: 1}"], [*build, "{day: 2}"]],
        queries,
        remote=remote,
        environment={"DBT_CDC_FORMAT": file_format},
    )
    assert [success for success, _ in told["dbt"]] == [True, True], told["dbt"]
    assert dict(zip(QUERIES, told["rows"], strict=True)) == QUERIES


def test_the_shop_runs_over_spark_connect(tmp_path: Path, table_format: str, server: Server) -> None:
    two_days(tmp_path, {**CONNECT, "schema": "shop_connect"}, table_format, server.connect_url)


def test_the_shop_runs_with_sql_over_thrift(tmp_path: Path, table_format: str, server: Server) -> None:
    two_days(tmp_path, {**thrift(server.thrift_port), "schema": "shop_both"}, table_format, server.connect_url)

"""dbt's own fixtures, pointed at the Spark session of the test run.

The tests run with the overrides, in one file with operational metadata, in the other without. With
`DBT_CDC_ADAPTER_TESTS=stock` there is no dispatch entry: what dbt-spark does by itself (docs/snapshot_conformance.md).
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.cli.main import dbtRunner, dbtRunnerResult
from dbt.tests import util
from dbt.tests.adapter.simple_snapshot import new_record_timestamp_mode, test_various_configs
from dbt.tests.fixtures.project import *  # noqa: F403
from dbt.tests.fixtures.project import TestProjInfo, write_project_files

from tests.dbt_adapter.spark_project import SparkProject, spark_snapshot
from tests.support.spark import ROOT

_numbers = itertools.count(1)


@pytest.fixture(scope="class")
def mode(request: pytest.FixtureRequest) -> str:
    """metadata_on or metadata_off, as the test's module says, or stock."""
    return os.environ.get("DBT_CDC_ADAPTER_TESTS") or str(request.module.MODE)


# Each class has a project, a profile and a schema of its own
@pytest.fixture(scope="class")
def project_root(mode: str, tmpdir_factory: Any) -> Any:
    return tmpdir_factory.mktemp(f"project_{mode}")


@pytest.fixture(scope="class")
def profiles_root(mode: str, tmpdir_factory: Any) -> Any:
    return tmpdir_factory.mktemp(f"profile_{mode}")


@pytest.fixture(scope="class")
def unique_schema(mode: str) -> str:
    return f"adapter_{next(_numbers)}_{mode}"


@pytest.fixture(scope="class")
def dbt_profile_target(spark: Any, target: dict[str, Any]) -> dict[str, Any]:
    return dict(target["output"])


@pytest.fixture(scope="class")
def logs_dir(mode: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = str(tmp_path_factory.mktemp("logs"))
    os.environ["DBT_LOG_PATH"] = folder
    yield folder
    del os.environ["DBT_LOG_PATH"]


@pytest.fixture(scope="class")
def shared_data_dir() -> str:
    return str(ROOT / "tests")


@pytest.fixture(scope="class")
def dbt_project_yml(project_root: Any, project_config_update: Any, mode: str, table_format: str) -> dict[str, Any]:
    given = project_config_update or {}
    project: dict[str, Any] = {"name": "test", "profile": "test", "config-version": 2, **given}
    project["flags"] = {"send_anonymous_usage_stats": False}
    for resource in ("models", "seeds", "snapshots"):
        project[resource] = {**project.get(resource, {}), "+file_format": table_format}
    if mode != "stock":
        packages = project_root.mkdir("dbt_packages")
        Path(packages, "dbt_cdc").symlink_to(ROOT)
        project_root.join("packages.yml").write(yaml.safe_dump({"packages": [{"local": str(ROOT)}]}))
        order = [project["name"], "dbt_cdc", "dbt"]
        project["dispatch"] = [{"macro_namespace": "dbt", "search_order": order}]
    if mode == "metadata_on":
        project["snapshots"]["+meta"] = {"dbt_cdc": {"operational_metadata": True}}
    project_root.join("dbt_project.yml").write(yaml.safe_dump(project))
    return project


@pytest.fixture(scope="class")
def project_files(
    project_root: Any,
    models: dict[str, str],
    snapshots: dict[str, str],
    properties: dict[str, str],
    seeds: dict[str, str],
    dbt_project_yml: Any,
    table_format: str,
) -> None:
    write_project_files(
        project_root,
        "models",
        {name: spark_snapshot(text, table_format) for name, text in {**models, **properties}.items()},
    )
    adapted = {name: spark_snapshot(text, table_format) for name, text in snapshots.items()}
    write_project_files(project_root, "snapshots", adapted)
    write_project_files(project_root, "seeds", seeds)


@pytest.fixture(scope="class")
def project(project_setup: TestProjInfo, project_files: None, table_format: str) -> TestProjInfo:
    project_setup.__class__ = SparkProject
    project_setup.file_format = table_format
    return project_setup


class NodesOnly(dbtRunner):
    """Results without the package's on-run-start hook, which dbt counts among them."""

    def invoke(self, args: list[str], **kwargs: Any) -> dbtRunnerResult:
        invoked = super().invoke(args, **kwargs)
        if hasattr(invoked.result, "results"):
            nodes = [result for result in invoked.result.results if result.node.resource_type != "operation"]
            invoked.result.results = nodes
        return invoked


@pytest.fixture(autouse=True)
def results_are_of_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(util, "dbtRunner", NodesOnly)


@pytest.fixture(autouse=True)
def expected_columns_decide(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With metadata, relations are compared on all columns of the expected one, beside which the operational ones stand."""
    if mode != "metadata_on":
        return

    def check(adapter: Any, relation_names: list[str]) -> None:
        actual, expected = relation_names
        util.check_relations_equal(adapter, [expected, actual])

    monkeypatch.setattr(test_various_configs, "check_relations_equal", check)
    monkeypatch.setattr(new_record_timestamp_mode, "check_relations_equal", check)


@pytest.fixture(autouse=True)
def rows_have_an_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """One test counts on the order in which Postgres keeps rows; Spark has none, so it is said."""

    def select(adapter: Any, sql: str, fetch: str | None = None) -> Any:
        return util.run_sql_with_adapter(adapter, f"{sql} order by id, test_valid_to", fetch)

    monkeypatch.setattr(test_various_configs, "run_sql_with_adapter", select)

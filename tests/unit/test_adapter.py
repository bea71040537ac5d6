"""How dbt-spark's adapter learns the submission method `session`, and that nothing else changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.spark.impl import SparkAdapter

import dbt_cdc
from dbt_cdc import _adapter
from dbt_cdc._submission import Outcome, SessionPythonJobHelper, _module
from tests.support.spark import ROOT

PROJECT = {"project_root": ".", "packages_install_path": "dbt_packages", "project_name": "shop"}


class Databricks:
    """Stands for a stock helper."""


def adapter_module(*stock_methods: str) -> ModuleType:
    """A module with an adapter class like dbt-spark's, that has these submission methods."""

    class Adapter:
        _available_ = frozenset({"quote"})

        def __init__(self, method: str = "session") -> None:
            self.config = SimpleNamespace(credentials=SimpleNamespace(method=method), **PROJECT)

        @property
        def python_submission_helpers(self) -> dict[str, Any]:
            return dict.fromkeys(stock_methods, Databricks)

        @property
        def default_python_submission_method(self) -> str:
            return "all_purpose_cluster"

        def generate_python_submission_response(self, submission_result: Any) -> str:
            return f"stock response to {submission_result}"

    module = ModuleType("dbt.adapters.spark.impl")
    module.SparkAdapter = Adapter  # type: ignore[attr-defined]
    return module


def registered(monkeypatch: pytest.MonkeyPatch, *stock_methods: str) -> Any:
    module = adapter_module(*stock_methods)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    _adapter.register()
    _adapter.register()  # dbt may load the module more than once
    return module.SparkAdapter


def test_session_is_added_and_the_stock_methods_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    helpers = registered(monkeypatch, "job_cluster", "all_purpose_cluster")().python_submission_helpers
    assert sorted(helpers) == ["all_purpose_cluster", "job_cluster", "session"]
    assert helpers["job_cluster"] is helpers["all_purpose_cluster"] is Databricks
    helper = helpers["session"]({"name": "m"}, SimpleNamespace(server_side_parameters={}))
    assert isinstance(helper, SessionPythonJobHelper)


@pytest.mark.parametrize(
    ("connection", "default"),
    [
        ("session", "session"),
        ("thrift", "all_purpose_cluster"),
        ("http", "all_purpose_cluster"),
        ("odbc", "all_purpose_cluster"),
    ],
)
def test_session_is_the_default_for_session_profiles_alone(
    monkeypatch: pytest.MonkeyPatch, connection: str, default: str
) -> None:
    assert registered(monkeypatch, "all_purpose_cluster")(connection).default_python_submission_method == default


def test_a_session_helper_of_dbt_spark_itself_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = registered(monkeypatch, "session", "all_purpose_cluster")()
    assert adapter.python_submission_helpers["session"] is Databricks
    assert adapter.default_python_submission_method == "all_purpose_cluster"


def test_an_adapter_that_builds_on_dbt_spark_s_keeps_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    base = registered(monkeypatch, "all_purpose_cluster")

    class DatabricksAdapter(base):  # type: ignore[misc,valid-type]
        def __init__(self) -> None:
            self.config = SimpleNamespace(credentials=SimpleNamespace(), **PROJECT)  # dbt-databricks' have no `method`

        @property
        def python_submission_helpers(self) -> dict[str, Any]:
            return {"serverless_cluster": Databricks}

    adapter = DatabricksAdapter()
    assert adapter.default_python_submission_method == "all_purpose_cluster"
    assert adapter.python_submission_helpers == {"serverless_cluster": Databricks}


def test_an_outcome_becomes_the_response_and_other_results_get_the_stock_one(monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = registered(monkeypatch)()
    response = adapter.generate_python_submission_response(Outcome("I 2, D 1, N 9", {"I": 2, "D": 1, "N": 9}))
    assert response.to_dict(omit_none=True) == {
        "_message": "I 2, D 1, N 9", "code": "OK", "rows_affected": 3, "operations": {"I": 2, "D": 1, "N": 9},
    }  # fmt: skip
    assert adapter.generate_python_submission_response(Outcome()) == AdapterResponse("OK")
    assert adapter.generate_python_submission_response("run 7") == "stock response to run 7"


def test_registration_waits_for_an_adapter_that_is_not_loaded() -> None:
    said = in_python(
        "import dbt_cdc, sys",
        "assert 'dbt.adapters.spark.impl' not in sys.modules",
        "from dbt.adapters.spark.impl import SparkAdapter",
        "print(SparkAdapter._dbt_cdc, [f for f in sys.meta_path if type(f).__module__.startswith('dbt_cdc')])",
    )
    assert said == "True []"


def test_what_type_checkers_see_is_what_is_there() -> None:
    assert set(dbt_cdc.__all__) == {"__version__", *dbt_cdc._PUBLIC}
    assert [name for name in dbt_cdc.__all__ if not hasattr(dbt_cdc, name)] == []


def test_the_real_adapter_is_patched_and_keeps_its_own_helpers() -> None:
    _adapter.register()
    assert "dbt_cdc_version" in SparkAdapter._available_
    adapter = SimpleNamespace(config=SimpleNamespace(**PROJECT))
    helpers = SparkAdapter.python_submission_helpers.fget(adapter)  # type: ignore[attr-defined]
    assert sorted(helpers) == ["all_purpose_cluster", "job_cluster", "session"]


def test_code_of_another_revision_than_the_package_s_is_told_from_its_own(tmp_path: Path) -> None:
    adapter = SimpleNamespace(config=SimpleNamespace(**{**PROJECT, "project_root": str(tmp_path)}))

    def told() -> str:
        return str(SparkAdapter.dbt_cdc_version(adapter))  # type: ignore[attr-defined]

    assert told() == dbt_cdc.__version__  # the package itself: none is installed
    package = tmp_path / "dbt_packages/dbt_cdc/src/dbt_cdc"
    shutil.copytree(Path(dbt_cdc.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    assert told() == dbt_cdc.__version__
    with (package / "synthetic/_series.py").open("a") as file:
        file.write("# a later revision\n")
    assert told() == f"{dbt_cdc.__version__} of another revision"
    shutil.rmtree(package / "synthetic")
    assert told() == f"{dbt_cdc.__version__} of another revision"


def test_a_project_that_does_not_use_the_package_pays_at_most_50_ms_and_no_pyspark() -> None:
    costs = []
    for _ in range(3):  # the best of three: other processes may hold the machine
        milliseconds, spark_loaded = in_python(
            "import sys, time, dbt.cli.main, dbt.adapters.spark",
            "start = time.process_time()",
            "import dbt_cdc",
            "print((time.process_time() - start) * 1000, 'pyspark' in sys.modules)",
        ).split()
        assert spark_loaded == "False"
        costs.append(float(milliseconds))
    assert min(costs) <= 50


def in_python(*lines: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", "\n".join(lines)]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=True).stdout.strip()


def test_of_two_runs_of_a_model_in_one_process_either_may_end_first() -> None:
    first, second = (_module("model.shop.t", "t.py") for _ in range(2))
    for begun in (first, second):
        begun.__enter__()
    for ended in (first, second):
        ended.__exit__(None, None, None)
    assert "model.shop.t" not in sys.modules

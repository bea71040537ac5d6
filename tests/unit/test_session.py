"""What a user reads when no Spark session can be had for Python models."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt_cdc import _frames
from dbt_cdc._session import get_session
from tests.support.spark import ROOT


class Builder:
    """Stands for SparkSession.builder; `getOrCreate` fails with what the test says."""

    error: Exception

    def enableHiveSupport(self) -> Builder:
        return self

    def config(self, name: str, value: str) -> Builder:
        return self

    def getOrCreate(self) -> None:
        raise self.error


def session_error(monkeypatch: pytest.MonkeyPatch, error: Exception) -> str:
    module = ModuleType("pyspark.sql")
    builder = Builder()
    builder.error = error
    module.SparkSession = type("SparkSession", (), {"builder": builder})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyspark.sql", module)
    with pytest.raises(DbtRuntimeError) as raised:
        get_session({"spark.sql.session.timeZone": "UTC"}, "dbt_packages")
    return str(raised.value.msg)


def session_error_without(missing: str, folder: Path) -> str:
    """The error where a package is not installed: a process that finds a module in its place that can't be imported."""
    (folder / f"{missing}.py").write_text(f"raise ModuleNotFoundError('No module named {missing}', name='{missing}')")
    code = """
from dbt_common.exceptions import DbtRuntimeError
from dbt_cdc._session import get_session
try:
    get_session({"spark.sql.session.timeZone": "UTC"}, "dbt_packages")
except DbtRuntimeError as error:
    print(error.msg)
"""
    env = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT / 'src'}", "SPARK_REMOTE": "sc://localhost:1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout.rstrip()


def test_without_pyspark_the_error_gives_the_command_to_install_it(tmp_path: Path) -> None:
    message = session_error_without("pyspark", tmp_path)
    assert "submission_method: session need pyspark, which is not installed (No module named pyspark)" in message
    assert message.endswith("\n  pip install './dbt_packages/dbt_cdc[spark]'")


def test_without_what_spark_connect_needs_the_error_gives_the_command_to_install_it(tmp_path: Path) -> None:
    message = session_error_without("grpc", tmp_path)
    assert "need what pyspark needs for Spark Connect, which is not installed" in message
    assert "grpcio >= " in message
    assert message.endswith("\n  pip install './dbt_packages/dbt_cdc[connect]'")


def test_an_unreachable_server_is_named_without_its_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://spark.example:15002/;token=secret==;user_id=ann")
    said = "dbt_cdc: no Spark session for Python models at SPARK_REMOTE=sc://spark.example:15002/: "
    assert session_error(monkeypatch, RuntimeError("connection refused")) == said + "connection refused"
    # as pyspark says it of a part that it can't read
    problem = ValueError("Parameter 'token=secret==' should be provided as a key-value pair, got 15002;token=secret==;")
    told = "Parameter '…' should be provided as a key-value pair, got 15002;…;"
    assert session_error(monkeypatch, problem) == said + told


class SparkFrame:
    """Stands for what pandas-on-Spark makes."""

    sparkSession = None


class DataFrame:
    """Stands for a frame of the library that `__module__` names."""

    def to_spark(self) -> SparkFrame:
        return SparkFrame()


@pytest.mark.parametrize("package", ["pyspark.sql.classic.dataframe", "pyspark.sql.connect.dataframe"])
def test_a_spark_frame_is_taken_as_it_is(package: str) -> None:
    frame = type("DataFrame", (), {"__module__": package, "isStreaming": False, "sparkSession": None})()
    assert _frames.to_spark(frame, None) is frame


def test_a_pandas_on_spark_frame_is_told_by_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DataFrame, "__module__", "pyspark.pandas.frame")
    assert isinstance(_frames.to_spark(DataFrame(), None), SparkFrame)
    heir: Any = type("Orders", (DataFrame,), {"__module__": "models"})
    assert isinstance(_frames.to_spark(heir(), None), SparkFrame)


@pytest.mark.parametrize(("value", "said"), [(None, "None"), ([1], "a builtins.list"), ("x", "a builtins.str")])
def test_anything_else_is_an_error_that_says_what_it_was(value: object, said: str) -> None:
    with pytest.raises(DbtRuntimeError, match=f"model\\(\\) returned {said}; expected a Spark, pandas-on-Spark or"):
        _frames.to_spark(value, None)


def test_a_pandas_frame_without_pyarrow_gives_the_command_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")
    real_import = builtins.__import__

    def without_pyarrow(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "pyarrow":
            raise ImportError("No module named 'pyarrow'")
        return real_import(name, *args, **kwargs)

    frame = pandas.DataFrame({"id": [1]})
    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    with pytest.raises(DbtRuntimeError, match=r"needs pyarrow:\n +pip install pyarrow"):
        _frames.to_spark(frame, None)

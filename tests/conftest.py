"""Fixtures: one Spark session for the run, a fresh dbt project and schema for a test."""

from __future__ import annotations

import functools
import gc
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dbt.parser.manifest
import dbt.task.runnable
import pytest
from dbt.adapters.spark import session
from dbt_common.behavior_flags import BehaviorFlagRendered
from dbt_common.tests import enable_test_caching
from py4j.java_gateway import JVMView
from pyspark.sql import SparkSession

from integration_tests import quick_spark
from tests.support.changes import Changes
from tests.support.project import Project
from tests.support.shared import new_project
from tests.support.spark import settings_for_tests, start_session, target_of

#: A proxy that is not there: jars come from what `make setup` has fetched, as in a user's later runs.
NO_NETWORK = "".join(f" -D{kind}.proxyHost=localhost -D{kind}.proxyPort=9" for kind in ("http", "https"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--table-format", default="delta", help="delta, iceberg or hudi: the format of this run's tables")
    parser.addoption("--every-test", action="store_true", help="also run what other tests show (one_format, long)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what can't run on this format, and, unless asked for, what another format or a quicker test shows."""
    asked, every = config.getoption("--table-format"), config.getoption("--every-test")

    def is_left_out(item: pytest.Item) -> bool:
        of_format = next((mark for mark in item.iter_markers() if mark.name in ("one_format", "only_format")), None)
        if of_format is not None and asked not in of_format.args and (of_format.name == "only_format" or not every):
            return True
        return not every and item.get_closest_marker("long") is not None

    config.hook.pytest_deselected(items=[item for item in items if is_left_out(item)])
    items[:] = [item for item in items if not is_left_out(item)]


def write_no_manifests() -> None:
    """dbt writes target/manifest.json twice a command, a twelfth of the time, and no test reads it."""
    for module in (dbt.parser.manifest, dbt.task.runnable):
        module.write_manifest = lambda *_: None  # type: ignore[attr-defined]


def ask_no_flag_who_made_it() -> None:
    """dbt looks through the whole stack, and the sources of its modules, for who has made each flag: no test reads it."""
    BehaviorFlagRendered._default_source = staticmethod(lambda: "dbt")  # type: ignore[method-assign]


def leave_files_of_dropped_tables() -> None:
    """Iceberg starts Spark jobs for each table that goes with its files, and those of a test run go with its warehouse."""
    stock = session.Cursor.execute

    @functools.wraps(stock)
    def execute(self: session.Cursor, sql: str, *parameters: Any) -> None:
        # dbt's comment may stand before it or behind it
        stock(self, re.sub(r"(?m)^( *drop table if exists .+) purge *$", r"\1", sql), *parameters)

    session.Cursor.execute = execute  # type: ignore[method-assign]


def look_up_java_names_once() -> None:
    """Pyspark asks the JVM for its own classes at each statement, and for some of them the JVM looks through every jar."""
    stock = JVMView.__getattr__

    def look_up(self: JVMView, name: str) -> Any:
        vars(self)[name] = found = stock(self, name)
        return found

    JVMView.__getattr__ = look_up  # type: ignore[method-assign]


def pytest_configure() -> None:
    os.environ["TZ"] = "UTC"  # for the JVM that starts later, and for what pyspark turns into datetimes here
    time.tzset()
    quick_spark.parse_macros_once()
    write_no_manifests()
    ask_no_flag_who_made_it()
    leave_files_of_dropped_tables()
    look_up_java_names_once()
    enable_test_caching()  # dbt's own, of what it finds in the text of macros


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Show a failure when it happens: a run that is cut off later has told it."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\n{report.nodeid} ({report.when}, {report.duration:.0f} s)\n{report.longreprtext}", file=sys.__stderr__)


@pytest.fixture(scope="module", autouse=True)
def collect_what_is_new() -> None:
    """Python's collector walks, many times a command, through modules and parsed macros that stay: a third of its time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(700, 10, 50)


@pytest.fixture(scope="session")
def table_format(pytestconfig: pytest.Config) -> str:
    return str(pytestconfig.getoption("--table-format"))


@pytest.fixture(scope="session")
def settings(table_format: str) -> Iterator[dict[str, str]]:
    folder = Path(tempfile.mkdtemp(prefix="dbt_cdc_tests_"))
    made = settings_for_tests(table_format, folder / "warehouse")
    made["spark.driver.extraJavaOptions"] += NO_NETWORK
    yield made
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def spark(settings: dict[str, str]) -> Iterator[SparkSession]:
    session = start_session(settings)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def target(table_format: str, settings: dict[str, str]) -> dict[str, Any]:
    # dbt-spark sets all that are here anew before each statement: what the session has begun with is left out
    begun = {name for name in settings if name.startswith("spark.")} - {"spark.sql.session.timeZone"}
    own = {name: value for name, value in settings.items() if name not in begun}
    return target_of(table_format, own)


@pytest.fixture
def make_project(spark: SparkSession, target: dict[str, Any], tmp_path: Path) -> Callable[[], Project]:
    """Makes projects, each with a schema of its own."""
    return lambda: new_project(spark, target, tmp_path)


@pytest.fixture
def project(make_project: Callable[[], Project]) -> Project:
    return make_project()


@pytest.fixture
def changes(project: Project) -> Changes:
    return Changes(project)

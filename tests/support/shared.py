"""Projects of schemas of their own: what lies in a schema stays until the warehouse goes, at the end of the run."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.support.project import Project
from tests.support.spark import ROOT, start_session, target_of

_numbers = itertools.count(1)


def new_project(spark: SparkSession, target: Mapping[str, Any], folder: Path) -> Project:
    """A project below a folder, with a schema of its own."""
    number = next(_numbers)
    schema = f"test_{number}"
    spark.sql(f"create schema if not exists {schema}")
    return Project(folder / f"project_{number}", spark, schema, target)


def own_project(folder: Path, table_format: str, settings: dict[str, str], schema: str) -> Project:
    """A project on a Spark that this process starts with these settings."""
    spark = start_session(settings)
    spark.sql(f"create schema if not exists {schema}")
    return Project(folder / "project", spark, schema, target_of(table_format, settings))


#: Of the integration project, what a test's own has already, and what runs have left.
NOT_COPIED = shutil.ignore_patterns("packages.yml", "profiles.yml", "dbt_packages", "target", "logs", "warehouse")


def shop_project(folder: Path, spark: SparkSession | None, schema: str, target: Mapping[str, Any]) -> Project:
    """The integration project, with the profile `consumer`."""
    project = Project(folder / "shop", spark, schema, target)
    shutil.copytree(ROOT / "integration_tests", project.folder, ignore=NOT_COPIED, dirs_exist_ok=True)
    return project


@contextmanager
def shared_project(spark: SparkSession, target: Mapping[str, Any]) -> Iterator[Project]:
    """A project that several tests read: its runs are made once, in a fixture of a module or class."""
    with tempfile.TemporaryDirectory() as folder:
        yield new_project(spark, target, Path(folder))

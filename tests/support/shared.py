"""Projects that go, with their tables, when the tests that read them end."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.support.project import Project

_numbers = itertools.count(1)


@contextmanager
def temporary_project(spark: SparkSession, target: Mapping[str, Any], folder: Path) -> Iterator[Project]:
    """A project below a folder, with a schema of its own that goes afterwards."""
    number = next(_numbers)
    schema = f"test_{number}"
    spark.sql(f"create schema if not exists {schema}")
    project = Project(folder / f"project_{number}", spark, schema, target)
    try:
        yield project
    finally:
        project.drop_schema()


@contextmanager
def shared_project(spark: SparkSession, target: Mapping[str, Any]) -> Iterator[Project]:
    """A project that several tests read: its runs are made once, in a fixture of a module or class."""
    with tempfile.TemporaryDirectory() as folder, temporary_project(spark, target, Path(folder)) as project:
        yield project

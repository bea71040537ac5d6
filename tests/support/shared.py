"""Projects of schemas of their own: what lies in a schema stays until the warehouse goes, at the end of the run."""

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


def new_project(spark: SparkSession, target: Mapping[str, Any], folder: Path) -> Project:
    """A project below a folder, with a schema of its own."""
    number = next(_numbers)
    schema = f"test_{number}"
    spark.sql(f"create schema if not exists {schema}")
    return Project(folder / f"project_{number}", spark, schema, target)


@contextmanager
def shared_project(spark: SparkSession, target: Mapping[str, Any]) -> Iterator[Project]:
    """A project that several tests read: its runs are made once, in a fixture of a module or class."""
    with tempfile.TemporaryDirectory() as folder:
        yield new_project(spark, target, Path(folder))

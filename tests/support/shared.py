"""A project that several tests read: its runs are made once, in a fixture of a module or class."""

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
def shared_project(spark: SparkSession, target: Mapping[str, Any]) -> Iterator[Project]:
    """A project in a folder and schema of its own, both of which go afterwards."""
    schema = f"shared_{next(_numbers)}"
    spark.sql(f"create schema if not exists {schema}")
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder) / schema, spark, schema, target)
        try:
            yield project
        finally:
            project.drop_schema()

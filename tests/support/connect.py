"""Other processes on the Spark of the test run, through Spark Connect: one JVM, one catalog, sessions of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.support.ports import free_port
from tests.support.processes import environment

#: A profile's output that reaches a server by SPARK_REMOTE; a project adds its schema.
OUTPUT = {"type": "spark", "method": "session", "host": "localhost", "threads": 1}


@contextmanager
def serving(session: SparkSession) -> Iterator[str]:
    """Spark Connect in the session's JVM; the value for SPARK_REMOTE."""
    jvm: Any = session._jvm
    port = free_port()
    jvm.org.apache.spark.SparkEnv.get().conf().set("spark.connect.grpc.binding.port", str(port))
    service = jvm.org.apache.spark.sql.connect.service.SparkConnectService
    service.start(session._jsc.sc())
    try:
        yield f"sc://localhost:{port}"
    finally:
        service.stop(jvm.scala.Option.empty(), jvm.scala.Option.empty())


def start(remote: str, folder: Path, *command: str) -> subprocess.Popen[str]:
    """A dbt command in a process of its own, with artifacts of its own; `outcome` waits for it."""
    own = folder / f"process_{len(list(folder.glob('process_*')))}"
    own.mkdir()
    places = ["--project-dir", str(folder), "--profiles-dir", str(folder), "--target", "connect"]
    places += ["--target-path", str(own / "target"), "--log-path", str(own / "logs")]
    return subprocess.Popen(
        [sys.executable, "-c", "from dbt.cli.main import cli; cli()", *command, *places],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder, env=environment(SPARK_REMOTE=remote),
    )  # fmt: skip


def outcome(process: subprocess.Popen[str]) -> tuple[bool, str]:
    """Whether the command succeeded, and what it said."""
    said, _ = process.communicate(timeout=240)
    return process.returncode == 0, said

"""Runs a dbt project in a process of its own: SPARK_REMOTE decides for a whole process how pyspark connects.

`run` starts this very module, which runs dbt commands one after the other and then queries, in one Spark session.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support import connect, processes

#: What only a JVM's start can set does not belong here.
CONNECT = {**connect.OUTPUT, "threads": 2, "server_side_parameters": {"spark.sql.session.timeZone": "UTC"}}


def thrift(port: int) -> dict[str, Any]:
    """A profile's output that reaches a server's thrift port."""
    return {
        "type": "spark",
        "method": "thrift",
        "host": "localhost",
        "port": port,
        "user": "dbt",
        "auth": "NOSASL",
        "threads": 2,
    }


def run(
    folder: Path,
    commands: Sequence[Sequence[str]],
    queries: Sequence[str] = (),
    *,
    remote: str | None = None,
    environment: Mapping[str, str] | None = None,
    time_limit: float = 540,
) -> dict[str, Any]:
    """Run dbt commands on the project in `folder`, then queries.

    Gives `dbt`, [success, messages by node] for each command, and `rows`, for each query its rows as lists of strings
    (no query runs if the last command failed).
    """
    env = processes.environment(TZ="UTC", **(environment or {}), **({"SPARK_REMOTE": remote} if remote else {}))
    task = json.dumps({"folder": str(folder), "commands": commands, "queries": queries})
    done = subprocess.run(
        [sys.executable, "-m", "tests.servers.remote"],
        input=task, capture_output=True, text=True, timeout=time_limit, check=False, cwd=folder, env=env,
    )  # fmt: skip
    if done.returncode:
        raise AssertionError(f"dbt's process failed:\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _work(task: dict[str, Any]) -> dict[str, Any]:
    from dbt.cli.main import dbtRunner
    from pyspark.sql import SparkSession

    told, folder = [], task["folder"]
    for command in task["commands"]:
        options = ["--project-dir", folder, "--profiles-dir", folder, "--log-path", f"{folder}/logs", "--quiet"]
        result = dbtRunner().invoke([*command, *options])
        # what comes of an operation has no node
        nodes = [each for each in getattr(result.result, "results", []) if hasattr(each, "node")]
        messages = {node.node.name: node.message for node in nodes} or {"": str(result.exception or "")}
        told.append([result.success, messages])
    if not told[-1][0]:
        return {"dbt": told, "rows": []}
    session = SparkSession.builder.getOrCreate()
    rows = [[[str(value) for value in row] for row in session.sql(query).collect()] for query in task["queries"]]
    return {"dbt": told, "rows": rows}


if __name__ == "__main__":
    print("\n" + json.dumps(_work(json.load(sys.stdin))))

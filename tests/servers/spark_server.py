"""A Spark server from pip-installed pyspark: one JVM that serves thrift and Spark Connect, on one catalog.

    python -m tests.servers.spark_server --table-format delta

prints both addresses and runs until it is interrupted. Settings and jars are those of profiles.example.yml.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pyspark

from integration_tests.quick_spark import QUICK_CALLS, SMALL_PLANS
from tests.support.ports import free_port
from tests.support.spark import profile_target

_SPARK = Path(pyspark.__file__).parent
#: By default a session keeps Iceberg's tables as it saw them last: SQL over thrift and Python over Spark Connect are two.
_SHARED = {"iceberg": {"spark.sql.catalog.spark_catalog.cache-enabled": "false"}}
#: Of what the formats' packages bring, the jars that Spark does not have itself: a second Hadoop or log4j breaks it.
_NEEDED = re.compile(r"^(io\.delta|org\.apache\.iceberg|io\.unitycatalog|org\.locationtech\.jts|com\.h2database)_")


@dataclass(frozen=True)
class Server:
    """Where the server listens."""

    thrift_port: int
    connect_port: int

    @property
    def connect_url(self) -> str:
        """The value for SPARK_REMOTE."""
        return f"sc://localhost:{self.connect_port}"


@contextmanager
def running(table_format: str, folder: Path) -> Iterator[Server]:
    """A server with warehouse, metastore and log in `folder`; raises if it does not answer within two minutes."""
    server = Server(free_port(), free_port())
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            _command(table_format, folder, server),
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, "SPARK_HOME": str(_SPARK), "TZ": "UTC"},
            start_new_session=True,
        )
    try:
        _wait(process, server, log)
        _create_default_schema(server)
        yield server
    finally:
        _stop(process)


def _command(table_format: str, folder: Path, server: Server) -> list[str]:
    with patch.dict(os.environ, DBT_CDC_WAREHOUSE=str(folder / "warehouse")):
        settings = dict(profile_target(table_format)["server_side_parameters"])
    jars = _jars(settings.pop("spark.jars.packages"))
    settings |= SMALL_PLANS
    settings |= _SHARED.get(table_format, {}) | {
        "spark.driver.extraClassPath": os.pathsep.join(jars),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore_db;create=true",
        # it lives for minutes: starting quickly gains more than compiling well
        "spark.driver.extraJavaOptions": (
            f"-XX:TieredStopAtLevel=1 {QUICK_CALLS} -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"
        ),
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(server.connect_port),
        "spark.driver.host": "localhost",
    }
    confs = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    thrift = {
        "hive.server2.thrift.port": server.thrift_port,
        "hive.server2.thrift.bind.host": "localhost",
        "hive.server2.authentication": "NOSASL",
    }
    hive = [part for name, value in thrift.items() for part in ("--hiveconf", f"{name}={value}")]
    main = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
    return [str(_SPARK / "bin/spark-submit"), *confs, "--class", main, "spark-internal", *hive]


def _jars(packages: str) -> list[str]:
    """The packages' jars, through Spark's own Ivy client, which fetches them once."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "nothing.py"
        script.write_text("")
        command = [str(_SPARK / "bin/spark-submit"), "--verbose", "--packages", packages, str(script)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    listed = re.search(r"^\(spark\.jars,(.*)\)$", done.stdout + done.stderr, re.MULTILINE)
    if listed is None:
        raise RuntimeError(f"spark-submit did not resolve {packages}:\n{done.stderr[-3000:]}")
    paths = [jar.removeprefix("file://").removeprefix("file:") for jar in listed[1].split(",")]
    return [path for path in paths if _NEEDED.match(Path(path).name)]


def _wait(process: subprocess.Popen[bytes], server: Server, log: Path) -> None:
    deadline = time.monotonic() + 120
    for port in (server.connect_port, server.thrift_port):
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the Spark server did not open port {port}:\n{log.read_text()[-5000:]}")
            time.sleep(0.2)


def _create_default_schema(server: Server) -> None:
    """Thrift clients begin with `use default`, which an Iceberg catalog lacks. A process of its own: see remote.py."""
    statement = "SparkSession.builder.getOrCreate().sql('create schema if not exists default')"
    script = f"from pyspark.sql import SparkSession; {statement}"
    env = {**os.environ, "SPARK_REMOTE": server.connect_url}
    subprocess.run([sys.executable, "-c", script], env=env, check=True, timeout=120)


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("localhost", port), timeout=1).close()
    except OSError:
        return False
    return True


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the launcher and the JVM: they have a process group of their own."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=20)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="Serve thrift and Spark Connect from one local Spark.")
    parser.add_argument("--table-format", default="delta", choices=["delta", "iceberg"])
    parser.add_argument("--folder", type=Path, default=Path("warehouse/server"), help="warehouse, metastore and log")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with running(arguments.table_format, folder) as server:
        print(f"thrift: localhost:{server.thrift_port} (auth: NOSASL)\nSPARK_REMOTE={server.connect_url}", flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            print("stopped")


if __name__ == "__main__":
    main()

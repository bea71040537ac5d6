"""One server for the run of these tests, which need a process without an embedded session of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.spark_server import Server, running


@pytest.fixture(scope="session")
def server(table_format: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("server")
    with running(table_format, folder) as server:
        yield server

"""Other processes of a test: what they are given, and how they wait for each other by files."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.support.spark import ROOT

#: What is said of the machine, not of a session.
PLACES = ("SPARK_LOCAL_IP", "SPARK_LOCAL_DIRS")


def environment(**more: str) -> dict[str, str]:
    """That of this process, with this project's sources, and without what pyspark was told by it."""
    own = {name: value for name, value in os.environ.items() if name in PLACES or not name.startswith("SPARK_")}
    return {**own, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), **more}


def await_file(file: Path, process: subprocess.Popen[Any] | None = None) -> None:
    until = time.monotonic() + 400
    while not file.exists():
        assert time.monotonic() < until, f"{file.name} is still not there"
        assert process is None or process.poll() is None, (
            f"the other process ended with {process and process.returncode}"
        )
        time.sleep(0.02)


def put(file: Path, text: str) -> None:
    """Write a file that is there with all its text or not at all."""
    file.with_suffix(".part").write_text(text)
    file.with_suffix(".part").rename(file)

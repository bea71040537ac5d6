"""What a command costs, with everything that it starts: wall and CPU seconds, and the peak memory of the whole tree;
and what it has written."""

from __future__ import annotations

import csv
import ctypes
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.spark import profile_target

ROOT = Path(__file__).resolve().parents[1]
HEADER = f"{'':28} {'wall s':>8} {'CPU s':>8} {'GiB':>8}"


@dataclass(frozen=True)
class Cost:
    wall: float
    cpu: float
    peak: float  # bytes; a page that several processes share counts once

    def line(self, name: str) -> str:
        return f"{name:28} {self.wall:8.1f} {self.cpu:8.1f} {self.peak / 2**30:8.2f}"


def measured(command: list[str], folder: Path, **environment: str) -> Cost:
    """Run a command in a folder, with this project's sources; its output is shown if it fails."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans come to this process
    given = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYSPARK_PYTHON": sys.executable, **environment}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    peaks, done = [0], threading.Event()
    watcher = threading.Thread(target=_watch, args=(peaks, done))
    watcher.start()
    log = folder / "log.txt"
    with log.open("w") as output:
        ended = subprocess.run(command, env=given, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
    wall = time.monotonic() - started
    while True:  # orphans are counted when they end
        try:
            os.wait()
        except ChildProcessError:
            break
    done.set()
    watcher.join()
    if ended.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{log.read_text()[-3000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, max(peaks))


def cpu_seconds() -> float:
    """CPU time of this process and of the living ones that it started, a Spark JVM among them."""
    ticks = 0
    for pid in (os.getpid(), *_descendants(os.getpid())):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def counted(first: Path, later: Path, keys: int) -> dict[str, int]:
    """I, U, D, N from one folder of CSV to the other, counted without Spark; so many first columns are a row's key."""

    def rows(folder: Path) -> dict[str, int]:
        found = {}
        for part in folder.glob("part-*"):
            with part.open(newline="") as file:
                found.update({"|".join(row[:keys]): hash(tuple(row[keys:])) for row in csv.reader(file)})
        return found

    before, after = rows(first), rows(later)
    kept = before.keys() & after.keys()
    same = sum(before[key] == after[key] for key in kept)
    return {"I": len(after) - len(kept), "U": len(kept) - same, "D": len(before) - len(kept), "N": same}


def spark_with(memory: str) -> dict[str, str]:
    """Environment of a plain Spark program on two cores, with so much heap and a JVM like that of our profile."""
    java = profile_target("delta")["server_side_parameters"]["spark.driver.defaultJavaOptions"]
    arguments = f"--master local[2] --driver-memory {memory} --driver-java-options '{java}' pyspark-shell"
    return {"PYSPARK_SUBMIT_ARGS": arguments}


def machine() -> str:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return f"{os.cpu_count()} cores, {pages / 2**30:.0f} GB"


def _watch(peaks: list[int], done: threading.Event) -> None:
    while not done.wait(0.25):
        peaks.append(_memory_of_tree(os.getpid()))


def _memory_of_tree(root: int) -> int:
    """A JVM counts once while it starts a program: until that begins, the new process is in the JVM's own memory."""
    found: dict[object, int] = {}
    for pid in _descendants(root):
        command = _command(pid)
        process = command if b"java" in command.partition(b"\0")[0] else pid
        found[process] = max(found.get(process, 0), _memory(pid))
    return sum(found.values())


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _descendants(pid: int) -> Iterator[int]:
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:  # it has ended
        return
    for thread in threads:
        try:
            children = (thread / "children").read_text().split()
        except OSError:
            continue
        for child in children:
            yield int(child)
            yield from _descendants(int(child))


def _memory(pid: int) -> int:
    """The process's own pages, and its share of those that others have, too (PSS)."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)

"""Rows per CPU-second of the synthetic data generator beside the original one, and a count of what came out.

python benchmarks/synthetic.py [--peer PATH] [--rows 1000000]

PATH is synthetic-cdc-data-generator.py of github.com/avensolutions/synthetic-cdc-data-generator, or its folder. Both
write two loads as CSV with 5 keys, 10 non-keys and 20/40/40 % deleted, updated, unchanged; whole processes count.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PEER = "synthetic-cdc-data-generator.py"
KEYS = 5


@dataclass(frozen=True)
class Cost:
    wall: float
    cpu: float


def measured(command: list[str], log: Path) -> Cost:
    """Wall and CPU seconds of a command and everything it started, JVM and Python workers included."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYSPARK_PYTHON": sys.executable}
    environment.setdefault("PYSPARK_SUBMIT_ARGS", "--master local[2] --driver-memory 4g pyspark-shell")
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with log.open("w") as output:
        status = subprocess.run(command, env=environment, stdout=output, stderr=subprocess.STDOUT).returncode
    wall = time.monotonic() - started
    while True:  # orphans come to this process and are counted when they end
        try:
            os.wait()
        except ChildProcessError:
            break
    if status:
        sys.exit(f"{' '.join(command)} failed:\n{log.read_text()[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def rows(folder: Path) -> Iterator[tuple[str, int]]:
    for part in folder.glob("part-*"):
        with part.open(newline="") as file:
            for row in csv.reader(file):
                yield "".join(row[:KEYS]), hash(tuple(row[KEYS:]))


def counted(first: Path, later: Path) -> dict[str, int]:
    """What changed from one folder to the other, counted without Spark."""
    before, after = dict(rows(first)), dict(rows(later))
    kept = before.keys() & after.keys()
    unchanged = sum(before[key] == after[key] for key in kept)
    return {
        "new": len(after) - len(kept),
        "deleted": len(before) - len(kept),
        "updated": len(kept) - unchanged,
        "unchanged": unchanged,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", type=Path, help="the original generator; without it only ours is measured")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of each load; default: 1000000")
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    programs = {"dbt_cdc": [sys.executable, "-m", "dbt_cdc.synthetic"]}
    if options.peer:
        script = options.peer / PEER if options.peer.is_dir() else options.peer
        programs["original"] = [sys.executable, str(script.resolve())]
    folder = Path(tempfile.mkdtemp(prefix="dbt_cdc_synthetic_"))
    costs = {}
    print(f"{options.rows} rows a load, {KEYS} keys, 10 non-keys, {os.cpu_count()} cores")
    print(f"{'program':10} {'wall s':>8} {'CPU s':>8} {'rows/CPU-s':>11}  changes")
    for name, program in programs.items():
        first, later = folder / name / "day1", folder / name / "day2"
        first.parent.mkdir()
        arguments = [str(options.rows)] * 2 + [str(KEYS), "10", "0.2", "0.4", "0.4", str(first), str(later)]
        costs[name] = cost = measured([*program, *arguments], folder / f"{name}.log")
        changes = ", ".join(f"{count} {what}" for what, count in counted(first, later).items())
        print(f"{name:10} {cost.wall:8.1f} {cost.cpu:8.1f} {2 * options.rows / cost.cpu:11.0f}  {changes}")
        shutil.rmtree(folder / name)
    if "original" in costs:
        ours, theirs = costs["dbt_cdc"], costs["original"]
        print(f"original / dbt_cdc: {theirs.cpu / ours.cpu:.1f} x CPU, {theirs.wall / ours.wall:.1f} x wall")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()

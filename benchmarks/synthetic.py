"""Rows per CPU-second of the synthetic data generator beside the original one, and a count of what came out.

python -m benchmarks.synthetic [--peer PATH] [--rows 1000000]

PATH is synthetic-cdc-data-generator.py of github.com/avensolutions/synthetic-cdc-data-generator, or its folder. Both
write two loads as CSV with 5 keys, 10 non-keys and 20/40/40 % deleted, updated, unchanged; whole processes count.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import HEADER, counted, machine, measured, spark_with

PEER = "synthetic-cdc-data-generator.py"
KEYS = 5


def expected(rows: int) -> dict[str, int]:
    """Ours are exact."""
    fifth = rows // 5
    return {"I": fifth, "U": 2 * fifth, "D": fifth, "N": 2 * fifth}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", type=Path, help="the original generator; without it only ours is measured")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of each load; default: 1000000")
    options = parser.parse_args()
    programs = {"dbt_cdc": [sys.executable, "-m", "dbt_cdc.synthetic"]}
    if options.peer:
        script = options.peer / PEER if options.peer.is_dir() else options.peer
        programs["original"] = [sys.executable, str(script.resolve())]
    folder = Path(tempfile.mkdtemp(prefix="dbt_cdc_synthetic_"))
    costs = {}
    print(f"{options.rows} rows a load, {KEYS} keys, 10 non-keys, {machine()}")
    print(f"{HEADER} {'rows/CPU-s':>11}  changes")
    for name, program in programs.items():
        first, later = folder / name / "day1", folder / name / "day2"
        first.parent.mkdir()
        arguments = [str(options.rows)] * 2 + [str(KEYS), "10", "0.2", "0.4", "0.4", str(first), str(later)]
        costs[name] = cost = measured([*program, *arguments], folder, **spark_with("4g"))
        found = counted(first, later, KEYS)
        if name == "dbt_cdc" and found != expected(options.rows):
            raise SystemExit(f"the loads have {found}, expected {expected(options.rows)}")
        changes = ", ".join(f"{count} {what}" for what, count in found.items())
        print(f"{cost.line(name)} {2 * options.rows / cost.cpu:11.0f}  {changes}")
        shutil.rmtree(folder / name)
    if "original" in costs:
        ours, theirs = costs["dbt_cdc"], costs["original"]
        print(f"original / dbt_cdc: {theirs.cpu / ours.cpu:.1f} x CPU, {theirs.wall / ours.wall:.1f} x wall")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()

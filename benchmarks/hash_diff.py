"""hash_diff beside the program of the article, and beside the floor: what the same bytes cost without comparing.

python benchmarks/hash_diff.py [--peer PATH] [--rows 1000000] [--skip-delta]

PATH is a copy of github.com/avensolutions/cdc-at-scale-using-spark; a copy of it is run with a safe YAML loader, which
today's PyYAML asks for. Whole processes are measured: wall and CPU seconds and the peak memory of the process tree.
`start` is dbt and Spark with a model of one row: what a load costs alone is the difference to it. The second part
loads a delta of rows/100 on tables of `rows` and 10 x `rows`, and a full extract on the larger one.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
KEYS = [f"keycol{i}" for i in range(1, 6)]
NONKEYS = [f"nonkeycol{i}" for i in range(1, 11)]
DAYS = {"day1": "2019-06-18", "day2": "2019-06-19"}
SCHEMA = ", ".join([*(f"{name} string" for name in KEYS), *(f"{name} double" for name in NONKEYS)])
PAGE = os.sysconf("SC_PAGE_SIZE")

MODEL = f"""
def model(dbt, spark):
    dbt.config(materialized="hash_diff", unique_key={KEYS!r})
    path, form = dbt.config.get("path"), dbt.config.get("form")
    return spark.read.format(form).schema({SCHEMA!r}).load(path)
"""
YAML = """
models:
  - name: bench
    config:
      path: "{{ var('path', '') }}"
      form: "{{ var('form', 'csv') }}"
      meta: {dbt_cdc: {effective_date: "{{ var('day', '2019-06-18') }}", extract_type: "{{ var('extract', 'full') }}"}}
"""
FLOOR = f"""
import sys
from pyspark.sql import SparkSession
path, share, target = sys.argv[1], int(sys.argv[2]), sys.argv[3]
spark = SparkSession.builder.getOrCreate()
frame = spark.read.schema({SCHEMA!r}).csv(path).where("pmod(hash(keycol1), 10) < " + str(share))
hashed = frame.selectExpr("md5(concat_ws('|', {", ".join(KEYS)})) as keyhash",
    "md5(concat_ws('|', {", ".join(NONKEYS)})) as nonkeyhash", "*", "'I' as operation", "date'2019-06-18' as d")
hashed.write.mode("overwrite").parquet(target + "/current")
spark.read.parquet(target + "/current").write.mode("overwrite").parquet(target + "/history")
"""
GENERATE = """
import sys
from pyspark.sql import SparkSession
rows, folder = int(sys.argv[1]), sys.argv[2]
spark = SparkSession.builder.getOrCreate()
columns = ["cast(id as string) as keycol1"] + [f"md5(cast(id + {i} as string)) as keycol{i}" for i in range(2, 6)]
def write(name, ids, shift):
    values = [f"cast(xxhash64(id, {i}) % 1000000 as double) + {shift} as nonkeycol{i}" for i in range(1, 11)]
    ids.selectExpr(*columns, *values).write.parquet(folder + "/" + name)
write("big", spark.range(rows * 10), "0")
write("small", spark.range(rows), "0")
write("delta", spark.range(rows // 200, rows // 200 + rows // 100), "(id % 2)")
write("full", spark.range(rows * 2, rows * 12), "if(id % 10 < 5, 1, 0)")
"""


@dataclass(frozen=True)
class Cost:
    wall: float
    cpu: float
    peak: float

    def line(self, name: str) -> str:
        return f"{name:28} {self.wall:8.1f} {self.cpu:8.1f} {self.peak / 2**30:8.2f}"


def measured(command: list[str], folder: Path) -> Cost:
    """A command and everything it started, JVM and Python workers included."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYSPARK_PYTHON": sys.executable}
    environment.setdefault("PYSPARK_SUBMIT_ARGS", "--master local[2] --driver-memory 4g pyspark-shell")
    environment["DBT_CDC_WAREHOUSE"] = str(folder / "warehouse")
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    peaks, done = [0], threading.Event()
    watcher = threading.Thread(target=_watch, args=(peaks, done))
    watcher.start()
    log = folder / "log.txt"
    with log.open("w") as output:
        ended = subprocess.run(command, env=environment, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
    wall = time.monotonic() - started
    while True:  # orphans come to this process and are counted when they end
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


def _watch(peaks: list[int], done: threading.Event) -> None:
    while not done.wait(0.25):
        peaks.append(sum(_resident(pid) for pid in _descendants(os.getpid())))


def _descendants(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in children:
            yield int(child)
            yield from _descendants(int(child))


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def counted(first: Path, later: Path) -> dict[str, int]:
    """I, U, D, N from one folder of CSV to the other, counted without Spark."""

    def rows(folder: Path) -> dict[str, int]:
        found = {}
        for part in folder.glob("part-*"):
            with part.open(newline="") as file:
                found.update({"|".join(row[:5]): hash(tuple(row[5:])) for row in csv.reader(file)})
        return found

    before, after = rows(first), rows(later)
    kept = before.keys() & after.keys()
    same = sum(before[key] == after[key] for key in kept)
    return {"I": len(after) - len(kept), "U": len(kept) - same, "D": len(before) - len(kept), "X": 0, "N": same}


class Consumer:
    """A dbt project with one hash_diff model over a path given by vars."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "models").mkdir(parents=True)
        (folder / "dbt_packages").mkdir()
        (folder / "dbt_packages/dbt_cdc").symlink_to(ROOT)
        (folder / "packages.yml").write_text(f"packages: [{{local: {ROOT}}}]\n")
        (folder / "models/bench.py").write_text(MODEL)
        (folder / "models/bench.yml").write_text(YAML)
        (folder / "models/one.sql").write_text("{{ config(materialized='table') }} select 1 as id")
        shutil.copy(ROOT / "profiles.example.yml", folder / "profiles.yml")
        project = {"name": "bench", "version": "1.0.0", "config-version": 2, "profile": "dbt_cdc"}
        (folder / "dbt_project.yml").write_text(yaml.safe_dump({**project, "models": {"+file_format": "delta"}}))

    def run(self, model: str, **variables: str) -> Cost:
        os.environ.setdefault("DBT_CDC_DRIVER_MEMORY", "2g")
        dbt = [sys.executable, "-m", "dbt.cli.main", "run", "--no-use-colors", "--profiles-dir", ".", "-s", model]
        return measured([*dbt, "--target", "delta", "--vars", json.dumps(variables)], self.folder)

    def operations(self) -> dict[str, int]:
        result = json.loads((self.folder / "target/run_results.json").read_text())["results"][0]
        return dict(result["adapter_response"]["operations"])


def peer(path: Path, folder: Path) -> list[str]:
    """A copy of the original with a safe loader and its tables below `folder`; gives its command."""
    shutil.copytree(path, folder / "peer", ignore=shutil.ignore_patterns(".git"))
    script = folder / "peer/cdc.py"
    script.write_text(script.read_text().replace("yaml.load(", "yaml.safe_load("))
    config = folder / "peer/config.yaml"
    config.write_text(config.read_text().replace("file:///tmp/", f"file://{folder}/"))
    for name in ("current", "current_temp", "history"):
        (folder / f"sample_data_{name}").mkdir()
    return [sys.executable, str(script), str(config)]


def full_loads(options: argparse.Namespace, folder: Path) -> None:
    counts = [str(options.rows), str(options.rows), "5", "10", "0.2", "0.4", "0.4"]
    days = {day: folder / day for day in DAYS}
    measured([sys.executable, "-m", "dbt_cdc.synthetic", *counts, *map(str, days.values())], folder)
    consumer = Consumer(folder / "ours")
    costs = {"start": consumer.run("one")}
    for day, path in days.items():
        costs[f"dbt_cdc {day}"] = consumer.run("bench", path=str(path), day=DAYS[day])
    found = consumer.operations()
    for day, share in (("day1", "10"), ("day2", "8")):
        script = folder / "floor.py"
        script.write_text(FLOOR)
        costs[f"floor {day}"] = measured([sys.executable, str(script), str(days[day]), share, str(folder)], folder)
    if options.peer:
        command = peer(options.peer.resolve(), folder)
        for day, path in days.items():
            costs[f"peer {day}"] = measured([*command, str(path), DAYS[day]], folder / "peer")
    for name, cost in costs.items():
        print(cost.line(name))
    print(f"day 2: {found}, counted from the files: {counted(*days.values())}")
    ours, start = costs["dbt_cdc day2"], costs["start"]
    print(f"dbt_cdc / floor, CPU, day 2: {ours.cpu / costs['floor day2'].cpu:.2f}")
    if options.peer:
        theirs = costs["peer day2"]
        print(f"dbt_cdc / peer, day 2: CPU {ours.cpu / theirs.cpu:.2f}, memory {ours.peak / theirs.peak:.2f}")
        print(f"load alone / peer, day 2: CPU {(ours.cpu - start.cpu) / theirs.cpu:.2f}")


def deltas(options: argparse.Namespace, folder: Path) -> None:
    script = folder / "generate.py"
    script.write_text(GENERATE)
    measured([sys.executable, str(script), str(options.rows), str(folder)], folder)
    costs = {}
    for table in ("small", "big"):
        consumer = Consumer(folder / f"on_{table}")
        consumer.run("bench", path=str(folder / table), form="parquet", day="2020-01-01")
        variables = {"path": str(folder / "delta"), "form": "parquet", "day": "2020-01-02", "extract": "delta"}
        costs[table] = consumer.run("bench", **variables)
        print(costs[table].line(f"delta on {table}"), consumer.operations())
    full = consumer.run("bench", path=str(folder / "full"), form="parquet", day="2020-01-03")
    print(full.line("full on big"), consumer.operations())
    print(f"delta / full on big: wall {costs['big'].wall / full.wall:.2f}, CPU {costs['big'].cpu / full.cpu:.2f}")
    print(f"delta on big / on small: wall {costs['big'].wall / costs['small'].wall:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", type=Path, help="the original program's folder; without it only ours is measured")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of each extract; default: 1000000")
    parser.add_argument("--skip-delta", action="store_true", help="leave the second part out")
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    print(f"{options.rows} rows, 5 keys, 10 non-keys, 20/40/40 %, {os.cpu_count()} cores")
    print(f"{'':28} {'wall s':>8} {'CPU s':>8} {'GiB':>8}")
    for part in [full_loads] if options.skip_delta else [full_loads, deltas]:
        folder = Path(tempfile.mkdtemp(prefix="dbt_cdc_hash_diff_"))
        part(options, folder)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

"""hash_diff beside the program of the article, and beside the floor: what the same bytes cost without comparing.

python -m benchmarks.hash_diff [--peer PATH] [--rows 1000000] [--memory 2g] [--parts full delta start]

PATH is a copy of github.com/avensolutions/cdc-at-scale-using-spark; a copy of it is run with a safe YAML loader, which
today's PyYAML asks for: once with the heap and JVM options of our profile, once as it ships, with Spark's defaults.
Whole processes are measured: wall and CPU seconds and the peak memory of the process tree.
What a load costs alone is the difference to the start: dbt and Spark with a model of one row, or Spark alone. The
second part loads a delta of rows/100 on tables of `rows` and 10 x `rows`, and a full extract on the larger one. The
third tells what the start takes where the JVM's classes are kept in an archive (profiles.example.yml says how).
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

import yaml

from benchmarks.measure import HEADER, ROOT, Cost, counted, machine, measured, spark_with

KEYS = [f"keycol{i}" for i in range(1, 6)]
NONKEYS = [f"nonkeycol{i}" for i in range(1, 11)]
DAYS = {"day1": "2019-06-18", "day2": "2019-06-19"}
SCHEMA = ", ".join([*(f"{name} string" for name in KEYS), *(f"{name} double" for name in NONKEYS)])

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
#: What a load writes, without comparing. `share`: how many tenths of the rows are hashed and written, to both tables:
#: all on day 1, eight on day 2, whose history has 20 % I, 40 % U and 20 % D. The others are only read.
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


class Consumer:
    """A dbt project with one hash_diff model over a path given by vars."""

    def __init__(self, folder: Path, memory: str) -> None:
        self.folder, self.memory = folder, memory
        (folder / "models").mkdir(parents=True)
        (folder / "dbt_packages").mkdir()
        (folder / "dbt_packages/dbt_cdc").symlink_to(ROOT)
        (folder / "packages.yml").write_text(f"packages: [{{local: {ROOT}}}]\n")
        (folder / "models/bench.py").write_text(MODEL)
        (folder / "models/bench.yml").write_text(YAML)
        (folder / "models/one.sql").write_text("{{ config(materialized='table') }} select 1 as id")
        shutil.copy(ROOT / "profiles.example.yml", folder / "profiles.yml")
        project = {"name": "consumer", "version": "1.0.0", "config-version": 2, "profile": "dbt_cdc"}
        (folder / "dbt_project.yml").write_text(yaml.safe_dump({**project, "models": {"+file_format": "delta"}}))

    def set_java_option(self, option: str) -> None:
        profiles = yaml.safe_load((self.folder / "profiles.yml").read_text())
        settings = profiles["dbt_cdc"]["outputs"]["delta"]["server_side_parameters"]
        settings["spark.driver.extraJavaOptions"] = option
        (self.folder / "profiles.yml").write_text(yaml.safe_dump(profiles))

    def run(self, model: str, **variables: str) -> Cost:
        dbt = [sys.executable, "-m", "dbt.cli.main", "run", "--no-use-colors", "--profiles-dir", ".", "-s", model]
        command = [*dbt, "--target", "delta", "--vars", json.dumps(variables)]
        warehouse = str(self.folder / "warehouse")
        return measured(command, self.folder, DBT_CDC_WAREHOUSE=warehouse, DBT_CDC_DRIVER_MEMORY=self.memory)

    def operations(self) -> dict[str, int]:
        results = json.loads((self.folder / "target/run_results.json").read_text())["results"]
        responses = {result["unique_id"]: result["adapter_response"] for result in results}
        return dict(responses["model.consumer.bench"]["operations"])


def peer(path: Path, folder: Path) -> list[str]:
    """A copy of the original as `folder`, with a safe loader and its tables within; gives its command."""
    shutil.copytree(path, folder, ignore=shutil.ignore_patterns(".git"))
    script = folder / "cdc.py"
    script.write_text(script.read_text().replace("yaml.load(", "yaml.safe_load("))
    config = folder / "config.yaml"
    config.write_text(config.read_text().replace("file:///tmp/", f"file://{folder}/"))
    for name in ("current", "current_temp", "history"):
        (folder / f"sample_data_{name}").mkdir()
    return [sys.executable, str(script), str(config)]


def full_loads(options: argparse.Namespace, folder: Path) -> None:
    counts = [str(options.rows), str(options.rows), "5", "10", "0.2", "0.4", "0.4"]
    days = {day: folder / day for day in DAYS}
    spark = spark_with(options.memory)
    measured([sys.executable, "-m", "dbt_cdc.synthetic", *counts, *map(str, days.values())], folder, **spark)
    consumer = Consumer(folder / "ours", options.memory)
    costs: dict[str, Cost] = {}

    def keep(name: str, cost: Cost) -> None:
        costs[name] = cost
        print(cost.line(name), flush=True)

    keep("start of dbt and Spark", consumer.run("one"))
    for day, path in days.items():
        keep(f"dbt_cdc {day}", consumer.run("bench", path=str(path), day=DAYS[day]))
    found, expected = consumer.operations(), {**counted(*days.values(), len(KEYS)), "X": 0}
    if found != expected:
        raise SystemExit(f"day 2: {found}, counted from the files: {expected}")
    script = folder / "floor.py"
    script.write_text(FLOOR)
    empty = folder / "empty"
    empty.mkdir()
    for name, path, share in (
        ("start of Spark", empty, 10),
        ("floor day1", days["day1"], 10),
        ("floor day2", days["day2"], 8),
    ):
        keep(name, measured([sys.executable, str(script), str(path), str(share), str(folder)], folder, **spark))
    settings = {"peer": spark, "peer as it ships": {}} if options.peer else {}
    for name, environment in settings.items():
        place = folder / name.replace(" ", "_")
        command = peer(options.peer.resolve(), place)
        for day, path in days.items():
            keep(f"{name} {day}", measured([*command, str(path), DAYS[day]], place, **environment))
    print(f"day 2: {found}, as counted from the files")
    for other in ("floor", *settings):
        ratios(costs, other)


def ratios(costs: dict[str, Cost], other: str) -> None:
    """Whole processes, and what is left of them without the start of dbt or Spark."""
    for day in DAYS:
        ours, theirs = costs[f"dbt_cdc {day}"], costs[f"{other} {day}"]
        alone = ours.cpu - costs["start of dbt and Spark"].cpu
        theirs_alone = theirs.cpu - costs["start of Spark"].cpu
        print(
            f"dbt_cdc / {other}, {day}: CPU {ours.cpu / theirs.cpu:.2f}, memory {ours.peak / theirs.peak:.2f}, "
            f"wall {ours.wall / theirs.wall:.2f}; CPU of the load alone {alone / theirs_alone:.2f}"
        )


def deltas(options: argparse.Namespace, folder: Path) -> None:
    script = folder / "generate.py"
    script.write_text(GENERATE)
    measured([sys.executable, str(script), str(options.rows), str(folder)], folder, **spark_with("4g"))
    costs = {}
    for table in ("small", "big"):
        consumer = Consumer(folder / f"on_{table}", options.memory)
        consumer.run("bench", path=str(folder / table), form="parquet", day="2020-01-01")
        variables = {"path": str(folder / "delta"), "form": "parquet", "day": "2020-01-02", "extract": "delta"}
        costs[table] = consumer.run("bench", **variables)
        print(costs[table].line(f"delta on {table}"), consumer.operations(), flush=True)
    full = consumer.run("bench", path=str(folder / "full"), form="parquet", day="2020-01-03")
    print(full.line("full on big"), consumer.operations(), flush=True)
    start = consumer.run("one")
    print(start.line("start of dbt and Spark"), flush=True)
    for name, one, other in (
        ("delta / full, on big", costs["big"], full),
        ("delta on big / on small", costs["big"], costs["small"]),
    ):
        alone = (one.cpu - start.cpu) / (other.cpu - start.cpu)
        ratio = f"CPU {one.cpu / other.cpu:.2f}, wall {one.wall / other.wall:.2f}"
        print(f"{name}: {ratio}; CPU of the load alone {alone:.2f}")


def starts(options: argparse.Namespace, folder: Path) -> None:
    consumer, archive = Consumer(folder / "started", options.memory), folder / "classes.jsa"
    consumer.run("one")
    print(consumer.run("one").line("start of dbt and Spark"), flush=True)
    consumer.set_java_option(f"-XX:ArchiveClassesAtExit={archive}")
    print(consumer.run("one").line("the archive is made"), f"{archive.stat().st_size / 2**20:.0f} MiB", flush=True)
    consumer.set_java_option(f"-XX:SharedArchiveFile={archive}")
    print(consumer.run("one").line("start with the archive"), flush=True)


PARTS = {"full": full_loads, "delta": deltas, "start": starts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", type=Path, help="the original program's folder; without it only ours is measured")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of each extract; default: 1000000")
    parser.add_argument("--memory", default="2g", help="heap of each Spark, the original's too; default: 2g")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS, help="default: all")
    options = parser.parse_args()
    print(
        f"{options.rows} rows, 5 keys, 10 non-keys, 20/40/40 %, {machine()}, {options.memory} of heap for each program"
    )
    print(HEADER)
    for part in options.parts:
        folder = Path(tempfile.mkdtemp(prefix="dbt_cdc_hash_diff_"))
        PARTS[part](options, folder)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

"""A process of its own that loads a hash_diff model and is killed, Spark and all, at a stage of the load.

`python -m tests.support.killed_load FORMAT FOLDER STAGES STAGE` first runs the load of the stage before again, as the next
run does, and checks its tables. Then it begins the load of this stage. The stage after the last of STAGES, a number, only checks.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dbt_cdc._hash_diff_history import History
from dbt_cdc._hash_diff_load import Load
from dbt_cdc._hash_diff_tables import Tables
from tests.support.hash_diff import Expected, Extract, Model
from tests.support.spark import settings_for_tests, start_session

ONE = ("2020-01-01", {1: ("a", "p"), 2: ("b", "q"), 3: ("c", "r")}, "full")
TWO = ("2020-01-02", {1: ("a", "P"), 3: ("c", "r"), 4: ("d", "s")}, "full")
THREE = ("2020-01-03", {1: ("A", "P"), 4: ("d", "s")}, "delta")
LOADS = [ONE, TWO, THREE]

#: Load, where it is killed, and whether it had been committed by then.
Stage = tuple[Extract, Callable[[Path], None], bool]


def kill() -> None:
    """End this process and its JVM as a machine that fails would: at once, nothing closed."""
    os.killpg(0, signal.SIGKILL)
    time.sleep(60)


def while_writing(place: type, name: str, table: str) -> Callable[[Path], None]:
    """As soon as the named step has begun a data file of the table."""
    step = getattr(place, name)

    def arm(folder: Path) -> None:
        def files() -> set[Path]:
            return set(folder.glob(f"*/*{table}/**/*.parquet"))

        def watch(known: set[Path]) -> None:
            while not files() - known:
                time.sleep(0.001)
            kill()

        def killed(*arguments: Any, **options: Any) -> Any:
            threading.Thread(target=watch, args=(files(),), daemon=True).start()
            return step(*arguments, **options)

        setattr(place, name, killed)

    return arm


#: Stages of a load go on with the table that the one before has mended; a first load begins another. What a run leaves
#: behind that ends between two writes needs no process: `test_a_run_that_ends_between_any_two_writes_is_made_good_by_the_next`
STAGES: list[Stage] = [
    (ONE, while_writing(Tables, "create", "__base"), False),
    (TWO, while_writing(Load, "_merge", "__base"), False),
    (THREE, while_writing(History, "sync", "__history"), True),
    (ONE, while_writing(Load, "_write_sensitive", "__sensitive_base"), False),
    (TWO, while_writing(Load, "_write_sensitive", "__sensitive_base"), False),
    (ONE, while_writing(History, "sync", "__history"), True),
]
#: those up to here have each kind of write once: a first load's, a merge's, the history's, a table beside the base
EACH_KIND = 4


def warm_up(spark: Any) -> None:
    frame = spark.range(2).selectExpr("id", "md5(to_json(named_struct('id', id))) as keyhash").localCheckpoint()
    frame.join(frame.withColumnRenamed("id", "other"), on="keyhash", how="full_outer").collect()


def main(table_format: str, folder: Path, last: int, number: int) -> None:
    spark = start_session(settings_for_tests(table_format, folder, "hive", short_lived=True))
    # what does not touch the tables is done while the process before still runs
    warm_up(spark)
    sys.stdin.readline()
    spark.sql("create schema if not exists kept")
    stages = STAGES[:last]

    def model_of(stage: int) -> Model:
        table = f"t{sum(load == ONE for load, *_ in stages[: stage + 1])}"
        return Model(spark, "kept", table_format, table=table, sensitive_columns=["s"])

    if number:
        past, _, committed = stages[number - 1]
        mended = model_of(number - 1)
        marker = Tables(spark, mended.settings(past[0], past[2])).marker()
        assert (marker is not None and marker.effective_date == past[0]) == committed, marker
        mended.load(*past)
        mended.check(Expected.of(LOADS[: LOADS.index(past) + 1]))
    if number < len(stages):
        load, arm, _ = stages[number]
        arm(folder)
        model_of(number).load(*load)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))

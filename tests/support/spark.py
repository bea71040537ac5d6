"""The one Spark session of a test run, made from a target of profiles.example.yml with a catalog in memory."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import yaml
from jinja2 import Environment
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from integration_tests.quick_spark import QUICK_CALLS, SMALL_PLANS

ROOT = Path(__file__).resolve().parents[2]

#: What a format does beside a small write, and no test asks for.
UNASKED = {
    # a checksum of the whole table's state, beside each commit
    "delta": {"spark.databricks.delta.writeChecksumFile.enabled": "false"},
    # Hudi looks for Hive's metastore when it writes: it has one in memory
    "hudi": {
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:memory:tests;create=true",
        "hoodie.datasource.meta.sync.enable": "false",
        "hoodie.datasource.hive_sync.enable": "false",
        "hoodie.embed.timeline.server": "false",
        "hoodie.metadata.index.column.stats.enable": "false",
    },
}


def profile_target(table_format: str) -> dict[str, Any]:
    """A target of profiles.example.yml, rendered as dbt renders it."""
    environment = Environment()
    environment.globals["env_var"] = lambda name, default=None: os.environ.get(name, default)
    text = environment.from_string((ROOT / "profiles.example.yml").read_text()).render()
    return dict(yaml.safe_load(text)["dbt_cdc"]["outputs"][table_format])


def target_of(table_format: str, settings: Mapping[str, str]) -> dict[str, Any]:
    """What a Project asks for: a format, and its output of profiles.example.yml with these settings."""
    return {"file_format": table_format, "output": {**profile_target(table_format), "server_side_parameters": settings}}


def target_settings(table_format: str, warehouse: Path, catalog: str = "in-memory") -> dict[str, str]:
    """The target's own settings, on a warehouse of the caller's, with a catalog in memory unless another is given."""
    os.environ["DBT_CDC_WAREHOUSE"] = str(warehouse)
    return {**profile_target(table_format)["server_side_parameters"], "spark.sql.catalogImplementation": catalog}


#: A JVM that plans thousands of small queries gains little from inlining, which a third of its CPU went to.
LONG_LIVED = "-XX:CompileThresholdScaling=1 -XX:FreqInlineSize=100 -XX:InlineSmallCode=1000"


def classes(table_format: str) -> Path:
    """Where set-up keeps the classes that a format's JVM loads, read in and verified: it starts in half the time."""
    return Path(sys.prefix) / f"{table_format}.jsa"


def settings_for_tests(
    table_format: str, warehouse: Path, catalog: str = "in-memory", *, short_lived: bool = False
) -> dict[str, str]:
    """The target's own settings with what makes small tests quick and leaves nothing behind.

    `catalog`: small tests wait long for Hive's metastore; those whose tables outlive a process say "hive".
    `short_lived`: a JVM that lives for a minute gains more from starting quickly than from compiling well.
    Plans as users have them (compiled, adapted, many tasks) are those of tests/property, of Hudi's tests, and of the
    benchmarks, which check their counts.
    """
    compiler = "-XX:TieredStopAtLevel=1" if short_lived else LONG_LIVED
    return {
        **target_settings(table_format, warehouse, catalog),
        **(SMALL_PLANS if table_format != "hudi" else {}),
        **UNASKED.get(table_format, {}),
        "spark.driver.memory": "4g",
        # plans are drawn, and a thousand of them sorted after each query, for a UI that nobody looks at
        "spark.sql.ui.explainMode": "simple",
        "spark.sql.ui.retainedExecutions": "1",
        "spark.driver.extraJavaOptions": (
            f"{compiler} {QUICK_CALLS} -XX:+UseSerialGC -Xmn1g -XX:ReservedCodeCacheSize=400m"
            f" -Dderby.stream.error.file=/dev/null -XX:SharedArchiveFile={classes(table_format)}"
        ),
    }


@contextmanager
def session_conf(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Settings of the session that hold within, and are what they were after."""
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)


@contextmanager
def noted_plans(spark: SparkSession) -> Iterator[list[str]]:
    """The physical plans of all queries that end within, also of those that a format's own statement is made of."""
    plans: list[str] = []
    bus, manager = spark.sparkContext._jsc.sc().listenerBus(), spark._jsparkSession.listenerManager()

    class Noted:
        def onSuccess(self, name: str, execution: Any, nanoseconds: int) -> None:
            plans.append(execution.executedPlan().toString())

        def onFailure(self, name: str, execution: Any, problem: Any) -> None:
            pass

        class Java:
            implements: ClassVar = ["org.apache.spark.sql.util.QueryExecutionListener"]

    ensure_callback_server_started(spark.sparkContext._gateway)
    bus.waitUntilEmpty()
    noted = Noted()
    manager.register(noted)
    try:
        yield plans
        bus.waitUntilEmpty()
    finally:
        manager.unregister(noted)


def start_session(settings: dict[str, str]) -> SparkSession:
    builder = SparkSession.builder.enableHiveSupport()
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


#: What most runs do, so that its classes are there.
USUAL = """
create table t (id int, v string) using {format} tblproperties (primaryKey = 'id')
insert into t values (1, 'a'), (2, 'b')
merge into t using (select 1 as id, 'c' as v) as s on t.id = s.id when matched then update set *
delete from t where id = 2
create view v as select id, v, row_number() over (partition by v order by id) as n, sum(id) over () as total from t
describe extended t
cache table kept as select v.id, to_json(struct(t.*)) as json from t full outer join v on t.id = v.id
select json, count(distinct id) from kept group by json
"""

if __name__ == "__main__":
    # fetch a format's jars, so that test processes that start together find them there, and keep its classes
    with tempfile.TemporaryDirectory() as folder:
        settings = settings_for_tests(sys.argv[1], Path(folder), "hive")
        archive = f"-XX:+UseSerialGC -XX:ArchiveClassesAtExit={classes(sys.argv[1])} -Xlog:disable"
        session = start_session({**settings, "spark.driver.extraJavaOptions": archive})
        for statement in USUAL.strip().format(format=sys.argv[1]).splitlines():
            found = session.sql(statement).collect()
        assert found == [('{"id":1,"v":"c"}', 1)] or sys.argv[1] == "hudi", found
        java = session.sparkContext._gateway.proc
        session.stop()
        java.stdin.close()
        java.wait(timeout=300)  # it writes the archive as it ends

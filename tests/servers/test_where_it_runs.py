"""One project, SQL and Python models and a snapshot, gives the same tables wherever it runs."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyspark
import pytest
import yaml

from tests.servers.remote import CONNECT, run, thrift
from tests.servers.shop import OF_PEOPLE, PEOPLE, builds_two_days
from tests.servers.spark_server import Server
from tests.support.spark import ROOT, settings_for_tests

FILES = {
    "seeds/orders.csv": """
        id,customer,amount
        1,Ada,10
        2,Bob,20
        3,,30
    """,
    "models/totals.sql": """
        {{ config(materialized='table') }}
        select count(*) as orders, sum(amount) as amount from {{ ref('orders') }}
    """,
    "models/frame.py": """
        from pyspark.sql import functions as F


        def model(dbt, spark):
            dbt.config(materialized="table")
            return dbt.ref("orders").withColumn("twice", F.col("amount") * 2)
    """,
    "models/pandas_frame.py": """
        import pandas


        def model(dbt, spark):
            dbt.config(materialized="table")
            return pandas.DataFrame({"id": [1, 2], "name": ["Ada", None]})
    """,
    "models/merged.py": """
        def model(dbt, spark):
            dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="id")
            orders = dbt.ref("frame")
            if dbt.is_incremental:
                seen = spark.table(str(dbt.this)).count()
                return orders.selectExpr("id", f"{seen} as seen").where("id > 1")
            return orders.selectExpr("id", "0 as seen")
    """,
    "models/downstream.sql": """
        {{ config(materialized='table') }}
        select m.id, m.seen, f.twice from {{ ref('merged') }} m join {{ ref('frame') }} f on f.id = m.id
    """,
    "models/changes.sql": """
        {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
        select id, seen, _op from {{ dbt_cdc.ref_changes('merged', by='version') }}
    """,
    "models/python_changes.py": """
        import dbt_cdc


        def model(dbt, spark):
            dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="id")
            dbt.ref("merged")
            return dbt_cdc.ref_changes(dbt, spark, "merged", by="version").select("id", "seen", "_op")
    """,
    "models/compared.py": """
        import dbt_cdc


        def model(dbt, spark):
            dbt.config(materialized="table")
            orders = dbt.ref("orders")
            kept = dbt_cdc.hash_diff(None, orders.where("id < 3"), keys="id", effective_date="2024-01-01")
            renamed = orders.selectExpr("id", "if(id = 1, 'Eve', customer) as customer", "amount").where("id != 2")
            return dbt_cdc.hash_diff(kept, renamed, keys="id", effective_date="2024-01-02")
    """,
    "snapshots/kept.yml": """
        snapshots:
          - name: kept
            relation: ref('frame')
            config: {unique_key: id, strategy: check, check_cols: [amount]}
    """,
}
QUERIES = (
    "select * from {schema}.totals",
    "select * from {schema}.frame order by id",
    "select * from {schema}.pandas_frame order by id",
    "select * from {schema}.downstream order by id",
    "select * from {schema}.changes order by id",
    "select * from {schema}.python_changes order by id",
    "select id, amount, dbt_valid_to from {schema}.kept order by id",
    "select id, customer, operation, eff_start_date from {schema}.compared order by id",
)
ROWS = [
    [["3", "60"]],
    [["1", "Ada", "10", "20"], ["2", "Bob", "20", "40"], ["3", "None", "30", "60"]],
    [["1", "Ada"], ["2", "None"]],
    [["1", "0", "20"], ["2", "3", "40"], ["3", "3", "60"]],
    [["1", "0", "i"], ["2", "3", "u"], ["3", "3", "u"]],
    [["1", "0", "i"], ["2", "3", "u"], ["3", "3", "u"]],
    [["1", "10", "None"], ["2", "20", "None"], ["3", "30", "None"]],
    [["1", "Eve", "U", "2024-01-02"], ["2", "Bob", "D", "2024-01-02"], ["3", "None", "I", "2024-01-02"]],
]
#: Over Spark Connect the server finds what is wrong with a frame when it is written.
WRONG = {
    "models/wrong/raises.py": """
        def ratio(x):
            return x / 0


        def model(dbt, spark):
            dbt.ref("orders")
            return spark.range(ratio(1))
    """,
    "models/wrong/column.py": """
        from pyspark.sql import functions as F


        def model(dbt, spark):
            orders = dbt.ref("orders")
            return orders.select("id", (F.col("amuont") * 2).alias("twice"))
    """,
    "models/wrong/condition.py": """
        def large(orders):
            return orders.where("amuont > 10")


        def model(dbt, spark):
            orders = dbt.ref("orders")
            found = large(orders)
            return found.join(orders.select("id"), "id")
    """,
    "models/wrong/in_a_udf.py": """
        from pyspark.sql import functions as F


        @F.udf("int")
        def boom(x):
            return 1 // 0


        def model(dbt, spark):
            return dbt.ref("orders").withColumn("x", boom("id"))
    """,
}
UNRESOLVED = "AnalysisException: [UNRESOLVED_COLUMN.WITH_SUGGESTION]"
#: Where each is said to be wrong, and how the message begins.
PLACES = {
    "raises": (
        "ZeroDivisionError: division by zero",
        ['File "models/wrong/raises.py", line 7, in model', "return spark.range(ratio(1))",
         'File "models/wrong/raises.py", line 2, in ratio', "return x / 0"],
    ),
    "column": (
        UNRESOLVED,
        ['File "models/wrong/column.py", line 6, in model', 'return orders.select("id", (F.col("amuont") * 2).alias("twice"))'],
    ),
    "condition": (
        UNRESOLVED,
        ['File "models/wrong/condition.py", line 2, in large', 'return orders.where("amuont > 10")'],
    ),
    "in_a_udf": (
        "PythonException: ",
        ['File "models/wrong/in_a_udf.py", line 6, in boom', "return 1 // 0"],
    ),
}  # fmt: skip


def make_project(
    folder: Path, output: dict[str, Any], file_format: str, files: dict[str, str] = FILES, **model_configs: Any
) -> Path:
    settings = {"+file_format": file_format}
    project = {
        "name": "consumer", "version": "1.0.0", "config-version": 2, "profile": "consumer",
        "flags": {"send_anonymous_usage_stats": False},
        "dispatch": [{"macro_namespace": "dbt", "search_order": ["consumer", "dbt_cdc", "dbt"]}],
        "models": {**settings, **model_configs}, "seeds": settings,
        "snapshots": {**settings, "+meta": {"dbt_cdc": {"operational_metadata": True}}},
    }  # fmt: skip
    profiles = {"consumer": {"target": "test", "outputs": {"test": output}}}
    written = {
        **{path: textwrap.dedent(text).lstrip() for path, text in files.items()},
        "dbt_project.yml": yaml.safe_dump(project),
        "profiles.yml": yaml.safe_dump(profiles),
        "packages.yml": yaml.safe_dump({"packages": [{"local": str(ROOT)}]}),
    }
    for path, text in written.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / "dbt_packages").mkdir()
    (folder / "dbt_packages/dbt_cdc").symlink_to(ROOT)
    return folder


def built_twice(
    folder: Path, schema: str, remote: str, between: Sequence[Sequence[str]] = ()
) -> list[tuple[bool, dict[str, str]]]:
    """Build twice in one session; what dbt said of the commands in between."""
    queries = [query.replace("{schema}", schema) for query in QUERIES]
    commands = [["build", "--exclude", "wrong"], *between, ["build", "--select", "merged+", "kept"]]
    told = run(folder, commands, queries, remote=remote)
    first, *said, last = told["dbt"]
    assert [first[0], last[0]] == [True, True], told["dbt"]
    assert told["rows"] == ROWS
    return said


CLUSTER = {
    "models/in_an_executor.py": """
        import os
        from dataclasses import dataclass

        from pyspark.sql import functions as F


        @dataclass
        class Rate:
            factor: int


        EURO = Rate(2)


        @F.udf("int")
        def converted(amount):
            return amount * EURO.factor


        def model(dbt, spark):
            dbt.config(materialized="table")
            folder = F.udf(lambda _: os.getcwd().partition("/work/app-")[1])
            return spark.range(3).select("id", converted("id").alias("euro"), folder("id").alias("folder"))
    """,
}


@pytest.mark.one_format("delta")
def test_a_python_models_own_functions_run_on_a_cluster(tmp_path: Path, table_format: str) -> None:
    """An executor is a process of its own, which works in a folder of its own and can't import the model."""
    spark_home = tmp_path / "spark"  # executors work in a folder below it
    spark_home.mkdir()
    for part in Path(pyspark.__file__).parent.iterdir():
        (spark_home / part.name).symlink_to(part)
    settings = {
        **settings_for_tests(table_format, tmp_path / "w", short_lived=True),
        "spark.master": "local-cluster[1,1,1024]",
        "spark.driver.host": "localhost",
    }
    output = {**CONNECT, "schema": "cluster", "server_side_parameters": settings}
    told = run(
        make_project(tmp_path / "project", output, table_format, CLUSTER),
        [["run"]],
        ["select * from cluster.in_an_executor order by id"],
        environment={"SPARK_HOME": str(spark_home)},
        time_limit=300,
    )
    assert told["dbt"][0][0], told["dbt"]
    assert told["rows"] == [[[str(n), str(2 * n), "/work/app-"] for n in range(3)]]


@pytest.mark.one_format("iceberg")  # loads and feeds show Spark Connect with Delta
def test_it_runs_over_spark_connect(tmp_path: Path, table_format: str, server: Server) -> None:
    """And a model that fails says where it is wrong, and leaves the session usable."""
    output = {**CONNECT, "schema": "over_connect"}
    project = make_project(tmp_path, output, table_format, {**FILES, **WRONG}, **{"+materialized": "table"})
    [(success, said)] = built_twice(
        project, "over_connect", server.connect_url, [["run", "--select", "frame", "wrong"]]
    )
    assert not success
    assert said.pop("frame") == "OK"
    for name, (beginning, places) in PLACES.items():
        message = said.pop(name)
        lines = [line.strip() for line in message.splitlines()[1:]]
        assert lines[0].startswith(beginning), message
        assert lines[-len(places) :] == places, message
        assert "JVM" not in message and "Plan" not in message
    assert [name for name in said if not name.startswith("dbt_cdc-on-run-start")] == []


@pytest.mark.one_format("iceberg")
def test_sql_runs_over_thrift_and_python_over_spark_connect(tmp_path: Path, table_format: str, server: Server) -> None:
    output = {**thrift(server.thrift_port), "schema": "over_both"}
    configs = {"+submission_method": "session"}
    built_twice(make_project(tmp_path, output, table_format, **configs), "over_both", server.connect_url)


STAFF = """
    {{ config(materialized='apply_changes', unique_key='id',
              meta={'dbt_cdc': {'sequence_by': 'nr', 'stored_as_scd_type': 2, 'change_log': 'key_op'}}) }}
    select 1 as id, '{{ var('day') }}' as role, {{ 10 - var('day') }} as nr
"""
OPERATIONS = """
    snapshots:
      - name: operations
        relation: ref('people')
        config: {unique_key: id, strategy: check, check_cols: [operation]}
"""
#: each of the first three people has another operation on day 2, and a fourth has come
OF_OPERATIONS = {
    "select count(*), count(update_process_id), count_if(effective_end_timestamp = timestamp_ntz '9999-12-31 23:59:59.999999')"
    " from {schema}.operations": [["7", "3", "4"]],
}
OF_STAFF = {
    "select role, __START_AT, __END_AT from {schema}.staff order by 2": [["2", "8", "9"], ["1", "9", "None"]],
    "select op, count(*) from {schema}.staff__changes group by op": [["i", "2"]],
}


def test_loads_and_feeds_run_over_spark_connect_and_with_sql_over_thrift(
    tmp_path: Path, table_format: str, server: Server
) -> None:
    """On Delta all goes over Spark Connect; on Iceberg SQL goes over thrift, and Python over Spark Connect."""
    output = CONNECT if table_format == "delta" else thrift(server.thrift_port)
    files = {**PEOPLE, "models/staff.sql": STAFF, "snapshots/operations.yml": OPERATIONS}
    method = {"+submission_method": "session"}
    project = make_project(tmp_path, {**output, "schema": "fed"}, table_format, files, **method)
    queries = OF_PEOPLE | OF_STAFF | OF_OPERATIONS
    days = [["build", "--vars", f"{{day: {day}}}"] for day in (1, 2)]
    told = run(project, days, [query.replace("{schema}", "fed") for query in queries], remote=server.connect_url)
    assert [success for success, _ in told["dbt"]] == [True, True], told["dbt"]
    assert dict(zip(queries, told["rows"], strict=True)) == queries


# Python models go over Spark Connect in both
@pytest.mark.long
@pytest.mark.one_format("iceberg")
def test_the_shop_runs_over_spark_connect(tmp_path: Path, table_format: str, server: Server) -> None:
    builds_two_days(tmp_path, {**CONNECT, "schema": "shop_connect"}, table_format, server.connect_url)


@pytest.mark.long  # the projects above show the ways to run, tests/integration the shop
@pytest.mark.one_format("iceberg")
def test_the_shop_runs_with_sql_over_thrift(tmp_path: Path, table_format: str, server: Server) -> None:
    builds_two_days(tmp_path, {**thrift(server.thrift_port), "schema": "shop_both"}, table_format, server.connect_url)


FED = {
    "macros/write_orders.sql": """
        {% macro write_orders() %}
            {% for statement in [
                "create schema if not exists fed_late",
                "create table fed_late.orders (id int, v string) using delta",
                "insert into fed_late.orders values (1, 'a')",
                "alter table fed_late.orders set tblproperties (delta.enableChangeDataFeed = true)",
                "insert into fed_late.orders values (2, 'b')",
                "insert overwrite fed_late.orders select 2, 'c'",
            ] %}{% do run_query(statement) %}{% endfor %}
        {% endmacro %}
    """,
    "models/since_then.sql": """
        select op, before.v as was, after.v as became
        from {{ dbt_cdc.table_changes('fed_late.orders', begin=1, unique_key='id') }}
    """,
    "models/staff.sql": STAFF.replace("var('day')", "var('day', 1)"),
    "snapshots/kept.sql": """
        {% snapshot kept %}
        {{ config(unique_key=['id', 'part'], strategy='check', check_cols='all', hard_deletes='invalidate') }}
        select 1 as id, 'x' as part, '{{ var('day', 1) }}' as v
        union all
        select 2, 'y', 'gone' where {{ var('day', 1) }} = 1 -- the first day {% endsnapshot %}
    """,
    "models/too_early.sql": """
        select op from {{ dbt_cdc.table_changes('fed_late.orders', begin=0, unique_key='id') }}
    """,
}
#: of two days; the values of closed records, and who closed them
OF_KEPT = {
    "select id, part, v, update_process_id is null, effective_end_timestamp = timestamp_ntz '9999-12-31 23:59:59.999999'"
    " from {schema}.kept order by id, v": [
        ["1", "x", "1", "False", "False"],
        ["1", "x", "2", "True", "True"],
        ["2", "y", "gone", "False", "False"],
    ],
}


@pytest.mark.only_format("delta")  # whose history gives its parameters over thrift as no JSON
def test_a_feed_that_was_switched_on_late_and_a_zone_that_is_not_heeded_are_told_over_thrift(
    tmp_path: Path, table_format: str, server: Server
) -> None:
    """And apply_changes and a snapshot, whose SQL goes over thrift here, have their rows of two days."""
    missing = "spark.sql.files.ignoreMissingFiles"
    settings = {
        "spark.sql.session.timeZone": "{{ var('zone', 'UTC') }}",
        missing: "{{ 'true' if var('zone', 'UTC') == 'Asia/Tokio' else 'false' }}",
    }
    output = {**thrift(server.thrift_port), "schema": "fed_late", "server_side_parameters": settings}
    project = make_project(tmp_path, output, table_format, FED, **{"+materialized": "table"})
    query = "select op, was, became from fed_late.since_then order by op, was"
    early = ["run", "--select", "too_early", "--vars", "{zone: Etc/UTC}"]  # which is UTC
    commands = [
        ["run-operation", "write_orders"],
        early,
        *[["run", "--select", "too_early", "--vars", f"{{zone: Asia/{city}}}"] for city in ("Tokyo", "Tokio")],
        ["build", "--select", "since_then", "staff", "kept"],
        ["build", "--select", "staff", "kept", "--vars", "{day: 2}"],
    ]
    of_days = OF_STAFF | OF_KEPT
    queries = [query, *(text.replace("{schema}", "fed_late") for text in of_days)]
    told = run(project, commands, queries, remote=server.connect_url)
    successes = [success for success, _ in told["dbt"]]
    assert successes == [True, False, False, False, True, True], told["dbt"]
    for place, city in ((2, "Tokyo"), (3, "Tokio")):
        said = " ".join(map(str, told["dbt"][place][1].values()))
        assert (
            f"model.consumer.too_early: spark.sql.session.timeZone is Asia/{city} in the profile's server_side_parameters,"
            " which this server does not heed over thrift, got UTC: start the server with it"
        ) in said
        # Python models would run with it
        assert (f"model.consumer.too_early: {missing} must be false, got true" in said) == (city == "Tokio")
    message = told["dbt"][1][1]["too_early"]
    assert "(0, latest] begins before the change feed, expected one that begins at or after version 1 (" in message
    changes, *rows = told["rows"]
    assert changes == [["d", "a", "None"], ["i", "None", "b"], ["u", "b", "c"]]
    assert dict(zip(of_days, rows, strict=True)) == of_days


NIGHT = {
    "macros/write_night.sql": """
        {% macro write_night() %}
            {% for statement in [
                "create schema if not exists of_night",
                "create table of_night.orders (id int) using delta tblproperties (delta.enableChangeDataFeed = true,"
                ~ " delta.deletedFileRetentionDuration = 'interval 9999 days', delta.logRetentionDuration = 'interval 9999 days')",
                "insert into of_night.orders values (1)",
                "insert into of_night.orders values (2)",
            ] %}{% do run_query(statement) %}{% endfor %}
        {% endmacro %}
    """,
    "models/since.sql": """
        {% do run_query("set time zone 'Europe/Berlin'") %}
        select after.id, unix_seconds(ts) as seconds from {{ dbt_cdc.table_changes('of_night.orders', '2025-10-26 00:30:00Z', unique_key='id') }}
        union all
        select max(after.id), count(*) from {{ dbt_cdc.table_changes('of_night.orders', end='2025-10-26 00:30:00Z', unique_key='id') }}
    """,
}


@pytest.mark.only_format("delta")
def test_a_commit_in_the_second_of_two_equal_hours_is_told_over_thrift(
    tmp_path: Path, table_format: str, server: Server
) -> None:
    """Two o'clock comes twice in that night in Berlin, first in summer time."""
    output = {**thrift(server.thrift_port), "schema": "of_night"}
    project = make_project(tmp_path, output, table_format, NIGHT, **{"+materialized": "table"})
    made = run(
        project, [["run-operation", "write_night"]], ["describe detail of_night.orders"], remote=server.connect_url
    )
    (location,) = [value for value in made["rows"][0][0] if value.startswith("file:")]
    summer, winter = 1761437400, 1761441000  # 02:10 and, an hour later, 02:10
    for version, seconds in enumerate([summer - 3600, summer, winter]):
        os.utime(Path(location.removeprefix("file:")) / f"_delta_log/{version:020}.json", (seconds, seconds))
    told = run(project, [["run"]], ["select * from of_night.since order by id, seconds"], remote=server.connect_url)
    assert told["dbt"][0][0], told["dbt"]
    assert told["rows"] == [[["1", "1"], ["2", str(winter)]]]

"""Python models write tables as SQL models do, whatever kind of frame they return."""

from __future__ import annotations

import calendar
import datetime as dt
import textwrap
from decimal import Decimal
from typing import Any

import pandas
import pytest
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import SparkSession

from dbt_cdc import _frames
from tests.support.project import Project
from tests.support.spark import session_conf

SCHEMA_YML = """
    models:
      - name: sql_twin
        description: &text "It's a twin; a twin's"
        columns: [{name: id, description: "the 'key'"}]
      - name: python_twin
        description: *text
        columns: [{name: id, description: "the 'key'"}]
"""

TWIN_CONFIG = """
    materialized="table", partition_by=["part"], location_root="{root}/{twin}",
    tblproperties={{"dbt_cdc.note": "kept"}}, persist_docs={{"relation": True, "columns": True}},
    grants={{}}
"""

#: Delta has no buckets; Parquet tables have them, and Iceberg's bucket transform is written the same way.
BUCKETS = {
    "delta": 'file_format="parquet", clustered_by=["id"], buckets=4, options={"compression": "gzip"}',
    "iceberg": 'clustered_by=["id"], buckets=4, options={"write.format.default": "avro"}',
}


def described(project: Project, table: str) -> dict[str, str]:
    """What Spark says about a table, without what differs between any two tables."""
    rows = project.spark.sql(f"describe table extended {project.schema}.{table}").collect()
    told = {row[0]: row[1] for row in rows}
    properties = dict(p.partition("=")[::2] for p in told.get("Table Properties", "[]")[1:-1].split(","))
    moving = ("delta.lastCommitTimestamp", "delta.lastUpdateVersion", "uuid", "current-snapshot-id")
    return {
        **{key: told.get(key, "") for key in ("id", "v", "part", "Provider", "Comment", "Type")},
        **{key: value for key, value in properties.items() if key not in moving},
        "id comment": next(row[2] for row in rows if row[0] == "id"),
        "partitions": str([row[1] for row in rows if row[0] in ("Part 0", "part")]),
        "Location": told.get("Location", "").replace(table, "twin"),
        **{key: told.get(key, "") for key in ("Num Buckets", "Bucket Columns", "Storage Properties")},
    }


def twins(project: Project, file_format: str) -> None:
    """A SQL and a Python model of the same content and configs, and a pair in buckets, built twice."""
    folder = project.folder / "elsewhere"
    sql_config = TWIN_CONFIG.format(root=folder, twin="sql_twin")
    python_config = TWIN_CONFIG.format(root=folder, twin="python_twin")
    buckets = 'materialized="table", ' + BUCKETS[file_format]
    project.configure(models={"+file_format": file_format})
    project.write(
        {
            "models/sql_buckets.sql": "{{ config(" + buckets + ") }} select id from range(4)",
            "models/python_buckets.py": f"""
                def model(dbt, spark):
                    dbt.config({buckets})
                    return spark.range(4)
            """,
            "models/odd_names.py": """
                def model(dbt, spark):
                    dbt.config(materialized="table")
                    return spark.sql("select 1 as id, 2 as `a b`, 3 as `c.d;e`")
            """,
            "models/schema.yml": SCHEMA_YML,
            "models/sql_twin.sql": "{{ config(" + sql_config + ") }} select id, 'v' as v, id % 2 as part from range(4)",
            "models/python_twin.py": f"""
                def model(dbt, spark):
                    dbt.config({python_config.strip()})
                    return spark.sql("select id, 'v' as v, id % 2 as part from range(4)")
            """,
        }
    )
    project.dbt("run")
    project.dbt("run")


def test_a_python_model_makes_the_table_that_a_sql_model_makes(project: Project) -> None:
    twins(project, project.file_format)
    sql, python = described(project, "sql_twin"), described(project, "python_twin")
    assert python == sql
    assert python["Comment"] == "It's a twin; a twin's"
    assert python["id comment"] == "the 'key'"
    assert python["dbt_cdc.note"] == "kept"
    assert python["Location"].endswith("/elsewhere/twin/twin")
    assert project.rows("select id, v, part from {schema}.python_twin order by id") == [
        (0, "v", 0), (1, "v", 1), (2, "v", 0), (3, "v", 1),
    ]  # fmt: skip

    sql, python = described(project, "sql_buckets"), described(project, "python_buckets")
    assert python == sql
    told = str(python).replace("`", "")
    assert ("gzip" in told or "avro" in told) and (
        "bucket(4, id)" in told or "'Num Buckets': '4', 'Bucket Columns': '[id]'" in told
    )
    assert project.rows("select * from {schema}.odd_names") == [(1, 2, 3)]
    assert [name for name, _ in project.columns("odd_names")] == ["id", "a b", "c.d;e"]
    assert project.tables() == {"sql_twin", "python_twin", "sql_buckets", "python_buckets", "odd_names"}


PANDAS_MODEL = """
    import datetime as dt
    from decimal import Decimal

    import numpy
    import pandas


    def model(dbt, spark):
        return pandas.DataFrame(
            {
                "text": ["x", None],
                "whole": pandas.array([1, None], dtype="Int64"),
                "number": [1.5, None],
                "yes": [True, None],
                "day": [dt.date(2024, 1, 31), None],
                "moment": pandas.to_datetime(["2024-01-31 10:00:00.123456", None]),
                "zoned": pandas.to_datetime(["2024-01-31 10:00:00", None]).tz_localize("Asia/Tokyo"),
                "price": [Decimal("1.10"), None],
                "kind": pandas.Categorical(["x", None]),
                "tags": [["a", "b"], None],
                "unsigned": numpy.array([255, 0], dtype="uint8"),
                "halves": [numpy.array([0.5], dtype="float16"), None],
                "kinds": pandas.Categorical(numpy.array([255, 0], dtype="uint8")),
                "nested": [[{"of": numpy.uint16(7), "no": None}], []],
            },
            index=["dropped", "too"],
        )
"""


PANDAS_ON_SPARK_MODEL = """
    import os

    os.environ["PYARROW_IGNORE_TIMEZONE"] = "1"  # pyspark asks for it before its import


    def model(dbt, spark):
        import pyspark.pandas

        frame = dbt.ref("frame").pandas_api()[["text", "whole"]]
        assert isinstance(frame, pyspark.pandas.DataFrame)
        frame["twice"] = frame["whole"] * 2
        return frame[frame["whole"] == 1]
"""


@pytest.mark.one_format("iceberg")
@pytest.mark.filterwarnings("ignore:'PYARROW_IGNORE_TIMEZONE'", "ignore:If `index_col` is not specified")
def test_a_pandas_frame_keeps_types_and_missing_values_become_null(project: Project) -> None:
    project.configure(models={"+materialized": "table"})
    project.write(
        {
            "models/frame.py": PANDAS_MODEL,
            "models/no_rows.py": """
                import pandas


                def model(dbt, spark):
                    return pandas.DataFrame({"id": [1], "name": ["x"]}).head(0)
            """,
            "models/on_spark.py": PANDAS_ON_SPARK_MODEL,
        }
    )
    project.dbt("run")
    small = "smallint" if project.file_format == "delta" else "int"
    assert project.columns("frame") == [
        ("text", "string"), ("whole", "bigint"), ("number", "double"), ("yes", "boolean"), ("day", "date"),
        ("moment", "timestamp"), ("zoned", "timestamp"), ("price", "decimal(3,2)"), ("kind", "string"),
        ("tags", "array<string>"), ("unsigned", small), ("halves", "array<float>"), ("kinds", small),
        ("nested", "array<struct<of:int,no:string>>"),
    ]  # fmt: skip
    moment = dt.datetime(2024, 1, 31, 10, 0, 0, 123456)
    zoned = dt.datetime(2024, 1, 31, 1)
    assert project.rows("select * from {schema}.frame order by whole desc") == [
        ("x", 1, 1.5, True, dt.date(2024, 1, 31), moment, zoned, Decimal("1.10"), "x", ["a", "b"], 255, [0.5], 255,
         [(7, None)]),
        (None, None, None, None, None, None, None, None, None, None, 0, None, 0, []),
    ]  # fmt: skip
    assert project.columns("no_rows") == [("id", "bigint"), ("name", "string")]
    assert project.rows("select * from {schema}.no_rows") == []
    assert project.columns("on_spark") == [("text", "string"), ("whole", "bigint"), ("twice", "bigint")]
    assert project.rows("select * from {schema}.on_spark") == [("x", 1, 2)]


@pytest.mark.one_format("delta")
def test_pandas_frames_go_by_rows_where_pyspark_takes_no_arrow_tables(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pyspark 3.5 has it. Both ways read a moment without a zone in the session's zone."""
    models: dict[str, Any] = {}
    exec(textwrap.dedent(PANDAS_MODEL), models)
    frame = models["model"](None, spark)
    with session_conf(spark, {"spark.sql.session.timeZone": "Asia/Tokyo"}):
        by_arrow = _frames.to_spark(frame, spark)
        monkeypatch.setattr(_frames, "_is_pyspark_3", lambda: True)
        by_rows = _frames.to_spark(frame, spark)
        moment = dt.datetime(2024, 1, 31, 1, 0, 0, 123456)
        zoned = dt.datetime(2024, 1, 31, 1)
        first = ("x", 1, 1.5, True, dt.date(2024, 1, 31), moment, zoned, Decimal("1.10"), "x", ["a", "b"])
        expected = [(*first, 255, [0.5], 255, [(7, None)]), (None,) * 10 + (0, None, 0, [])]
        assert [tuple(row) for row in by_rows.collect()] == expected
        assert by_rows.schema.simpleString() == (
            "struct<text:string,whole:bigint,number:double,yes:boolean,day:date,moment:timestamp,zoned:timestamp,"
            "price:decimal(3,2),kind:string,tags:array<string>,unsigned:smallint,"
            "halves:array<float>,kinds:smallint,nested:array<struct<of:int,no:string>>>"
        )
        assert [tuple(row) for row in by_arrow.collect()] == expected
        # an hour that is there twice, and one that is not there
        spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
        turned = pandas.DataFrame({"at": pandas.to_datetime(["2024-10-27 02:30", "2024-03-31 02:30"])})
        for old in (True, False):
            monkeypatch.setattr(_frames, "_is_pyspark_3", lambda old=old: old)
            found = [row[0] for row in _frames.to_spark(turned, spark).selectExpr("unix_seconds(at)").collect()]
            assert found == [calendar.timegm((2024, 10, 27, 0, 30, 0)), calendar.timegm((2024, 3, 31, 1, 0, 0))]
        # zones in Spark's own spellings
        noon = pandas.DataFrame({"at": pandas.to_datetime(["2024-01-31 12:00"])})
        for spelt, hour, minute in [("Z", 12, 0), ("GMT+2", 10, 0), ("UTC-05:30", 17, 30), ("+1", 11, 0)]:
            spark.conf.set("spark.sql.session.timeZone", spelt)
            found = [row[0] for row in _frames.to_spark(noon, spark).selectExpr("unix_seconds(at)").collect()]
            assert found == [calendar.timegm((2024, 1, 31, hour, minute, 0))], spelt
        spark.conf.set("spark.sql.session.timeZone", "JST")  # one of Java's alone
        with pytest.raises(DbtRuntimeError, match="JST: give it a whole name, such as Asia"):
            _frames.to_spark(noon, spark)


@pytest.mark.one_format("delta")
def test_two_versions_run_at_the_same_time_beside_models_of_classes_and_hints(project: Project) -> None:
    """Two versions: each waits for the other's mark, so that neither ends unless both run at once."""
    meet = """
        import time
        from pathlib import Path


        def model(dbt, spark):
            dbt.config(materialized="table")
            folder = Path("{folder}")
            (folder / "{own}").touch()
            started = time.monotonic()
            while not (folder / "{other}").exists():
                assert time.monotonic() < started + 60, "{other} does not run"
                time.sleep(0.1)
            return spark.range(2).selectExpr("id", "'{own}' as own")
    """
    pairs = (("both_v1", "both_v2"), ("both_v2", "both_v1"))
    project.write(
        {f"models/{own}.py": meet.format(folder=project.folder, own=own, other=other) for own, other in pairs}
    )
    project.write(
        {
            "models/both.yml": "models: [{name: both, latest_version: 2, versions: [{v: 1}, {v: 2}]}]",
            "models/typed.py": """
                from __future__ import annotations

                from dataclasses import dataclass

                from pyspark.sql.functions import udf


                @dataclass
                class Point:
                    x: int

                    def doubled(self) -> int:
                        return self.x * 2


                def model(dbt, spark):
                    dbt.config(materialized="table")
                    doubled = udf(lambda x: Point(x).doubled(), "int")
                    return spark.range(2).select(doubled("id").alias("x"))
            """,
            "models/hinted.py": """
                def model(dbt, spark):
                    from decimal import Decimal

                    def double(x: Decimal) -> Decimal:
                        return x * 2

                    dbt.config(materialized="table")
                    return spark.sql(f"select '{double.__annotations__['x'].__name__}' as x")
            """,
        }
    )
    project.dbt("run", "--threads", "2")
    assert project.rows("select x from {schema}.typed order by x") == [(0,), (2,)]
    assert project.rows("select x from {schema}.hinted") == [("Decimal",)]  # no text, as it would be from __future__
    assert project.rows("select * from {schema}.both_v1 order by id") == [(0, "both_v1"), (1, "both_v1")]
    assert project.rows("select * from {schema}.both_v2 order by id") == [(0, "both_v2"), (1, "both_v2")]
    # views stay, as dbt-spark would take a schema for empty if one went while it lists it, and hold nothing
    if project.file_format == "delta":  # Iceberg's catalog does not list them
        views = {view for view in temporary_views(project) if view.startswith("dbt_cdc_")}
        assert views and all(project.rows(f"select * from {view}") == [] for view in views)


def temporary_views(project: Project) -> set[str]:
    """Of the session, which the tests of a run share."""
    return {row.tableName for row in project.spark.sql(f"show tables in {project.schema}").collect() if row.isTemporary}


#: A consumer's macros for a catalog that knows grants: eve has one already; the statements are kept in a table.
CATALOG_WITH_GRANTS = """
    {% macro spark__call_dcl_statements(statements) %}
        {% for statement in statements %}
            {% do run_query('insert into ' ~ target.schema ~ '.granted values (current_timestamp(), "'
                ~ model.name ~ '", "' ~ (statement | trim) ~ '")') %}
        {% endfor %}
    {% endmacro %}

    {% macro default__get_show_grant_sql(relation) %}
        select 'eve' as Principal, 'select' as ActionType, 'TABLE' as ObjectType
    {% endmacro %}
"""
GRANTS_OF_TWINS = {
    "macros/grants.sql": CATALOG_WITH_GRANTS,
    "models/sql_twin.sql": "{{ config(materialized='table', grants={'select': ['ada', 'bob']}) }} select 1 as id",
    "models/python_twin.py": """
        def model(dbt, spark):
            dbt.config(materialized="table", grants={"select": ["ada", "bob"]})
            return spark.range(1)
    """,
}


@pytest.mark.one_format("iceberg")
def test_grants_are_those_of_a_sql_model(project: Project) -> None:
    project.write(GRANTS_OF_TWINS)
    project.sql(
        "create table {schema}.granted (at timestamp, model string, statement string) using " + project.file_format
    )
    project.dbt("run")
    project.dbt("run")
    said: dict[str, list[str]] = {"sql_twin": [], "python_twin": []}
    for model, statement in project.rows("select model, statement from {schema}.granted order by at"):
        said[model].append(statement.replace(f"{project.schema}.{model}", "twin"))
    first = ["grant select on twin to `ada`", "grant select on twin to `bob`"]
    second = ["revoke select on twin from `eve`", *first]
    assert said["sql_twin"] == [*first, *second]
    assert said["python_twin"] == said["sql_twin"]

    # Spark itself knows no grants: both kinds of model then fail with one message, of Spark's parser or of Iceberg's
    project.remove("macros/grants.sql")
    project.error("run")
    told = {
        name: result["message"].replace(name, "twin").partition("\n")[2]
        for name, result in project.run_results().items()
    }
    assert "grant" in told["sql_twin"].lower() or "[PARSE_SYNTAX_ERROR]" in told["sql_twin"]
    assert told["python_twin"] == told["sql_twin"]

"""An error in a Python model names the model's own file, line and source line, and leaves the session usable."""

from __future__ import annotations

import pytest

from tests.support.project import Project

pytestmark = pytest.mark.one_format("iceberg")

MODELS = {
    "models/orders.sql": "{{ config(materialized='table') }} select id, id * 2 as amount from range(3)",
    # three blank lines first: dbt strips them
    "models/imports.py": """


        import a_package_that_is_missing


        def model(dbt, spark):
            return spark.range(1)
    """,
    "models/raises.py": """
        def ratio(x):
            return x / 0


        def model(dbt, spark):
            dbt.config(materialized="table")
            n = ratio(1)
            return dbt.ref("orders").limit(n)
    """,
    "models/wraps.py": """
        def model(dbt, spark):
            try:
                [][0]
            except IndexError as error:
                raise ValueError("no first row") from error
            return spark.range(1)
    """,
    "models/itself.py": """
        def model(dbt, spark):
            try:
                [][0]
            except IndexError as error:
                raise error from error
            return spark.range(1)
    """,
    "models/unresolved.py": """
        def model(dbt, spark):
            orders = dbt.ref("orders")
            return orders.select("amuont")
    """,
    "models/lazy.py": """
        from pyspark.sql import functions as F


        def model(dbt, spark):
            orders = dbt.ref("orders")
            return orders.withColumn("x", F.raise_error(F.lit("no good")).cast("int"))
    """,
    "models/lazy_udf.py": """
        from pyspark.sql import functions as F


        @F.udf("int")
        def boom(x):
            return 1 // 0


        def model(dbt, spark):
            return dbt.ref("orders").withColumn("x", boom("id"))
    """,
    "models/unwritable.py": """
        def model(dbt, spark):
            dbt.config(partition_by="missing")
            return dbt.ref("orders")
    """,
    "models/leaves.py": """
        import sys


        def model(dbt, spark):
            sys.exit("enough")
            return spark.range(1)
    """,
    "models/no_frame.py": """
        def model(dbt, spark):
            return {"orders": dbt.ref("orders")}
    """,
    "models/streams.py": """
        def model(dbt, spark):
            return spark.readStream.format("rate").load()
    """,
    "models/elsewhere.py": """
        def model(dbt, spark):
            return spark.newSession().range(1)
    """,
    "models/mixed.py": """
        import pandas


        def model(dbt, spark):
            return pandas.DataFrame({"phone": [5551234, "TERCES"[::-1]]})
    """,
    "models/inline.sql": "{{ config(materialized='ephemeral') }} select * from {{ ref('orders') }}",
    "models/inlined.py": """
        def model(dbt, spark):
            return dbt.ref("inline")
    """,
    "models/names.py": """
        dbt_cdc_outcome = None


        def model(dbt, spark):
            return dbt.ref("orders")
    """,
    "models/fine.py": """
        def model(dbt, spark):
            return dbt.ref("orders").limit(1)
    """,
}


def test_an_error_shows_the_models_own_file_line_and_source_line(project: Project) -> None:
    project.configure(models={"+materialized": "table"})
    project.write(MODELS)
    project.error("run")
    results = {name: result["message"].partition("\n")[2] for name, result in project.run_results().items()}
    said = {name: [line.strip() for line in message.splitlines()] for name, message in results.items()}

    assert said["imports"] == [
        "ModuleNotFoundError: No module named 'a_package_that_is_missing'",
        'File "models/imports.py", line 4, in <module>',
        "import a_package_that_is_missing",
    ]
    assert said["names"][0] == "NameError: a model can't have a variable dbt_cdc_outcome: give it another name"
    assert said["elsewhere"][0].startswith("model() returned a DataFrame of another Spark session, whose tables and")
    assert said["mixed"] == [
        "model() returned a pandas DataFrame with values that Arrow makes no column of (Conversion failed for column phone"
        " with type object); expected values of one type that Spark has: convert the column in the model."
    ]
    assert "SECRET" not in project.log()
    assert said["raises"] == [
        "ZeroDivisionError: division by zero",
        'File "models/raises.py", line 8, in model',
        "n = ratio(1)",
        'File "models/raises.py", line 3, in ratio',
        "return x / 0",
    ]
    assert said["wraps"] == [
        "ValueError: no first row",
        "caused by IndexError: list index out of range",
        'File "models/wraps.py", line 6, in model',
        'raise ValueError("no first row") from error',
    ]
    assert said["itself"] == [
        "IndexError: list index out of range",
        'File "models/itself.py", line 6, in model',
        "raise error from error",
        'File "models/itself.py", line 4, in model',
        "[][0]",
    ]
    assert said["unresolved"][0].startswith("AnalysisException: [UNRESOLVED_COLUMN.WITH_SUGGESTION]")
    assert said["unresolved"][0].endswith("Did you mean one of the following? [`amount`, `id`]. SQLSTATE: 42703")
    assert said["unresolved"][1:] == [
        'File "models/unresolved.py", line 4, in model',
        'return orders.select("amuont")',
    ]
    assert said["leaves"] == [
        "SystemExit: enough",
        'File "models/leaves.py", line 6, in model',
        'sys.exit("enough")',
    ]
    assert said["inlined"] == [
        "dbt_cdc: model.consumer.inlined reads an ephemeral model, got Python, expected SQL, as such a model is a part of the"
        " query that reads it: make it a view or a table"
    ]
    assert said["no_frame"] == [
        "model() returned a builtins.dict; expected a Spark, pandas-on-Spark or pandas DataFrame."
    ]
    assert said["streams"] == [
        "model() returned a streaming DataFrame; expected one of rows at hand: read them with spark.read, or what is"
        " new since the last run with dbt_cdc.ref_changes(dbt, spark, 'orders')."
    ]
    _lazy_errors(said, project.schema)

    # nothing was written but what has no fault, and the session still works
    assert project.tables() == {"orders", "fine"}
    assert project.rows("select count(*) from {schema}.fine") == [(1,)]


def _lazy_errors(said: dict[str, list[str]], schema: str) -> None:
    """What Spark finds only when it writes the frame."""
    assert (
        said["lazy"][0]
        == f"while writing {schema}.lazy: SparkRuntimeException: [USER_RAISED_EXCEPTION] no good SQLSTATE: P0001"
    )
    assert said["lazy_udf"][-3:] == [
        "ZeroDivisionError: integer division or modulo by zero",
        'File "models/lazy_udf.py", line 7, in boom',
        "return 1 // 0",
    ]
    assert said["unwritable"][0].startswith(f"while writing {schema}.unwritable: ")
    assert "missing" in said["unwritable"][0]
    assert not [line for lines in said.values() for line in lines if line.startswith("at ") or "JVM" in line]


def test_a_model_that_leaves_the_session_in_another_catalog_is_refused(project: Project) -> None:
    model = """
        def model(dbt, spark):
            spark.conf.set("spark.sql.catalog.lake", "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog")
            spark.conf.set("spark.sql.catalog.lake.url", "jdbc:derby:memory:lake;create=true")
            spark.sql("use lake")
            return spark.range(1)
    """
    project.configure(models={"+materialized": "table"})
    project.write({"models/strays.py": model, "models/after.sql": "-- depends_on: {{ ref('strays') }}\nselect 1 as id"})
    project.error("run")
    assert project.run_results()["strays"]["message"].splitlines()[1:] == [
        "  the session, which all nodes of a run share, is in the catalog lake after model(); expected spark_catalog, where"
        " dbt has its tables: name tables in full, as in spark.table('lake.schema.table')."
    ]
    load = model.replace(
        "spark.conf", 'dbt.config(materialized="hash_diff", unique_key="id")\n            spark.conf', 1
    )
    project.write({"models/strays.py": load})
    assert "is in the catalog lake after model()" in project.error("run", "--select", "strays")
    project.write({"models/strays.py": model.replace("range(1)", "range(1) + 1")})
    project.error("run", "--select", "strays")  # its own error, and the catalog is back
    assert "unsupported operand" in project.run_results()["strays"]["message"]
    project.write({"models/strays.py": "def model(dbt, spark):\n    return spark.range(1)\n"})
    project.dbt("run")
    assert project.tables() == {"strays", "after"}

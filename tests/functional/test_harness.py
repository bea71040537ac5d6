"""A consumer's project builds with the package added and nothing switched on."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from tests.support.project import Project


@pytest.mark.one_format("iceberg")
def test_sql_and_python_models_and_a_stock_snapshot_build_side_by_side(project: Project) -> None:
    project.configure(dispatch=False)
    project.write(
        {
            "models/a.sql": "{{ config(materialized='table') }} select 1 as id, 'x' as v",
            "models/b.py": """
                def model(dbt, spark):
                    dbt.config(materialized="table")
                    return dbt.ref("a").selectExpr("id + 1 as id", "v")
            """,
            "snapshots/s.yml": """
                snapshots:
                  - name: s
                    relation: ref('b')
                    config: {unique_key: id, strategy: check, check_cols: [v]}
            """,
        }
    )
    project.dbt("build")
    assert project.rows("select * from {schema}.b") == [(2, "x")]
    assert project.rows("select id, v, dbt_valid_to from {schema}.s") == [(2, "x", None)]
    assert project.tables() == {"a", "b", "s"}

    enabled = {"dbt_cdc": {"examples": {"+enabled": True}}}
    project.configure(seeds=enabled, snapshots=enabled)
    project.dbt("build", "--select", "package:dbt_cdc")
    open_records = "select customer_id, city, update_process_id from {schema}.example_customer_history order by 1"
    assert project.rows(open_records) == [(1, "Oslo", None), (2, "Lima", None), (3, "Rome", None)]
    assert project.tables() == {"a", "b", "s", "example_customers", "example_customer_history"}


@pytest.mark.one_format("iceberg")
def test_each_test_project_refuses_macro_yaml_that_does_not_fit_its_macro(project: Project) -> None:
    """So the package's own fits in every test that runs dbt."""
    project.write(
        {
            "macros/twice.sql": "{% macro twice(number) %}{{ number }} * 2{% endmacro %}",
            "macros/twice.yml": "macros: [{name: twice, arguments: [{name: number, type: whole}]}]",
        }
    )
    assert "Argument number in the yaml for macro twice has an invalid type" in project.error("parse")


def test_the_spark_of_the_tests_has_started_without_the_network(spark: SparkSession) -> None:
    """Its jars are there from the first time; a later run works offline."""
    jvm: Any = spark._jvm
    with pytest.raises(Py4JJavaError, match=r"java\.net\.ConnectException"):
        jvm.java.net.URL("https://repo1.maven.org/maven2/").openStream()

"""A run with Python models starts only if the Python distribution fits the dbt package, and says how to mend it."""

from __future__ import annotations

import pytest
from dbt.adapters.spark.impl import SparkAdapter

import dbt_cdc
from tests.support.project import Project

pytestmark = pytest.mark.one_format("iceberg")

MODELS = {
    "models/a.sql": "{{ config(materialized='table') }} select 1 as id",
    "models/b.py": """
        def model(dbt, spark):
            dbt.config(materialized="table")
            return dbt.ref("a")
    """,
}


def test_another_version_or_none_is_an_error_with_the_command_that_mends_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write(MODELS)
    with monkeypatch.context() as patch:
        patch.setattr(dbt_cdc, "__version__", "0.0.9")
        older = project.error("run")
        assert project.tables() == set()
        project.dbt("run", "--select", "a")  # without Python models it makes no difference
        patch.setattr(SparkAdapter, "_available_", SparkAdapter._available_ - {"dbt_cdc_version"})
        none = project.error("run", "--select", "b")
    assert project.tables() == {"a"}
    assert "Python models (b) need the Python distribution dbt-cdc" in older
    assert f"in the version of the dbt package, {dbt_cdc.__version__}; installed: 0.0.9." in older
    assert "pip install ./dbt_packages/dbt_cdc" in older
    assert "installed: none." in none
    project.dbt("run")
    assert project.rows("select * from {schema}.b") == [(1,)]

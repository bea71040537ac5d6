"""What is said twice, for SQL models and for Python ones, is the same."""

from __future__ import annotations

import json

import pytest

from dbt_cdc._formats import format_of
from dbt_cdc._hash_diff_incoming import _DAY, _TIME_OF_DAY
from dbt_cdc._hash_diff_layout import ADDED
from tests.support.project import Project

SAID = """
    {{ config(materialized='table') }}
    {% set said = {
        'formats': dbt_cdc._formats(),
        'date': dbt_cdc._read_as('value', 'date'),
        'timestamp': dbt_cdc._read_as('value', 'timestamp'),
        'added': dbt_cdc._hash_diff_added_columns(),
    } %}
    select {{ dbt_cdc._literal(said | tojson) }} as said
"""


@pytest.mark.one_format("iceberg")
def test_macros_and_python_say_the_same_of_formats_dates_and_added_columns(project: Project) -> None:
    project.write({"models/said.sql": SAID})
    project.dbt("run")
    said = json.loads(project.rows("select said from {schema}.said")[0][0])
    for name, abilities in said["formats"].items():
        python = format_of(name)
        assert abilities["column_names"] == dict(python.column_names), name
        assert abilities["set_later"] == sorted(python.set_later), name
        assert abilities["timestamp_ntz"] == dict(python.timestamp_ntz), name
    assert f" rlike '{_DAY}'" in said["date"]
    assert f" rlike '{_TIME_OF_DAY}'" in said["timestamp"]
    assert said["added"] == list(ADDED)

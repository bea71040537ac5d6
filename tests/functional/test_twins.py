"""What is said twice, for SQL models and for Python ones, is the same."""

from __future__ import annotations

import json

import pytest

from dbt_cdc._formats import format_of
from dbt_cdc._hash_diff_guard import REFUSED
from dbt_cdc._hash_diff_incoming import TEXT_OF
from dbt_cdc._hash_diff_layout import ADDED, IS_ENDED, IS_KEY
from dbt_cdc._hash_diff_tables import FIRST_LOAD, MODEL_OF
from dbt_cdc._sql import is_odd_name
from dbt_cdc._types import widens
from tests.support.hash_diff import PROPERTIES
from tests.support.project import Project

TYPES = [
    "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(5,2)", "decimal(7,4)", "decimal(6,4)",
    "decimal(9,2)", "string", "date", "timestamp",
]  # fmt: skip
NAMES = ["a", "a b", "a.b", "a_b", "a=b", "a-b", "a\nb", "ä"]
SAID = """
    {{ config(materialized='table') }}
    {% set said = {
        'formats': dbt_cdc._formats(),
        'refused': {},
        'refused_anywhere': dbt_cdc._settings_of_meaning(),
        'text_of': {},
        'layout': dbt_cdc._hash_diff_layout(),
        'odd': [],
        'widens': [],
        'hash_diff_properties': {},
        'main_branch': {},
    } %}
    {% for format in ['delta', 'iceberg'] %}
        {% do said.hash_diff_properties.update({format: dbt_cdc._for_format('hash_diff_properties', format)()}) %}
    {% endfor %}
    {% for format in dbt_cdc._formats() %}
        {% do said.refused.update({format: dbt_cdc._for_format('refused_settings', format)()}) %}
        {% do said.main_branch.update({format: dbt_cdc._for_format('main_branch', format)()}) %}
    {% endfor %}
    {% for type in var('read') %}{% do said.text_of.update({type: dbt_cdc._text_pattern(type)}) %}{% endfor %}
    {% for name in var('names') if dbt_cdc._is_odd_name(name) %}{% do said.odd.append(name) %}{% endfor %}
    {% for narrow in var('types') %}{% for wide in var('types') if dbt_cdc._widens(narrow, wide) %}
        {% do said.widens.append([narrow, wide]) %}
    {% endfor %}{% endfor %}
    select {{ dbt_cdc._literal(said | tojson) }} as said
"""


@pytest.mark.one_format("iceberg")
def test_macros_and_python_say_the_same(project: Project) -> None:
    project.write({"models/said.sql": SAID})
    project.dbt("run", "--vars", json.dumps({"types": TYPES, "names": NAMES, "read": [*TEXT_OF, "int", "array<date>"]}))
    said = json.loads(project.rows("select said from {schema}.said")[0][0])
    for name, abilities in said["formats"].items():
        python = format_of(name)
        assert abilities["column_names"] == dict(python.column_names), name
        assert abilities["set_later"] == dict(python.set_later), name
        assert abilities["timestamp_ntz"] == dict(python.timestamp_ntz), name
        assert abilities["branch_settings"] == list(python.branch_settings), name
        assert said["main_branch"][name] == dict(python.main_branch), name
        refused = {setting: tuple(values[:2]) for setting, values in said["refused"][name].items()}
        assert refused == dict(python.refused_settings), name
    assert set(REFUSED) < set(said["refused_anywhere"])  # one more is of thrift alone
    assert said["text_of"] == {**TEXT_OF, "int": None, "array<date>": None}
    assert said["layout"] == {
        "added": list(ADDED),
        "first_load": FIRST_LOAD,
        "model_of": MODEL_OF,
        "is_key": IS_KEY,
        "is_ended": IS_ENDED,
    }
    assert said["hash_diff_properties"] == PROPERTIES  # which the tests of loads give their tables
    assert said["odd"] == [name for name in NAMES if is_odd_name(name)] == ["a b", "a.b", "a=b", "a\nb"]
    # a whole number as a floating one is another text, so another digest
    floats = ("float", "double")
    pairs = [[narrow, wide] for narrow in TYPES for wide in TYPES if widens(narrow, wide)]
    assert pairs == [pair for pair in said["widens"] if (pair[0] in floats) == (pair[1] in floats)]
    assert ["int", "bigint"] in pairs and ["decimal(5,2)", "decimal(7,4)"] in pairs
    assert ["decimal(5,2)", "decimal(6,4)"] not in pairs

"""dbt_cdc.hash gives in SQL the digests that the Python side gives."""

from __future__ import annotations

import hashlib

import pytest

from dbt_cdc.hashing import hash_expression
from tests.support.places import PLACES, at, in_zone
from tests.support.project import Project

pytestmark = pytest.mark.one_format("iceberg")

SOURCE = """
    {{ config(materialized='table') }}
    select 1 as id, 'x' as v, cast(null as string) as w, cast(1.5 as decimal(9, 3)) as d,
        timestamp'2020-01-01 00:00:00+00:00' as t, map('b', 1, 'a', null) as m, X'00FF' as h
    union all
    select 2, 'it''s', '', -2, timestamp'1969-12-31 23:59:59.999999+00:00', map(), null
"""
DIGESTS = """
    {{ config(materialized='table') }}
    select
        id,
        {{ dbt_cdc.hash(['id']) }} as from_name,
        {{ dbt_cdc.hash(['W', 'v', 'd', 't', 'h'], 'sha2_256') }} as from_names,
        {{ dbt_cdc.hash(['h', 'T', 'd', 'v', 'w'], 'xxhash64') }} as in_another_order,
        {{ dbt_cdc.hash(ref('source_rows'), algorithm='xxhash64') }} as from_relation
    from {{ ref('source_rows') }}
"""


#: One row of types that are written in ways of their own, and its text by the rule.
WIDE = """
    {{ config(materialized='table') }}
    select 1 as id, date'2020-02-29' as born, double('NaN') as score, -0.0D as zero, array('a', null) as tags,
        named_struct('x', 1, 'y', cast(null as string)) as point,
        timestamp_ntz'2020-01-01 00:00:00.5' as wall, 'v' as `a b`, 7 as `#n`
"""
WIDE_TEXT = (
    '{"#n":7,"a b":"v","born":"2020-02-29","id":1,"point":{"x":1},"score":"NaN","tags":["a",null],'
    '"wall":"2020-01-01T00:00:00.500000","zero":-0.0}'
)


# made by other tools from the rule: {"d":1.500,"h":"AP8=","t":"2020-01-01T00:00:00.000000Z","v":"x"} and so on
EXPECTED = [
    (
        1,
        "d2ce28b9a7fd7e4407e2b0fd499b7fe4",
        "d24880f0d6c3d9343b9d5d37e9f90c59baebeefadcaf27a87f91bd264907b665",
        "7176a0e3ec424166",
        "9d70e7fc256a04fd",
    ),
    (
        2,
        "4f56edcb1558d4df2f77295f86059006",
        "d5bc9ef6bfd78d9e3405289eef83830b0d55a6e13ca895988916eda3cfb997be",
        "7641446b48f0ff00",
        "7ae9c6a7aab26d16",
    ),
]


def test_the_macro_and_the_python_side_agree_for_names_and_relations_wherever_they_run(project: Project) -> None:
    wide = "select {{ dbt_cdc.hash(ref('wide_rows')) }} as digest from {{ ref('wide_rows') }}"
    project.write({"models/source_rows.sql": SOURCE, "models/digests.sql": DIGESTS,
                   "models/wide_rows.sql": WIDE, "models/wide_digests.sql": wide})  # fmt: skip
    with in_zone(project, PLACES[0][1]), at(project.spark, PLACES[0]):
        project.dbt("run")
        frame = project.spark.table(f"{project.schema}.source_rows")
        fields = {field.name: field for field in frame.schema.fields}
        of_python = frame.selectExpr(
            "id",
            hash_expression([fields["id"]]),
            hash_expression([fields[name] for name in "vwdth"], "sha2_256"),
            hash_expression([fields[name] for name in "vwdth"], "xxhash64"),
            hash_expression(list(fields.values()), "xxhash64"),
        )
        assert [tuple(row) for row in of_python.orderBy("id").collect()] == EXPECTED
        assert project.rows("select * from {schema}.digests order by id") == EXPECTED
        frame = project.spark.table(f"{project.schema}.wide_rows")
        expected = [(hashlib.md5(WIDE_TEXT.encode()).hexdigest(),)]
        assert [tuple(row) for row in frame.selectExpr(hash_expression(frame.schema.fields)).collect()] == expected
        assert project.rows("select * from {schema}.wide_digests") == expected
    columns = project.columns("digests")
    project.dbt("run", "--empty")
    assert project.rows("select count(*) from {schema}.digests") == [(0,)] and project.columns("digests") == columns


def test_an_unknown_algorithm_and_a_map_inside_another_type_are_refused(project: Project) -> None:
    project.write(
        {
            "models/source_rows.sql": "{{ config(materialized='table') }} select array(map('a', 1)) as deep",
            # Spark cuts the text of such a type before the map
            "models/long.sql": "{{ config(materialized='table') }} select named_struct("
            + "".join(f"'f{n}', {n}, " for n in range(30))
            + "'m', map('a', 1)) as far",
            "models/of_long.sql": "select {{ dbt_cdc.hash(ref('long')) }} as d from {{ ref('long') }}",
            "models/inner.sql": "{{ config(materialized='ephemeral') }} select 1 as id",
            "models/of_inner.sql": "select {{ dbt_cdc.hash(ref('inner')) }} as d from {{ ref('inner') }}",
            "models/wrong.sql": "select {{ dbt_cdc.hash(['a'], 'md55') }} as d",
            "models/deep.sql": "select {{ dbt_cdc.hash(ref('source_rows')) }} as d from {{ ref('source_rows') }}",
            "models/empty.sql": "{% set none_left = ['a'] | reject('equalto', 'a') | list %} select {{ dbt_cdc.hash(none_left) }} as d",
        }
    )
    said = project.error("run")
    assert "unknown algorithm 'md55', did you mean 'md5'?" in said
    project.remove("models/wrong.sql")
    said = project.error("run")
    assert "column 'deep' is a array<map<string,int>>" in said
    assert "column 'far' is a struct<f0:int," in said
    assert "dbt_cdc.hash: got no columns, expected at least one" in said
    assert (
        "__dbt__cte__inner has no columns that can be asked for (an ephemeral model, a unit test's input, or not built yet)"
        in said
    )

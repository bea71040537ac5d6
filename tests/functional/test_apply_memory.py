"""What apply_changes remembers: tombstones until their retention, and the images of a snapshot source."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.project import Project

FEED = {"sequence_by": "seq", "apply_as_deletes": "op = 'D'", "except_column_list": ["op", "seq"]}
IMAGES = {"sequence_by": "ver", "source_kind": "snapshot", "except_column_list": ["ver"]}


def model(columns: str, runs: list[str], more: str = "", **meta: Any) -> str:
    text = "{% set options = " + repr(meta) + " %}{% do options.update(" + more + ") %}\n"
    text += "{{ config(materialized='apply_changes', unique_key='id', meta={'dbt_cdc': options}) }}\n"
    for number, rows in enumerate(runs):
        text += f"{{% if var('run') == {number} %}} select * from values {rows} as t({columns}) {{% endif %}}\n"
    return text


@pytest.mark.one_format("delta")
def test_deletes_are_remembered_until_their_retention_and_versions_keep_their_ends(project: Project) -> None:
    runs = [
        "(1, '', 'D', 20), (2, 'a', 'U', 1), (2, '', 'D', 5), (3, 'k', 'U', 1)",
        "(1, 'x', 'U', 10), (2, 'z', 'U', 3)",
        "(1, 'y', 'U', 11)",
        "(3, 'back', 'U', 5)",
    ]
    lists = ["(1, array('a', null), 'U', 1)", "(1, array('a', null), 'U', 1), (1, array('b'), 'U', 2)"]
    truncated = ["(2, 'n', 'U', 6), (null, null, 'T', 5)", "(2, 'n', 'U', 6)", "(1, 'late', 'U', 3)"]
    at_once = {**FEED, "tombstone_retention": "INTERVAL 0 SECONDS"}
    columns = "id, v, op, seq"
    # a purge that is due forgets the old delete and not the young one: the late events of run 2 tell
    young = [
        "(1, '', 'D', 20), (2, '', 'D', 20), (3, 'k', 'U', 1)",
        "(3, 'l', 'U', 2)",
        "(1, 'x', 'U', 10), (2, 'x', 'U', 10)",
    ]
    # where events leave columns alone, older events still count
    partial = [
        "(1, 'a', 1, 'U', 1, null), (2, 'b', 2, 'U', 1, null)",
        "(1, null, 3, 'U', 2, array('n'))",
        "(1, null, 4, 'U', 3, array('n'))",
    ]
    nulls = ["(1, 'a', 1, 'U', 1), (2, 'b', 2, 'U', 1)", "(1, null, 3, 'U', 2)", "(1, null, 4, 'U', 3)"]
    project.write(
        {
            "models/young1.sql": model(columns, young, **FEED),
            "models/young2.sql": model(columns, young, stored_as_scd_type=2, **FEED),
            "models/sets1.sql": model("id, v, n, op, seq, cols", partial, columns_to_update="cols", **at_once),
            "models/nulls1.sql": model("id, v, n, op, seq", nulls, ignore_null_updates=True, **at_once),
            "models/kept1.sql": model(columns, runs, **FEED),
            "models/kept2.sql": model(columns, runs, stored_as_scd_type=2, **FEED),
            "models/forgot1.sql": model(columns, runs, **at_once),
            "models/forgot2.sql": model(columns, runs, stored_as_scd_type=2, **at_once),
            "models/lists2.sql": model(columns, lists, stored_as_scd_type=2, **FEED),
            "models/emptied1.sql": model(columns, truncated, apply_as_truncates="op = 'T'", **at_once),
        }
    )
    project.dbt("run", "--vars", "{run: 0}")
    for table in ("young1", "young2"):
        aging = "set _dbt_cdc_processed_at = _dbt_cdc_processed_at - interval 3 days"
        markers = "_dbt_cdc_kind in ('begun', 'applied', 'purged')"
        project.sql(f"update {{schema}}.{table}__events {aging} where id = 1 or {markers}")
    project.dbt("run", "--vars", "{run: 1}")
    assert project.rows("select * from {schema}.lists2 order by 3") == [(1, ["a", None], 1, 2), (1, ["b"], 2, None)]
    # a purge also forgets that old batches are done, not that this one is
    for table, batches in {"young1": 1, "young2": 1, "kept1": 2}.items():
        marked = f"select _dbt_cdc_kind, count(*) from {{schema}}.{table}__events where _dbt_cdc_kind in ('begun', 'applied')"
        assert project.rows(f"{marked} group by _dbt_cdc_kind order by 1") == [("applied", batches), ("begun", batches)]
    assert project.rows("select * from {schema}.kept1 order by id") == [(3, "k")]
    assert project.rows("select * from {schema}.kept2 order by id, 3") == [
        (1, "x", 10, 20),
        (2, "a", 1, 3),
        (2, "z", 3, 5),
        (3, "k", 1, None),
    ]
    assert project.rows("select * from {schema}.forgot1 order by id") == [(1, "x"), (2, "z"), (3, "k")]
    assert project.rows("select * from {schema}.forgot2 order by id, 3") == [
        (1, "x", 10, None),
        (2, "a", 1, 3),
        (2, "z", 3, 5),
        (3, "k", 1, None),
    ]

    project.dbt("run-operation", "purge_tombstones", "--args", "{model: kept1, retention: 1 hour}")
    deletes = "select count(*) from {schema}.kept1__events where _dbt_cdc_kind = 'delete'"
    assert project.rows(deletes) == [(2,)]
    project.dbt("run-operation", "purge_tombstones", "--args", "{model: kept1, retention: 0 seconds}")
    assert project.rows(deletes) == [(0,)]
    assert project.rows("select * from {schema}.kept1 order by id") == [(3, "k")]
    project.dbt(
        "run", "--vars", "{run: 2}", "--select", "kept1", "kept2", "emptied1", "young1", "young2", "sets1", "nulls1"
    )
    assert project.rows("select * from {schema}.young1 order by id") == [(1, "x"), (3, "l")]
    assert project.rows("select * from {schema}.young2 order by id, 3") == [
        (1, "x", 10, None),
        (2, "x", 10, 20),
        (3, "k", 1, 2),
        (3, "l", 2, None),
    ]
    for table in ("sets1", "nulls1"):
        assert project.rows(f"select * from {{schema}}.{table} order by id") == [(1, "a", 4), (2, "b", 2)]
    assert project.rows("select * from {schema}.kept1 order by id") == [(1, "y"), (3, "k")]
    assert project.rows("select * from {schema}.kept2 where id = 1 order by 3") == [(1, "x", 10, 11), (1, "y", 11, 20)]
    assert project.rows("select * from {schema}.emptied1") == [(2, "n")]  # no purge forgets a truncate

    # a delete that a killed run recorded is kept until the table shows it, then until the retention is over
    killed = "(3, 9, 'delete', 0L, 'killed', now()), (null, null, 'begun', null, 'killed', now())"
    names = "id, _dbt_cdc_sequence, _dbt_cdc_kind, _dbt_cdc_hash, _dbt_cdc_batch, _dbt_cdc_processed_at"
    project.sql(f"insert into {{schema}}.kept1__events ({names}) values {killed}")
    project.dbt("run-operation", "purge_tombstones", "--args", "{model: kept1, retention: 0 seconds}")
    assert "kept1: nothing purged, a run that was killed" in project.log()
    assert project.rows(deletes) == [(1,)]
    project.dbt("run", "--vars", "{run: 2}", "--select", "kept1")
    assert project.rows("select * from {schema}.kept1") == [(1, "y")]
    assert project.rows(deletes) == [(1,)]
    project.sql("update {schema}.kept1__events set _dbt_cdc_processed_at = _dbt_cdc_processed_at - interval 3 days")
    project.dbt("run", "--vars", "{run: 3}", "--select", "kept1", "kept2")
    assert project.rows(deletes) == [(0,)]
    assert project.rows("select * from {schema}.kept1 order by id") == [(1, "y"), (3, "back")]
    assert project.rows("select * from {schema}.kept2 where id = 3 order by 3") == [
        (3, "k", 1, 5),
        (3, "back", 5, None),
    ]
    project.error("run-operation", "purge_tombstones", "--args", "{model: kept3}")  # dbt says why in its log alone
    assert "unknown apply_changes model 'kept3', did you mean 'kept" in project.log()


@pytest.mark.one_format("delta")
def test_images_become_versions_and_missing_keys_deletes(project: Project) -> None:
    runs = [
        "(1, 'a', 1), (2, 'b', 1), (1, 'a', 2), (3, 'c', 2)",
        "(1, 'z', 3), (2, 'b', 3)",
        # all images again, with those that are older than the last one
        "(1, 'a', 1), (2, 'b', 1), (1, 'a', 2), (3, 'c', 2), (1, 'z', 3), (2, 'b', 3)",
    ]
    columns = "id, v, ver"
    empty = (
        "{% if var('run') == 0 %} select * from values (1, 'a', 1), (2, 'b', 1) as t(id, v, ver) {% else %}"
        "select * from values (0, '', 0) as t(id, v, ver) where false {% endif %}"
    )
    project.write(
        {
            "models/images1.sql": model(columns, runs, **IMAGES),
            "models/images2.sql": model(columns, runs, stored_as_scd_type=2, **IMAGES),
            "models/unnamed.sql": model(columns, [], **IMAGES) + empty,
            "models/emptied2.sql": model(
                columns, [], "snapshot_version=7 if var('run') else none", stored_as_scd_type=2, **IMAGES
            )
            + empty,
        }
    )
    for run in (0, 1, 2):
        project.dbt("run", "--vars", f"{{run: {run}}}")
        if run == 0:
            assert project.rows("select * from {schema}.images1 order by id") == [(1, "a"), (3, "c")]
            # part of an image would say that all other keys are gone
            for part in ("--empty", "--sample=1 day"):
                project.dbt("run", part, "--select", "images1", "emptied2", "--vars", "{run: 1}")
                assert project.rows("select * from {schema}.images1 order by id") == [(1, "a"), (3, "c")]
                live = [(1, "a", 1, None), (2, "b", 1, None)]
                assert project.rows("select * from {schema}.emptied2 order by id") == live
    assert project.rows("select * from {schema}.images1 order by id") == [(1, "z"), (2, "b")]
    assert project.rows("select * from {schema}.images2 order by id, 3") == [
        (1, "a", 1, 3),
        (1, "z", 3, None),
        (2, "b", 1, 2),
        (2, "b", 3, None),
        (3, "c", 2, 3),
    ]
    assert project.rows("select * from {schema}.unnamed order by id") == [(1, "a"), (2, "b")]
    assert project.rows("select * from {schema}.emptied2 order by id") == [(1, "a", 1, 7), (2, "b", 1, 7)]

"""What apply_changes remembers: tombstones until their retention, and the images of a snapshot source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.project import Project
from tests.support.shared import shared_project

FEED = {"sequence_by": "seq", "apply_as_deletes": "op = 'D'", "except_column_list": ["op", "seq"]}
#: a MERGE marks rows as gone
MARKED = {"write.merge.mode": "merge-on-read"}
IMAGES = {"sequence_by": "ver", "source_kind": "snapshot", "except_column_list": ["ver"]}


def model(columns: str, runs: list[str], more: str = "", **meta: Any) -> str:
    text = "{% set options = " + repr(meta) + " %}{% do options.update(" + more + ") %}\n"
    text += "{{ config(materialized='apply_changes', unique_key='id', meta={'dbt_cdc': options}) }}\n"
    for number, rows in enumerate(runs):
        text += f"{{% if var('run') == {number} %}} select * from values {rows} as t({columns}) {{% endif %}}\n"
    return text


AT_ONCE = {**FEED, "tombstone_retention": "INTERVAL 0 SECONDS"}
COLUMNS = "id, v, op, seq"
# the late events of run 2 tell whether a purge that is due forgot a delete
YOUNG_AND_OLD = [
    "(1, '', 'D', 20), (2, '', 'D', 20), (3, 'k', 'U', 1), (4, '', 'D', 20), (4, '', 'D', 10)",
    "(3, 'l', 'U', 2)",
    "(1, 'x', 'U', 10), (2, 'x', 'U', 10), (4, 'x', 'U', 15)",
]
KEPT = [
    # the delete of 5 wins over what it meets at its own sequence
    "(1, '', 'D', 20), (2, 'a', 'U', 1), (2, '', 'D', 5), (3, 'k', 'U', 1), (5, 't', 'U', 7), (5, '', 'D', 7),"
    " (4, 'v', 'U', 18), (4, '', 'D', 20)",
    "(1, 'x', 'U', 10), (2, 'z', 'U', 3), (5, 'w', 'U', 3), (4, '', 'D', 15)",
    "(1, 'y', 'U', 11)",
    "(3, 'back', 'U', 5)",
]

MODELS = {
    "young1": model(COLUMNS, YOUNG_AND_OLD, **FEED),
    "young2": model(COLUMNS, YOUNG_AND_OLD, stored_as_scd_type=2, **FEED),
    "night1": model(COLUMNS, YOUNG_AND_OLD, **FEED),
    "month1": model(COLUMNS, YOUNG_AND_OLD, **FEED),
    # where events leave columns alone, older events still count
    "sets1": model(
        "id, v, n, op, seq, cols",
        [
            "(1, 'a', 1, 'U', 1, null), (2, 'b', 2, 'U', 1, null)",
            "(1, null, 3, 'U', 2, array('n'))",
            "(1, null, 4, 'U', 3, array('n'))",
        ],
        columns_to_update="cols",
        **AT_ONCE,
    ),
    # what is forgotten with a delete are the events up to it, not those of a row that came back
    "nulls1": model(
        "id, v, n, op, seq",
        [
            "(1, 'a', 1, 'U', 1), (2, 'b', 2, 'U', 1),"
            " (3, 'a', 1, 'U', 1), (3, null, null, 'D', 2), (3, null, 2, 'U', 3)",
            "(1, null, 3, 'U', 2)",
            "(1, null, 4, 'U', 3), (3, null, 5, 'U', 4)",
        ],
        ignore_null_updates=True,
        **AT_ONCE,
    ),
    "dated": model(
        "id, v, op, seq, sys",
        ["(1, 'a', 'U', 1, 1), (1, '', 'D', 2, 2)", "(2, 'b', 'U', 1, 3)"],
        stored_as_scd_type="bitemporal",
        system_sequence_by="sys",
        **FEED,
    ),
    "kept1": model(COLUMNS, KEPT, **FEED).replace("unique_key='id',", f"unique_key='id', tblproperties={MARKED},"),
    "kept2": model(COLUMNS, KEPT, stored_as_scd_type=2, **FEED),
    "forgot1": model(
        COLUMNS,
        [KEPT[0] + ", (6, 'a', 'U', 1), (6, '', 'D', 2), (6, 'b', 'U', 3)", KEPT[1], "(6, 'late', 'U', 2)"],
        **AT_ONCE,
    ),
    "forgot2": model(COLUMNS, KEPT, stored_as_scd_type=2, **AT_ONCE),
    "emptied1": model(
        COLUMNS,
        [
            "(2, 'n', 'U', 7), (null, null, 'T', 5)",
            "(2, 'n', 'U', 7)",
            "(1, 'late', 'U', 3), (2, 'older', 'U', 6)",
            "(null, null, 'T', 7)",
        ],
        apply_as_truncates="op = 'T'",
        **AT_ONCE,
    ),
}

OF_2 = [(2, "a", 1, 3), (2, "z", 3, 5)]
OF_4, OF_5 = (4, "v", 18, 20), (5, "w", 3, 7)
#: step: table: its rows
REMEMBERED: dict[str, dict[str, list[tuple[Any, ...]]]] = {
    "the second batch": {
        "kept1": [(3, "k")],
        "kept2": [(1, "x", 10, 20), *OF_2, (3, "k", 1, None), OF_4, OF_5],
        "forgot1": [(1, "x"), (2, "z"), (3, "k"), (5, "w"), (6, "b")],
        "forgot2": [(1, "x", 10, None), *OF_2, (3, "k", 1, None), OF_4, (5, "w", 3, None)],
    },
    "a purge of all deletes": {"kept1": [(3, "k")]},
    "the third batch": {
        "young1": [(1, "x"), (3, "l")],
        # the later delete of 4, which is old, is remembered with the earlier one that came late
        "young2": [(1, "x", 10, None), (2, "x", 10, 20), (3, "k", 1, 2), (3, "l", 2, None), (4, "x", 15, 20)],
        "night1": [(1, "x"), (3, "l")],  # the operation forgot one delete, and left the run none to look for
        "month1": [(1, "x"), (2, "x"), (3, "l")],  # it went by another retention, and the run by the model's
        "sets1": [(1, "a", 4), (2, "b", 2)],
        "nulls1": [(1, "a", 4), (2, "b", 2), (3, None, 5)],
        "kept1": [(1, "y"), (3, "k")],
        "kept2": [(1, "x", 10, 11), (1, "y", 11, 20), *OF_2, (3, "k", 1, None), OF_4, OF_5],
        "forgot1": [(1, "x"), (2, "z"), (3, "k"), (5, "w"), (6, "b")],
        "emptied1": [(2, "n")],  # no purge forgets a truncate
    },
    "the run after one that was killed": {"kept1": [(1, "y")]},
    "the fourth batch": {
        "kept1": [(1, "y"), (3, "back")],
        "kept2": [(1, "x", 10, 11), (1, "y", 11, 20), *OF_2, (3, "k", 1, 5), (3, "back", 5, None), OF_4, OF_5],
    },
}

#: step: how many deletes the ledger of `kept1` has
DELETES = {
    # a late delete is remembered as long as any, with the one behind it
    "a purge of deletes older than an hour": 5,
    "a purge of all deletes": 0,
    # a delete that a killed run recorded is kept until the table shows it, then until the retention is over
    "a purge before the table shows what a killed run recorded": 1,
    "the run after one that was killed": 1,
    "the fourth batch": 0,
}

#: table: how many batches its ledger knows to be done; a purge that was due forgets the old one, not that of its run
BATCHES = {"young1": 1, "young2": 1, "night1": 1, "dated": 1, "kept1": 2}


@dataclass
class Memory:
    """The models, and what was seen of their tables between the runs."""

    project: Project
    seen: dict[str, dict[str, list[tuple[Any, ...]]]] = field(default_factory=dict)
    deletes: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    batches: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    emptied: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)

    def run(self, number: int, *arguments: str) -> None:
        self.project.dbt("run", "--vars", f"{{run: {number}}}", *arguments)

    def purge(self, retention: str | None, table: str = "kept1") -> None:
        given = f", retention: {retention}" if retention else ""
        self.project.dbt("run-operation", "purge_tombstones", "--args", f"{{model: {table}{given}}}")

    def age(self, table: str, where: str = "true", hours: int = 72) -> None:
        """Time passes for what a ledger holds."""
        aging = f"set _dbt_cdc_processed_at = _dbt_cdc_processed_at - interval {hours} hours"
        self.project.sql(f"update {{schema}}.{table}__events {aging} where {where}")

    def look(self, step: str) -> None:
        self.seen[step] = {
            table: self.project.rows(f"select * from {{schema}}.{table} order by id{', 3' if table[-1] == '2' else ''}")
            for table in REMEMBERED.get(step, {})
        }
        if step in DELETES:
            self.deletes[step] = self.project.rows(
                "select count(*) from {schema}.kept1__events where _dbt_cdc_kind = 'delete'"
            )


def three_batches(memory: Memory) -> None:
    """Batches with a purge that is due in the second of them, and operations before the second and the third."""
    memory.run(0)
    markers = "_dbt_cdc_kind in ('begun', 'applied', 'purged')"
    for table in ("young1", "young2"):
        # two days is the retention by default
        memory.age(table, "id = 1", hours=49)
        memory.age(table, "id = 2 or (id = 4 and _dbt_cdc_sequence = 10)", hours=47)
        memory.age(table, "id = 4 and _dbt_cdc_sequence = 20", hours=49)
        memory.age(table, markers)
    memory.age("dated", markers)
    for table, retention in (("night1", None), ("month1", "30 days")):
        memory.age(table, f"id = 1 or {markers}")
        memory.purge(retention, table)
        memory.age(table, "id = 2")
    memory.run(1)
    memory.look("the second batch")
    for table in BATCHES:
        marked = f"select _dbt_cdc_kind, count(*) from {{schema}}.{table}__events where {markers}"
        memory.batches[table] = memory.project.rows(f"{marked} group by _dbt_cdc_kind order by 1")
    memory.age("kept1", "id = 4 and _dbt_cdc_sequence = 20")
    memory.purge("1 hour")
    memory.look("a purge of deletes older than an hour")
    memory.purge("0 seconds")
    memory.look("a purge of all deletes")
    memory.run(2, "--select", *REMEMBERED["the third batch"])
    memory.look("the third batch")


def a_killed_run(memory: Memory) -> None:
    """A run that was killed when it had recorded a delete, and the runs that follow."""
    killed = "(3, 9, 'delete', 0L, 'killed', now()), (null, null, 'begun', null, 'killed', now())"
    names = "id, _dbt_cdc_sequence, _dbt_cdc_kind, _dbt_cdc_hash, _dbt_cdc_batch, _dbt_cdc_processed_at"
    memory.project.sql(f"insert into {{schema}}.kept1__events ({names}) values {killed}")
    memory.purge("0 seconds")
    memory.look("a purge before the table shows what a killed run recorded")
    memory.run(2, "--select", "kept1")
    memory.look("the run after one that was killed")
    memory.age("kept1")
    upserts = "select id, _dbt_cdc_sequence from {schema}.emptied1__events where _dbt_cdc_kind = 'upsert' order by 1, 2"
    memory.emptied["late"] = memory.project.rows(upserts)
    # late events that another run has recorded, which saw neither the truncate nor what is newer
    late = ", ".join(f"({key}, {sequence}, 'upsert', 0L, 'other', now())" for key, sequence in ((1, 3), (2, 6)))
    memory.project.sql(f"insert into {{schema}}.emptied1__events ({names}) values {late}")
    memory.age("emptied1", "_dbt_cdc_kind in ('upsert', 'truncate')")
    memory.purge("0 seconds", "emptied1")
    memory.emptied["nothing new"] = memory.project.rows(upserts)
    memory.run(3, "--select", "kept1", "kept2", "emptied1")
    memory.purge("0 seconds", "emptied1")
    memory.emptied["a truncate"] = memory.project.rows(upserts)
    memory.look("the fourth batch")


@pytest.fixture(scope="module")
def memory(spark: SparkSession, target: dict[str, Any]) -> Iterator[Memory]:
    with shared_project(spark, target) as project:
        project.write({f"models/{name}.sql": text for name, text in MODELS.items()})
        memory = Memory(project)
        three_batches(memory)
        a_killed_run(memory)
        yield memory


@pytest.mark.one_format("iceberg")
@pytest.mark.parametrize(("step", "table"), [(step, table) for step, tables in REMEMBERED.items() for table in tables])
def test_deletes_are_remembered_until_their_retention_and_versions_keep_their_ends_after(
    memory: Memory, step: str, table: str
) -> None:
    assert memory.seen[step][table] == REMEMBERED[step][table]


@pytest.mark.one_format("iceberg")
@pytest.mark.parametrize("step", DELETES)
def test_a_purge_forgets_the_deletes_whose_retention_is_over_after(memory: Memory, step: str) -> None:
    assert memory.deletes[step] == [(DELETES[step],)]


@pytest.mark.one_format("iceberg")
@pytest.mark.parametrize("table", BATCHES)
def test_a_purge_forgets_that_old_batches_are_done_and_old_purges_and_not_that_this_one_is(
    memory: Memory, table: str
) -> None:
    assert memory.batches[table] == [
        ("applied", BATCHES[table]),
        ("begun", BATCHES[table]),
        ("purged", 1),
    ]


@pytest.mark.one_format("iceberg")
def test_a_purge_looks_at_keys_with_events_since_the_last_one_and_after_a_truncate_at_all(memory: Memory) -> None:
    # truncated up to 5, then up to 7; what comes late is not recorded
    assert memory.emptied == {"late": [(2, 7)], "nothing new": [(1, 3), (2, 6), (2, 7)], "a truncate": []}


#: A feed that is given whole in each run, and the last events of each key that its ledger has by then.
WHOLE = (
    "(1, 'a', 'U', 1), (1, 'b', 'U', 5), (2, 'a', 'U', 1), (2, 'b', 'U', 3), (2, null, 'D', 5),"
    " (3, null, 'D', 1), (3, 'b', 'U', 3), (3, null, 'D', 5), (4, 'a', 'U', 1), (4, null, 'D', 3), (4, 'b', 'U', 5), (4, 'c', 'U', 6)"
)


@pytest.mark.one_format("iceberg")
def test_a_whole_feed_given_again_and_again_is_recorded_once(project: Project) -> None:
    kinds = {"whole1": {}, "whole_nulls1": {"ignore_null_updates": True}, "whole2": {"stored_as_scd_type": 2}}
    project.write({f"models/{name}.sql": model(COLUMNS, [WHOLE], **more, **AT_ONCE) for name, more in kinds.items()})
    for _ in range(3):  # the second and the third have a purge that forgets deletes, with what they outdid
        project.dbt("run", "--vars", "{run: 0}")
    events = "select id, _dbt_cdc_sequence, _dbt_cdc_kind from {schema}.%s__events where id is not null order by 1, 2"
    every = [
        (int(key), int(sequence), {"U": "upsert", "D": "delete"}[kind])
        for key, kind, sequence in re.findall(r"\((\d), \S+, '(.)', (\d)\)", WHOLE)
    ]
    deleted = {(2, 1), (2, 3), (3, 3), (4, 1)}  # by an event that comes again with them
    outdone = {(1, 1), (4, 3), (4, 5)}  # by one that is never forgotten
    assert project.rows(events % "whole1") == [event for event in every if event[:2] not in deleted | outdone]
    assert project.rows(events % "whole_nulls1") == [event for event in every if event[:2] not in deleted]
    assert project.rows(events % "whole2") == every
    assert project.rows("select * from {schema}.whole1 order by id") == [(1, "b"), (4, "c")]
    assert project.rows("select * from {schema}.whole_nulls1 order by id") == [(1, "b"), (4, "c")]
    assert project.rows("select * from {schema}.whole2 order by 1, 3") == [
        (1, "a", 1, 5),
        (1, "b", 5, None),
        (2, "a", 1, 3),
        (2, "b", 3, 5),
        (3, "b", 3, 5),
        (4, "a", 1, 3),
        (4, "b", 5, 6),
        (4, "c", 6, None),
    ]


@pytest.mark.only_format("iceberg")
def test_a_purge_writes_as_the_properties_of_the_model_say(memory: Memory) -> None:
    marked = "select count_if(summary['added-position-deletes'] is not null) > 0 from {schema}.%s__events.snapshots"
    assert [memory.project.rows(marked % table) for table in ("kept1", "forgot1")] == [[(True,)], [(False,)]]


@pytest.mark.one_format("iceberg")
def test_a_purge_says_that_it_waits_for_a_run_that_was_killed(memory: Memory) -> None:
    assert "kept1: nothing purged, a run that was killed" in memory.project.log()


@pytest.mark.one_format("iceberg")
def test_a_purge_of_an_unknown_model_names_the_one_meant(memory: Memory) -> None:
    # dbt says why in its log alone
    memory.project.error("run-operation", "purge_tombstones", "--args", "{model: kept3}")
    assert "unknown apply_changes model 'kept3', did you mean 'kept" in memory.project.log()


@pytest.mark.one_format("iceberg")
def test_a_retention_that_is_none_is_told_before_any_table_is_purged(memory: Memory) -> None:
    project = memory.project
    before = {table: project.contents(f"{table}__events") for table in ("kept1", "forgot1")}
    project.error("run-operation", "purge_tombstones", "--args", "{retention: 0}")
    assert "retention must be a number and a unit such as '2 days', got 0" in project.new_log()
    assert {table: project.contents(f"{table}__events") for table in before} == before


@pytest.mark.one_format("iceberg")
def test_images_become_versions_and_missing_keys_deletes(project: Project) -> None:
    runs = [
        "(1, 'a', 1), (2, 'b', 1), (1, 'a', 2), (3, 'c', 2)",
        "(1, 'z', 3), (2, 'b', 3)",
        # all images again, with those that are older than the last one
        "(1, 'a', 1), (2, 'b', 1), (1, 'a', 2), (3, 'c', 2), (1, 'z', 3), (2, 'b', 3)",
    ]
    # a key that is not in one image of several
    gaps = ["(1, 'a', 1), (2, 'b', 1), (2, 'b', 2), (1, 'a', 3), (2, 'b', 3)", "(1, 'a', 4), (1, 'a', 5), (2, 'b', 5)"]
    picked = ["(1, 'a', 1), (1, 'b', 1)", "(1, 'b', 2), (1, 'a', 2)"]
    # a version of two parts, of which the first one counts more; a batch again, and an image that comes late
    parts = [
        "(1, 'a', 1, 9), (2, 'b', 1, 9), (1, 'a', 1, 10), (3, 'c', 1, 10)",
        "(1, 'z', 2, 1), (2, 'b', 2, 1)",
        "(1, 'a', 1, 10), (3, 'c', 1, 10), (1, 'z', 2, 1), (2, 'b', 2, 1)",
        "(1, 'late', 1, 11)",
    ]
    of_parts = {"sequence_by": ["Day", "nr"], "source_kind": "snapshot", "except_column_list": ["day", "nr"]}
    columns = "id, v, ver"
    empty = (
        "{% if var('run') == 0 %} select * from values (1, 'a', 1), (2, 'b', 1) as t(id, v, ver) {% else %}"
        "select * from values (0, '', 0) as t(id, v, ver) where false {% endif %}"
    )
    project.write(
        {
            "models/images1.sql": model(columns, runs, **IMAGES),
            "models/images2.sql": model(columns, runs, stored_as_scd_type=2, **IMAGES),
            "models/parts1.sql": model("id, v, day, nr", parts, **of_parts),
            "models/parts2.sql": model("id, v, day, nr", parts, stored_as_scd_type=2, **of_parts),
            "models/gaps2.sql": model(columns, [*gaps, gaps[1]], stored_as_scd_type=2, **IMAGES),
            "models/picked.sql": model(
                columns, [*picked, picked[1]], stored_as_scd_type=2, on_conflict="resolve", **IMAGES
            ),
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
            assert project.rows("select * from {schema}.gaps2 order by id, 3") == [
                (1, "a", 1, 2),
                (1, "a", 3, None),
                (2, "b", 1, None),
            ]
            # part of an image would say that all other keys are gone
            for part in ("--empty", "--sample=1 day"):
                project.dbt("run", part, "--select", "images1", "emptied2", "--vars", "{run: 1}")
                assert project.rows("select * from {schema}.images1 order by id") == [(1, "a"), (3, "c")]
                live = [(1, "a", 1, None), (2, "b", 1, None)]
                assert project.rows("select * from {schema}.emptied2 order by id") == live
    assert project.rows("select * from {schema}.images1 order by id") == [(1, "z"), (2, "b")]
    # an image that is given again leaves no more of itself
    begun = "select count(*), max(_dbt_cdc_sequence) from {schema}.images1__events where _dbt_cdc_kind = 'begun'"
    assert project.rows(begun) == [(3, 3)]
    assert project.rows("select * from {schema}.images2 order by id, 3") == [
        (1, "a", 1, 3),
        (1, "z", 3, None),
        (2, "b", 1, 2),
        (2, "b", 3, None),
        (3, "c", 2, 3),
    ]
    late = project.error("run", "--select", "parts1", "parts2", "--vars", "{run: 3}")
    older = "the image's version {'version':{'day':1,'nr':11}} is older than the last one applied, {'version':{'day':2,'nr':1}}"
    assert late.replace('"', "'").count(older) == 2, late
    assert project.rows("select * from {schema}.parts1 order by id") == [(1, "z"), (2, "b")]
    assert project.rows("select * from {schema}.parts2 order by id, 3") == [
        (1, "a", (1, 9), (2, 1)),
        (1, "z", (2, 1), None),
        (2, "b", (1, 9), (1, 10)),
        (2, "b", (2, 1), None),
        (3, "c", (1, 10), (2, 1)),
    ]
    assert project.rows("select * from {schema}.gaps2 order by id, 3") == [
        (1, "a", 1, 2),
        (1, "a", 3, None),
        (2, "b", 1, 4),
        (2, "b", 5, None),
    ]
    # one of two rows of a key, the same one in every image
    assert project.rows("select id, __START_AT, __END_AT from {schema}.picked") == [(1, 1, None)]
    assert project.rows("select count(*) from {schema}.picked__events where _dbt_cdc_kind = 'upsert'") == [(1,)]
    assert project.rows("select * from {schema}.unnamed order by id") == [(1, "a"), (2, "b")]
    assert project.rows("select * from {schema}.emptied2 order by id") == [(1, "a", 1, 7), (2, "b", 1, 7)]

"""The rule, by the spec's examples: the result depends on the set of events given, never on runs or order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.project import Project

#: id, name, role, country, op, seq
EMPLOYEES = [
    (1, "Alex", "chef", "FR", "INSERT", 1),
    (2, "Jessica", "owner", "US", "INSERT", 2),
    (3, "Mikhail", "security", "UK", "INSERT", 3),
    (4, "Gary", "cleaner", "UK", "INSERT", 4),
    (5, "Chris", "owner", "NL", "INSERT", 6),
    (5, "Chris", "manager", "NL", "UPDATE", 5),
    (6, "Pat", "mechanic", "NL", "DELETE", 8),
    (6, "Pat", "mechanic", "NL", "INSERT", 7),
]

EMPLOYEES_SCD1 = [
    (1, "Alex", "chef", "FR"),
    (2, "Jessica", "owner", "US"),
    (3, "Mikhail", "security", "UK"),
    (4, "Gary", "cleaner", "UK"),
    (5, "Chris", "owner", "NL"),
]

EMPLOYEES_SCD2 = [
    (1, "Alex", "chef", "FR", 1, None),
    (2, "Jessica", "owner", "US", 2, None),
    (3, "Mikhail", "security", "UK", 3, None),
    (4, "Gary", "cleaner", "UK", 4, None),
    (5, "Chris", "manager", "NL", 5, 6),
    (5, "Chris", "owner", "NL", 6, None),
    (6, "Pat", "mechanic", "NL", 7, 8),
]

#: case: (runs of events "value, sequence" where no value is a delete; the versions)
CASES: dict[str, tuple[list[list[tuple[str | None, int]]], list[tuple[str, int, int | None]]]] = {
    "late before the first": ([[("a", 10)], [("b", 5)]], [("b", 5, 10), ("a", 10, None)]),
    "early delete": (
        [[("a", 10), (None, 20)], [(None, 15)], [("z", 17)]],
        [("a", 10, 15), ("z", 17, 20)],
    ),
    "delete before its insert": ([[(None, 20)], [("x", 10)]], [("x", 10, 20)]),
    "delete wins": ([[("a", 10), (None, 10)]], []),
    "swallowed events come back": (
        [[("A", 5), ("A", 10), ("A", 15)], [("C", 20)], [("B", 12)]],
        [("A", 5, 12), ("B", 12, 15), ("A", 15, 20), ("C", 20, None)],
    ),
    "reinsert": ([[("a", 1)], [(None, 5)], [("b", 9)]], [("a", 1, 5), ("b", 9, None)]),
    "between delete and reinsert": (
        [[("a", 1), (None, 5), ("b", 9)], [("x", 7)]],
        [("a", 1, 5), ("x", 7, 9), ("b", 9, None)],
    ),
    "late delete": ([[("a", 1), ("a", 9)], [(None, 5)]], [("a", 1, 5), ("a", 9, None)]),
    "late event that joins its neighbours": (
        [[("a", 1), ("a", 9)], [("b", 5)]],
        [("a", 1, 5), ("b", 5, 9), ("a", 9, None)],
    ),
}


def model(where: str, scd: int, unique_key: Any, **options: Any) -> str:
    meta = {"sequence_by": "seq", "stored_as_scd_type": scd, **options}
    return (
        "{{ config(materialized='apply_changes', unique_key="
        + repr(unique_key)
        + ", meta={'dbt_cdc': "
        + repr(meta)
        + "}) }}\n"
        "select * except (run) from {{ target.schema }}.feed where " + where
    )


@pytest.mark.one_format("delta")
def test_the_employees_feed_gives_both_tables(project: Project) -> None:
    if project.file_format == "delta":  # a file of a first run that was killed while it wrote its ledger
        place = dict(project.rows("describe schema {schema}"))["Location"].removeprefix("file:")
        leftover = Path(place) / "scd1__events/part-0.parquet"
        leftover.parent.mkdir(parents=True)
        leftover.touch()
    options = {"apply_as_deletes": "op = 'DELETE'", "except_column_list": ["op", "seq"]}
    project.write(
        {
            "models/scd1.sql": model("true", 1, "id", **options),
            "models/scd2.sql": model("true", 2, "id", **options),
        }
    )
    values = ", ".join(str((*event, 1)) for event in EMPLOYEES)
    project.sql(
        f"create table {{schema}}.feed as select * from values {values} as t(id, name, role, country, op, seq, run)"
    )
    project.dbt("run")
    assert project.rows("select * from {schema}.scd1 order by id") == EMPLOYEES_SCD1
    assert project.columns("scd1") == [
        ("id", "int"),
        ("name", "string"),
        ("role", "string"),
        ("country", "string"),
    ]
    assert project.rows("select * from {schema}.scd2 order by id, __START_AT") == EMPLOYEES_SCD2
    assert project.columns("scd2") == [*project.columns("scd1"), ("__START_AT", "int"), ("__END_AT", "int")]
    assert project.tables() == {"feed", "scd1", "scd1__events", "scd2", "scd2__events"}
    first = project.run_results()["scd2"]
    assert first["message"] == "APPLY CHANGES (8 events: 7 inserted, 0 updated, 0 deleted)"
    assert first["adapter_response"]["rows_affected"] == 7

    project.dbt("run")  # the same batch again
    assert project.rows("select * from {schema}.scd1 order by id") == EMPLOYEES_SCD1
    assert project.rows("select * from {schema}.scd2 order by id, __START_AT") == EMPLOYEES_SCD2
    assert project.run_results()["scd2"]["message"] == "APPLY CHANGES (8 events: 0 inserted, 0 updated, 0 deleted)"


@pytest.mark.one_format("iceberg")
def test_the_examples_give_the_same_in_their_runs_in_one_run_and_backwards(project: Project) -> None:
    rows, expected = [], []
    for case, (runs, versions) in CASES.items():
        last = len(runs) - 1
        for order in ("split", "whole", "backwards"):
            key = f"{case}, {order}"
            for number, events in enumerate(runs):
                run = {"split": number, "whole": 0, "backwards": last - number}[order]
                rows += [(key, value, sequence, run) for value, sequence in events]
            expected += [(key, *version) for version in versions]
    values = ", ".join(f"('{k}', {'null' if v is None else repr(v)}, {s}, {r})" for k, v, s, r in rows)
    project.sql(f"create table {{schema}}.feed as select * from values {values} as t(id, v, seq, run)")
    options = {"apply_as_deletes": "v is null", "except_column_list": ["seq"]}
    where = "run = {{ var('run') }}"
    project.write(
        {
            "models/scd1.sql": model(where, 1, "id", **options),
            "models/scd2.sql": model(where, 2, ["id"], **options),
        }
    )
    for run in (0, 1, 2):
        project.dbt("run", "--vars", f"{{run: {run}}}")
    live = sorted((key, value) for key, value, _, end in expected if end is None)
    assert project.rows("select * from {schema}.scd2 order by id, __START_AT") == sorted(
        expected, key=lambda r: (r[0], r[2])
    )
    assert project.rows("select * from {schema}.scd1 order by id") == live


@pytest.mark.one_format("delta")
def test_no_rows_change_nothing_a_full_refresh_starts_from_nothing_and_other_keys_stay(project: Project) -> None:
    options = {"apply_as_deletes": "v is null", "except_column_list": ["seq"]}
    where = "run = {{ var('run') }}"
    from_source = {
        f"models/scd{scd}.sql": model(where, scd, "id", **options).replace(
            "{{ target.schema }}.feed", "{{ source('raw', 'feed') }}"
        )
        for scd in (1, 2)
    }
    sources = "sources: [{name: raw, schema: '{{ target.schema }}', tables: [{name: feed}]}]"
    project.write({**from_source, "models/sources.yml": sources})
    rows = "(1, 'a', 5, 1), (2, 'b', 5, 1), (1, 'c', 7, 2), (2, 'd', 7, 2), (1, 'z', 6, 3)"
    feed = f"values {rows} as t(id, v, seq, run)"
    project.sql("create table {schema}.feed as select * from " + feed)
    project.dbt("run", "--vars", "{run: 0}")  # a first batch without rows
    assert project.rows("select * from {schema}.scd1") == project.rows("select * from {schema}.scd2") == []
    assert project.columns("scd2") == [("id", "int"), ("v", "string"), ("__START_AT", "int"), ("__END_AT", "int")]

    project.dbt("run", "--vars", "{run: 1}")
    events = project.rows("select count(*) from {schema}.scd2__events")
    project.dbt("run", "--vars", "{run: 2}", "--empty")  # new rows are there, none is read
    assert project.run_results()["scd2"]["message"] == "APPLY CHANGES (0 events: 0 inserted, 0 updated, 0 deleted)"
    project.dbt("run", "--vars", "{run: 9}")
    assert project.rows("select * from {schema}.scd1 order by id") == [(1, "a"), (2, "b")]
    assert project.rows("select * from {schema}.scd2 order by id") == [(1, "a", 5, None), (2, "b", 5, None)]
    assert project.rows("select count(*) from {schema}.scd2__events") == events

    project.dbt("run", "--vars", "{run: 2}", "--full-refresh")
    for table in ("scd1", "scd2"):  # a run asks and writes the keys of its events alone
        project.sql(f"update {{schema}}.{table} set v = 'by hand' where id = 2")
    project.dbt("run", "--vars", "{run: 3}")
    assert project.rows("select * from {schema}.scd1 order by id") == [(1, "c"), (2, "by hand")]
    assert project.rows("select * from {schema}.scd2 order by id, 3") == [
        (1, "z", 6, 7),
        (1, "c", 7, None),
        (2, "by hand", 7, None),
    ]
    statements = project.written("scd2", "run")
    in_range = "{}.`id` between cast('1' as int) and cast('1' as int)"
    assert statements.count(in_range.format("target")) == 2  # of the comparison and of the MERGE
    assert in_range.format("recorded") in project.new_log()
    assert project.tables() == {"feed", "scd1", "scd1__events", "scd2", "scd2__events"}

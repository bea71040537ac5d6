"""Delta lets nobody read versions from before the table's retention, whether or not VACUUM has taken any of their files."""

from __future__ import annotations

import json
import re
import time

import pytest

from tests.functional.test_table_changes_ranges import WRITES
from tests.support.changes import Changes, age_commits
from tests.support.statements import watch

pytestmark = pytest.mark.only_format("delta")


def pass_commits(changes: Changes, table: str, commits: int) -> None:
    """Add so many commits without rows, as streams and tools leave them, to a table's log: the first says nothing of itself."""
    log = changes.project.place(table) / "_delta_log"
    last = max(int(file.stem) for file in log.glob("*.json"))
    said = {"operation": "SET TBLPROPERTIES", "operationParameters": {"properties": "{}"}, "isBlindAppend": True}
    for version in range(last + 1, last + 1 + commits):
        info = {"commitInfo": {"timestamp": int(time.time() * 1000), "txnId": str(version), **said}}
        named = {"txn": {"appId": "stream", "version": version}} if version == last + 1 else info
        (log / f"{version:020}.json").write_text(json.dumps(named))
    changes.project.spark.sql(f"refresh table {changes.project.schema}.{table}")


def test_a_long_history_is_read_as_far_as_a_question_reaches(changes: Changes, monkeypatch: pytest.MonkeyPatch) -> None:
    project = changes.project
    model = "{{{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}}} select * from "
    project.write(
        {
            "models/sources.yml": f"sources: [{{name: raw, schema: {project.schema}, tables: [{{name: long}}]}}]",
            "models/reader.sql": model.format()
            + "{{ dbt_cdc.ref_changes(source('raw', 'long'), by='version', unique_key='id') }}",
            "models/logged.sql": """
                {{ config(materialized='apply_changes', unique_key='id', meta={'dbt_cdc': {
                          'sequence_by': 'seq', 'except_column_list': ['seq'], 'change_log': 'data_before_after'}}) }}
                select id, v, {{ var('seq') }} as seq from {{ source('raw', 'long') }}
            """,
        }
    )
    changes.create("long", "id int, v string", feed=True)
    changes.write("long", "insert into {t} values (1, 'a')")
    changes.create("bare", "id int, v string", feed=False)
    changes.write("bare", "insert into {t} values (1, 'a')")
    # how names are mapped is said by its first commit alone
    changes.create("mapped", "id int, v string", properties="'delta.columnMapping.mode' = 'name'")
    changes.write("mapped", "insert into {t} values (1, 'a')")
    project.dbt("run", "--vars", "{seq: 1}")
    for table in ("long", "logged", "bare", "mapped"):
        pass_commits(changes, table, 220)
    changes.write("bare", "update {t} set v = 'b'")
    anew = "create or replace table {t} using delta tblproperties (delta.enableChangeDataFeed = true) as select 1 as id, 'b' as v"
    changes.write("mapped", anew, "update {t} set v = 'c'")
    asked: list[tuple[str, str]] = []
    watch(monkeypatch, lambda sql: asked.extend(re.findall(r"describe history \S+?\.(\w+)( limit \d+)?", sql)))

    def run(seq: int) -> list[tuple[str, str]]:
        asked.clear()
        project.dbt("run", "--vars", f"{{seq: {seq}}}", "--select", "reader", "logged", "--threads", "1")
        return sorted(asked)

    # what was read last lies before the newest commits: then the whole history is asked for
    changes.write("long", "update {t} set v = 'b'")
    one, newest = (" limit 1", " limit 200")
    assert run(2) == [
        ("logged", ""), ("logged", ""), ("logged", one), ("logged", newest), ("logged", newest), ("long", ""), ("long", newest),
    ]  # fmt: skip
    changes.write("long", "insert into {t} values (2, 'c')")
    assert run(3) == [("logged", one), ("logged", newest), ("long", newest)]
    assert project.rows("select * from {schema}.reader order by id") == [(1, "b", "u"), (2, "c", "i")]
    logged = "select op, key.id, before.v, after.v from {schema}.logged__changes order by key.id, ts"
    assert project.rows(logged) == [("i", 1, None, "a"), ("u", 1, "a", "b"), ("i", 2, None, "c")]

    versions = [version for version, _ in changes.commits("long")]
    changes.ask(
        since_the_last="'{schema}.long', unique_key='id', begin=" + versions[-2],
        since_the_first="'{schema}.long', unique_key='id', begin=0",
        all_of_it="'{schema}.long', unique_key='id'",
        of_the_log="ref('logged'), begin='earliest'",
        of_the_bare="'{schema}.bare', unique_key='id', begin=221",
        of_the_mapped="'{schema}.mapped', unique_key='id', begin=221",
    )
    project.dbt("run", "--exclude", "reader", "logged")
    everything = [("i", None, (1, "a")), ("u", (1, "a"), (1, "b")), ("i", None, (2, "c"))]
    assert changes.answer("since_the_last", "long") == [("i", None, (2, "c"))]
    assert changes.answer("since_the_first", "long") == everything
    assert changes.answer("all_of_it", "long") == everything
    assert changes.answer("of_the_log", "logged") == everything
    assert changes.answer("of_the_bare", "bare") == [("u", (1, "a"), (1, "b"))]
    assert changes.answer("of_the_mapped", "mapped") == [("u", (1, "a"), (1, "b")), ("u", (1, "b"), (1, "c"))]


def test_a_range_begins_within_the_retention_and_a_reader_goes_on_from_before_it(
    changes: Changes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for table, feed in {"fed": True, "bare": False, "kept": True}.items():
        properties = "'delta.deletedFileRetentionDuration' = 'interval 10 days'" if table == "kept" else ""
        changes.create(table, "id int, v string", feed=feed, properties=properties)
        changes.write(table, *WRITES[:2])
        age_commits(changes.project, table, 9, 8.5, 8)
    names = "'delta.columnMapping.mode' = 'name'"
    changes.create("shrunk", "id int, v string, w int", feed=True, properties=names)
    changes.write("shrunk", "insert into {t} values (1, 'a', 0)", "insert into {t} values (2, 'b', 0)")
    age_commits(changes.project, "shrunk", 9, 8.5, 8)
    changes.write("shrunk", "insert into {t} values (3, 'c', 0)", "alter table {t} drop column w", WRITES[3])
    changes.create("replaced", "id int, v string")
    changes.write("replaced", "insert into {t} values (1, 'a'), (2, 'b')")
    changes.project.write(
        {
            "models/reader.sql": """
                {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
                select * from {{ dbt_cdc.ref_changes(api.Relation.create(schema=target.schema, identifier='fed'),
                                                     by='version', unique_key='id') }}
            """,
            "models/bare_reader.sql": """
                {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
                select * from {{ dbt_cdc.ref_changes(api.Relation.create(schema=target.schema, identifier='bare'),
                                                     by='version', unique_key='id') }}
            """,
        }
    )
    changes.project.dbt("run")
    for table in ("fed", "bare", "kept"):
        changes.write(table, *WRITES[2:])
    changes.write("replaced", *["insert overwrite {t} values (1, 'a'), (2, 'z')"] * 2)
    age_commits(changes.project, "replaced", 9, 8)
    changes.ask(
        fed_allowed="'{schema}.fed', unique_key='id'",
        fed_gone="'{schema}.fed', unique_key='id', begin=1",
        bare_allowed="'{schema}.bare', unique_key='id', begin=3",
        bare_gone="'{schema}.bare', unique_key='id', begin=2",
        bare_ended="'{schema}.bare', unique_key='id', end=1",
        kept_all="'{schema}.kept', unique_key='id'",
        shrunk_all="'{schema}.shrunk', unique_key='id'",
        replaced_last="'{schema}.replaced', unique_key='id', begin=1",
        replaced_all="'{schema}.replaced', unique_key='id'",
    )
    described: list[str] = []
    watch(monkeypatch, lambda sql: described.extend(re.findall(r"(?s)describe.*\.replaced version as of 2", sql)))
    told = {line.split(":")[0]: line for line in changes.project.error("run").replace("\n  ", " ").splitlines()}
    inserted, updated = ("i", None, (3, "c")), ("u", (1, "a"), (1, "z"))
    assert changes.answer("fed_allowed", "fed") == [inserted, updated]
    gone = re.findall(
        r"(\w+): changes of \S+ up to version (\d) \(.*\) are gone, 'earliest' begins", changes.project.log()
    )
    assert sorted(gone) == [("fed_allowed", "2"), ("replaced_all", "1"), ("shrunk_all", "3")]
    assert (
        "(1, latest] begins before the change feed, expected one that begins at or after version 2 ("
        in told["fed_gone"]
    )
    # where versions are compared, the first is one that can be read
    assert changes.answer("shrunk_all", "shrunk") == [updated]
    assert changes.answer("bare_allowed", "bare") == [updated]
    assert (
        "(2, latest] begins before what can still be read, expected one that begins at or after version 3 ("
        in told["bare_gone"]
    )
    ended = told["bare_ended"]
    assert "(earliest, 1] ends before what can still be read, expected one that begins at or after version 3 (" in ended
    assert "ask for a later `end`" in ended
    first = [("i", None, (1, "a")), ("i", None, (2, "b"))]
    assert changes.answer("kept_all", "kept") == [*first, inserted, updated]
    for answer in ("replaced_last", "replaced_all"):
        assert changes.answer(answer, "replaced") == [("u", (2, "b"), (2, "z"))]
    # each question looks once at the columns that the table had before it was overwritten
    assert len(described) == 2
    # without a feed nothing tells what was deleted since
    assert "without a feed, reads nothing older than delta.deletedFileRetentionDuration: raise" in told["bare_reader"]
    assert changes.project.rows("select * from {schema}.bare_reader order by id") == [(1, "a", "i"), (2, "b", "i")]
    # all was read up to version 2 when that was the latest
    assert changes.project.rows("select * from {schema}.reader order by id") == [
        (1, "z", "u"),
        (2, "b", "i"),
        (3, "c", "i"),
    ]


def test_a_reader_of_a_table_with_a_log_goes_on_from_before_the_retention(changes: Changes) -> None:
    project, modes = changes.project, ("key_op", "data_before", "data_before_after")
    for mode in modes:
        project.write(
            {
                f"models/staff_{mode}.sql": """
                    {{ config(materialized='apply_changes', unique_key='id',
                              tblproperties={'delta.deletedFileRetentionDuration': 'interval 1 second'},
                              meta={'dbt_cdc': {'sequence_by': 'seq', 'change_log': 'MODE'}}) }}
                    select * from values {{ var('rows') }} as t(id, v, seq)
                """.replace("MODE", mode),
                f"models/reader_{mode}.sql": """
                    {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
                    select id, v, _op from {{ dbt_cdc.ref_changes('staff_MODE', by='version') }}
                """.replace("MODE", mode),
            }
        )
    project.dbt("run", "--vars", "{rows: \"(1, 'a', 1), (2, 'b', 1)\"}")
    time.sleep(1)
    project.dbt("run", "--vars", "{rows: \"(1, 'z', 2)\"}", "--select", "staff_key_op", "reader_key_op")
    assert project.rows("select * from {schema}.reader_key_op order by id") == [(1, "z", "u"), (2, "b", "i")]
    assert project.rows("select op, key.id from {schema}.staff_key_op__changes order by ts, 2") == [
        ("i", 1),
        ("i", 2),
        ("u", 1),
    ]
    # what another has written since is in no log yet, and the feed tells it
    for mode in modes[1:]:
        project.sql(f"update {{schema}}.staff_{mode} set v = 'z' where id = 1")
    project.dbt("run", "--vars", "{rows: \"(1, 'z', 2)\"}", "--select", *(f"reader_{mode}" for mode in modes))
    for mode in modes:
        assert project.rows(f"select * from {{schema}}.reader_{mode} order by id") == [(1, "z", "u"), (2, "b", "i")]

"""Hudi, in an environment of its own (pyspark 3.5): the same writes give the same changes as on the other formats."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.project import Project

pytestmark = pytest.mark.skipif("config.getoption('table_format') != 'hudi'", reason="needs --table-format hudi")

HISTORY = (
    "insert into {t} values (1, 'a', {n})",
    "insert into {t} values (2, 'b', null)",
    "update {t} set v = 'c' where id = 1",
    "delete from {t} where id = 2",
    "merge into {t} t using (select * from values (1, 'd'), (3, null) as s (id, v)) s on t.id = s.id"
    " when matched then update set v = s.v when not matched then insert (id, v, n) values (s.id, s.v, null)",
    "insert overwrite {t} select * from values (1, 'd', {n}), (3, 'f', null), (4, 'g', null) as s (id, v, n)",
    "delete from {t} where id = 99",
    "update {t} set v = v where id = 4",
    "insert into {t} values (5, 'x', null)",
    "delete from {t} where id = 5",
    "insert into {t} values (5, 'y', null)",
)

#: id, v of before and after; `n` follows the row: set for id 1, NULL for the rest.
EVERY_CHANGE = [
    ("i", None, (1, "a")),
    ("i", None, (2, "b")),
    ("u", (1, "a"), (1, "c")),
    ("d", (2, "b"), None),
    ("i", None, (3, None)),
    ("u", (1, "c"), (1, "d")),
    ("i", None, (4, "g")),
    ("u", (3, None), (3, "f")),
    ("i", None, (5, "x")),
    ("d", (5, "x"), None),
    ("i", None, (5, "y")),
]
NET = [("i", None, (1, "d")), ("i", None, (3, "f")), ("i", None, (4, "g")), ("i", None, (5, "y"))]

#: A type that Hudi's own CDC query keeps, and one that it loses.
TYPES = {"timestamp": "timestamp '2024-01-01 00:00:00.000001'", "decimal(9,2)": "cast(1.10 as decimal(9,2))"}


def told(project: Project, model: str) -> list[tuple[Any, Any, Any]]:
    rows = project.spark.sql(f"select * from {project.schema}.{model}").collect()
    order = sorted(rows, key=lambda row: (row["version"], row["op"], str(row["before"]), str(row["after"])))
    for image in (image for row in rows for image in (row["before"], row["after"]) if image):
        assert (image["n"] is not None) == (image["id"] == 1)
    return [(row["op"], row["before"] and row["before"][:2], row["after"] and row["after"][:2]) for row in order]


def test_hudi_tables_of_both_types_tell_their_changes(project: Project) -> None:
    fed = "'hoodie.table.cdc.enabled' = 'true', 'hoodie.table.cdc.supplemental.logging.mode' = 'data_before_after', "
    cases = [
        ("cow", "timestamp", fed),
        ("mor", "timestamp", fed),
        ("mor", "decimal(9,2)", fed),
        ("cow", "timestamp", ""),
    ]
    body = "{{ config(materialized='table', file_format='parquet') }} select * from {{ dbt_cdc.table_changes(%s) }}"
    middle = {}
    for number, (kind, type_, feed) in enumerate(cases):
        table = f"{project.schema}.t{number}"
        properties = f"{feed}primaryKey = 'id', type = '{kind}'"
        project.sql(f"create table {table} (id int, v string, n {type_}) using hudi tblproperties ({properties})")
        for statement in HISTORY:
            project.sql(statement.replace("{t}", table).replace("{n}", TYPES[type_]))
        commits = project.rows(f"call show_commits(table => '{table}', limit => 100)")
        middle[number] = sorted(row[0] for row in commits)[2]
        calls = {"cdc": f"'{table}'", "net": f"'{table}', format='net'", "rest": f"'{table}', begin='{middle[number]}'"}
        project.write({f"models/t{number}_{name}.sql": body % call for name, call in calls.items()})
    project.write({"models/wrong.sql": body % f"'{project.schema}.t0', begin='2001-01-01'"})
    message = project.error("run")

    assert "begins before the change feed, expected one that begins at or after" in message
    assert message.count("can't run") == 1, message
    for number, (_, type_, feed) in enumerate(cases):
        if feed:
            assert told(project, f"t{number}_cdc") == EVERY_CHANGE
            assert sorted(told(project, f"t{number}_net"), key=str) == sorted(NET, key=str)
            assert told(project, f"t{number}_rest") == EVERY_CHANGE[3:]
        else:
            assert told(project, f"t{number}_cdc") == NET
        image = f"struct<id:int,v:string,n:{type_}>"
        assert dict(project.columns(f"t{number}_cdc"))["after"] == image

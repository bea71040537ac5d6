"""hash_diff: every row of the operation table, over several loads of one model."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt_cdc._hash_diff_load import Load
from dbt_cdc._hash_diff_tables import Tables
from tests.support.hash_diff import Killed, Model, kill
from tests.support.project import DbtFailed, Project

YAML = """
    models:
      - name: t
        config:
          unique_key: [id]
          persist_docs: {columns: true}
          meta: {dbt_cdc: {effective_date: "{{ var('day') }}", extract_type: "{{ var('extract', 'full') }}"}}
        columns: [{name: V, description: "It's a value"}, {name: w, description: No column}]
"""
MODEL = """
    def model(dbt, spark):
        dbt.config(materialized="hash_diff")
        return dbt.source("landing", "incoming")
"""
SOURCES = """
    sources:
      - {name: landing, schema: "{{ target.schema }}", tables: [{name: incoming}]}
"""


def prepare(project: Project, yaml: str = YAML) -> None:
    project.write({"models/t.py": MODEL, "models/t.yml": yaml, "models/sources.yml": SOURCES})


def load(project: Project, day: str, values: str, extract: str = "full") -> Any:
    """Make `incoming` from a VALUES list, run the model, give what it reported."""
    rows = f"select col1, col2 from values {values}" if values else "select null as col1, null as col2 where false"
    table = f"create or replace table {{schema}}.incoming using {project.file_format}"
    project.sql(f"{table} as select cast(col1 as int) as id, cast(col2 as string) as v from ({rows})")
    project.dbt("run", "--vars", f"{{day: '{day}', extract: {extract}}}")
    return project.run_results()["t"]["adapter_response"]


def current(project: Project) -> list[tuple[Any, ...]]:
    return project.rows("select id, v, operation, cast(eff_start_date as string) from {schema}.t order by id")


def history(project: Project, day: str) -> list[tuple[Any, ...]]:
    return project.rows(
        f"select id, v, operation from {{schema}}.t__history where eff_start_date = date'{day}' order by id"
    )


@pytest.mark.one_format("delta")  # tests/property shows Iceberg
def test_full_loads_tell_inserted_updated_deleted_and_unchanged_rows_apart(project: Project) -> None:
    prepare(project)
    first = load(project, "2020-01-01", "(1, 'a'), (2, 'b'), (3, null)")
    assert first["operations"] == {"I": 3, "U": 0, "D": 0, "X": 0, "N": 0}
    for stage in ("reads and compares the full load of 2020-01-01", "t__history` up to the load"):
        assert stage in project.log()
    assert first["rows_affected"] == 3
    assert current(project) == [
        (1, "a", "I", "2020-01-01"),
        (2, "b", "I", "2020-01-01"),
        (3, None, "I", "2020-01-01"),
    ]
    assert history(project, "2020-01-01") == [(1, "a", "I"), (2, "b", "I"), (3, None, "I")]
    columns = [
        ("keyhash", "string"),
        ("nonkeyhash", "string"),
        ("id", "int"),
        ("v", "string"),
        ("operation", "string"),
        ("eff_start_date", "date"),
    ]
    assert project.columns("t") == columns
    assert project.columns("t__history") == columns
    digests = [
        (1, hashlib.md5(b'{"id":1}').hexdigest(), hashlib.md5(b'{"v":"a"}').hexdigest()),
        (2, hashlib.md5(b'{"id":2}').hexdigest(), hashlib.md5(b'{"v":"b"}').hexdigest()),
        (3, hashlib.md5(b'{"id":3}').hexdigest(), hashlib.md5(b"{}").hexdigest()),
    ]
    for table in ("t", "t__history"):
        assert project.rows(f"select id, keyhash, nonkeyhash from {{schema}}.{table} order by id") == digests
    assert project.tables() == {"incoming", "t", "t__base", "t__history"}
    for table in ("t", "t__base", "t__history"):
        described = {row[0]: row[2] for row in project.rows(f"describe table {{schema}}.{table}")}
        assert described["v"] == "It's a value"

    second = load(project, "2020-01-02", "(1, 'a'), (2, 'B'), (4, 'd')")
    assert second["operations"] == {"I": 1, "U": 1, "D": 1, "X": 0, "N": 1}
    assert current(project) == [
        (1, "a", "N", "2020-01-01"),
        (2, "B", "U", "2020-01-02"),
        (4, "d", "I", "2020-01-02"),
    ]
    assert history(project, "2020-01-02") == [(2, "B", "U"), (3, None, "D"), (4, "d", "I")]

    third = load(project, "2020-01-03", "(1, 'a'), (2, 'b'), (3, null), (4, 'd')")
    assert third["operations"] == {"I": 1, "U": 1, "D": 0, "X": 0, "N": 2}
    assert current(project) == [
        (1, "a", "N", "2020-01-01"),
        (2, "b", "U", "2020-01-03"),
        (3, None, "I", "2020-01-03"),
        (4, "d", "N", "2020-01-02"),
    ]
    nothing = load(project, "2020-01-04", "(1, 'a'), (2, 'b'), (3, null), (4, 'd')")
    assert nothing["operations"] == {"I": 0, "U": 0, "D": 0, "X": 0, "N": 4}
    assert nothing["rows_affected"] == 0
    assert {row[2] for row in current(project)} == {"N"}
    assert history(project, "2020-01-04") == []

    before = current(project)
    project.sql("delete from {schema}.incoming where id > 1")
    for part in ("--empty", "--sample=1 day"):
        project.dbt("run", part, "--vars", "day: '2020-01-05'")
        dry = project.run_results()["t"]["adapter_response"]
        assert dry["operations"] == {"I": 0, "U": 0, "D": 0, "X": 0, "N": 0}
        assert current(project) == before
        assert history(project, "2020-01-05") == []

    gone = load(project, "2020-01-05", "")
    assert gone["operations"] == {"I": 0, "U": 0, "D": 4, "X": 0, "N": 0}
    assert current(project) == []
    assert history(project, "2020-01-05") == [(1, "a", "D"), (2, "b", "D"), (3, None, "D"), (4, "d", "D")]
    back = load(project, "2020-01-06", "(1, 'a')")
    assert back["operations"] == {"I": 1, "U": 0, "D": 0, "X": 0, "N": 0}
    assert current(project) == [(1, "a", "I", "2020-01-06")]
    assert len(project.rows("select * from {schema}.t__history")) == 3 + 3 + 2 + 0 + 4 + 1


@pytest.mark.one_format("iceberg")
def test_deltas_leave_what_they_do_not_supply_and_read_it_as_x(project: Project) -> None:
    prepare(project)
    # dbt's dry run makes the tables and loads nothing: any date may be the first
    project.sql(f"create table {{schema}}.incoming using {project.file_format} as select 1 as id, 'a' as v")
    for _ in range(2):
        project.dbt("run", "--empty", "--vars", "day: '2030-01-01'")
        dry = project.run_results()["t"]
        assert dry["message"] == "--empty or --sample: nothing loaded"
        assert dry["adapter_response"]["operations"] == {"I": 0, "U": 0, "D": 0, "X": 0, "N": 0}
        assert project.tables() == {"incoming", "t", "t__base", "t__history"}
        for table in ("t", "t__history"):
            assert project.rows(f"select keyhash, nonkeyhash, id, v, operation from {{schema}}.{table}") == []
    # nor does a first load that is refused take them away
    made = project.tables()
    with pytest.raises(DbtFailed, match="2 rows share their key with another row"):
        load(project, "2020-01-01", "(1, 'a'), (1, 'b')", "delta")
    assert project.tables() == made
    first = load(project, "2020-01-01", "(1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')", "delta")
    assert first["operations"] == {"I": 4, "U": 0, "D": 0, "X": 0, "N": 0}
    assert history(project, "2020-01-01") == [(1, "a", "I"), (2, "b", "I"), (3, "c", "I"), (4, "d", "I")]
    second = load(project, "2020-01-02", "(1, 'a'), (2, 'B'), (5, 'e')", "delta")
    assert second["operations"] == {"I": 1, "U": 1, "D": 0, "X": 2, "N": 1}
    assert current(project) == [
        (1, "a", "N", "2020-01-01"),
        (2, "B", "U", "2020-01-02"),
        (3, "c", "X", "2020-01-01"),
        (4, "d", "X", "2020-01-01"),
        (5, "e", "I", "2020-01-02"),
    ]
    assert history(project, "2020-01-02") == [(2, "B", "U"), (5, "e", "I")]
    empty = load(project, "2020-01-03", "", "delta")
    assert empty["operations"] == {"I": 0, "U": 0, "D": 0, "X": 5, "N": 0}
    assert {row[2] for row in current(project)} == {"X"}
    full = load(project, "2020-01-04", "(1, 'a'), (3, 'c')")
    assert full["operations"] == {"I": 0, "U": 0, "D": 3, "X": 0, "N": 2}
    returned = load(project, "2020-01-05", "(2, 'B')", "delta")
    told = "delta load of 2020-01-05: 1 I, 0 U, 0 D, 2 X, 0 N"
    assert project.run_results()["t"]["message"] == told and f"[{told} in " in project.new_log()
    assert returned["operations"] == {"I": 1, "U": 0, "D": 0, "X": 2, "N": 0}
    assert current(project) == [
        (1, "a", "X", "2020-01-01"),
        (2, "B", "I", "2020-01-05"),
        (3, "c", "X", "2020-01-01"),
    ]


ODD_YAML = """
    models:
      - name: t
        config:
          unique_key: [id.x]
          meta: {dbt_cdc: {effective_date: "{{ var('day') }}", sensitive_columns: ["größe`"]}}
        columns: [{name: small, data_type: smallint}]
"""
ODD = """
    select id as `id.x`, cast(id as string) as small, 'd' as old_eff_start_date, 'o' as old_operation,
        'k' as old_keyhash, 'n' as old_nonkeyhash, past, 'g' as `größe```, chosen as `select`, 'it''s' as `with "space`,
        named_struct('first-name', 'Ann', 'all', array(named_struct('last name', cast(1 as tinyint)))) as name {more}
    from values {rows} as (id, past, chosen)
"""


def test_names_that_need_quotes_and_types_that_a_format_widens_are_taken_as_they_are(project: Project) -> None:
    def supply(day: str, rows: str, more: str = "") -> Any:
        query = " ".join(ODD.replace("{rows}", rows).replace("{more}", more).split())
        text = f"""
            def model(dbt, spark):
                dbt.config(materialized="hash_diff")
                return spark.sql({query!r})
        """
        project.write({"models/t.py": text, "models/t.yml": ODD_YAML})
        project.dbt("run", "--vars", f"day: '{day}'")
        return project.run_results()["t"]["adapter_response"]["operations"]

    assert supply("2020-01-01", "(1, 'p', 'a'), (2, 'p', 'b'), (3, 'p', 'c')") == {
        "I": 3, "U": 0, "D": 0, "X": 0, "N": 0}  # fmt: skip
    late = ", if(id = 4, named_struct('x-y', map('a.b', 1), 'at', timestamp_ntz'2020-01-01 00:00:00'), null) as `late, ``one``.`"
    for _ in range(2):  # the second time, rows go back to what they were
        assert supply("2020-01-02", "(1, 'p', 'A'), (2, 'p', 'b'), (4, 'p', 'd')", late) == {
            "I": 1, "U": 1, "D": 1, "X": 0, "N": 1}  # fmt: skip
    names = ["id.x", "small", "old_eff_start_date", "old_operation", "old_keyhash", "old_nonkeyhash", "past", "select",
             'with "space', "name", "late, `one`."]  # fmt: skip
    columns = ["keyhash", "nonkeyhash", *names, "operation", "eff_start_date"]
    assert [name for name, _ in project.columns("t")] == columns
    # a table's new columns come last
    assert [name for name, _ in project.columns("t__history")] == [*(c for c in columns if c != names[-1]), names[-1]]
    small = "smallint" if project.file_format == "delta" else "int"
    assert dict(project.columns("t"))["small"] == small
    values = (
        '`id.x`, small, old_operation, past, `select`, `with "space`, name.`first-name`, name.all[0].`last name`,'
        " `late, ``one``.`.`x-y`['a.b'], operation"
    )
    same = ("o", "p"), ("it's", "Ann", 1)
    assert project.rows(f"select {values} from {{schema}}.t order by 1") == [
        (1, 1, *same[0], "A", *same[1], None, "U"),
        (2, 2, *same[0], "b", *same[1], None, "N"),
        (4, 4, *same[0], "d", *same[1], 1, "I"),
    ]
    day = "where eff_start_date = date'2020-01-02'"
    assert project.rows(f"select {values} from {{schema}}.t__history {day} order by 1") == [
        (1, 1, *same[0], "A", *same[1], None, "U"),
        (3, 3, *same[0], "c", *same[1], None, "D"),
        (4, 4, *same[0], "d", *same[1], 1, "I"),
    ]
    assert project.rows("select `größe```, count(*) from {schema}.t__sensitive group by 1") == [("g", 3)]


@pytest.mark.one_format("delta")  # which takes these so
def test_columns_that_a_format_takes_only_with_properties_come_to_a_plain_table_in_one_load(project: Project) -> None:
    def supply(day: str, late: str = "") -> None:
        text = f"""
            def model(dbt, spark):
                dbt.config(materialized="hash_diff", unique_key="id", meta={{"dbt_cdc": {{"effective_date": "{day}"}}}})
                return spark.sql("select 1 as id, 'a' as v{late}")
        """
        project.write({"models/t.py": text})
        project.dbt("run")

    supply("2020-01-01")
    told = "full load of 2020-01-01: 1 I, 0 U, 0 D, 0 X, 0 N"
    assert project.run_results()["t"]["message"] == told and f"[{told} in " in project.new_log()
    supply("2020-01-02", ", timestamp_ntz'2020-01-02 10:00:00' as `seen at`")
    columns = ["keyhash", "nonkeyhash", "id", "v", "seen at", "operation", "eff_start_date"]
    assert [name for name, _ in project.columns("t")] == columns
    assert ("seen at", "timestamp_ntz") in project.columns("t__history")
    seen = datetime(2020, 1, 2, 10)
    assert project.rows("select id, v, `seen at`, operation from {schema}.t") == [(1, "a", seen, "U")]
    assert project.rows("select id, v, `seen at`, operation from {schema}.t__history order by eff_start_date") == [
        (1, "a", None, "I"),
        (1, "a", seen, "U"),
    ]


@pytest.mark.only_format("iceberg")  # Delta's tables lie in the session's catalog, which has views
def test_in_a_catalog_without_views_the_model_is_a_table(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"plain_{project.schema}"
    for key, value in {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "hadoop",
        ".warehouse": str(project.folder / "hadoop"),
    }.items():
        project.spark.conf.set(f"spark.sql.catalog.{name}{key}", value)
    project.spark.sql(f"create schema {name}.s")
    options = {"model_type": None, "sensitive_columns": ["s"]}
    loaded = Model(project.spark, f"{name}`.`s", "iceberg", **options)
    loaded.load("2020-01-01", {1: ("a", "x"), 2: ("b", "y"), 3: ("c", "z")})
    rows = project.spark.sql(f"select id, v, operation, cast(eff_start_date as string) from {name}.s.t order by id")
    assert [tuple(row) for row in rows.collect()] == [
        (1, "a", "I", "2020-01-01"),
        (2, "b", "I", "2020-01-01"),
        (3, "c", "I", "2020-01-01"),
    ]
    loaded.load("2020-01-02", {1: ("a", "x"), 2: ("b", "new"), 4: ("d", "w")}, model_type="table")

    tables = {row.tableName for row in project.spark.sql(f"show tables in {name}.s").collect()}
    assert tables == {"t", "t__base", "t__history", "t__sensitive", "t__sensitive_base"}
    rows = project.spark.sql(f"select id, v, operation, cast(eff_start_date as string) from {name}.s.t order by id")
    assert [tuple(row) for row in rows.collect()] == [
        (1, "a", "N", "2020-01-01"),
        (2, "b", "U", "2020-01-02"),
        (4, "d", "I", "2020-01-02"),
    ]
    hidden = project.spark.sql(
        f"select t.id, s.s from {name}.s.t join {name}.s.t__sensitive s using (keyhash) order by 1"
    )
    assert [tuple(row) for row in hidden.collect()] == [(1, "x"), (2, "new"), (4, "w")]
    loaded.load("2020-01-03", {4: ("d", "w")}, "delta", model_type="table")
    rows = project.spark.sql(f"select id, operation, cast(eff_start_date as string) from {name}.s.t order by id")
    assert [tuple(row) for row in rows.collect()] == [
        (1, "X", "2020-01-01"),
        (2, "X", "2020-01-02"),
        (4, "N", "2020-01-02"),
    ]

    create, last = Tables.create, ("2020-01-05", {2: ("b", "last")}, "delta")

    def late(self: Tables, table: str, frame: Any, *arguments: Any, **options: Any) -> None:
        """The model as it was when the next load came."""
        if table == loaded.settings(*last[::2]).model:
            monkeypatch.setattr(Tables, "create", create)
            frame = frame.localCheckpoint()
            loaded.load(*last, model_type="table")
        create(self, table, frame, *arguments, **options)

    monkeypatch.setattr(Tables, "create", late)
    loaded.load("2020-01-04", {4: ("d", "late")}, "delta", model_type="table")
    rows = project.spark.sql(f"select id, operation, cast(eff_start_date as string) from {name}.s.t order by id")
    assert [tuple(row) for row in rows.collect()] == [
        (1, "X", "2020-01-01"),
        (2, "U", "2020-01-05"),
        (4, "X", "2020-01-04"),
    ]

    # a load that is committed is shown by the next run, though that one is refused for its rows
    with monkeypatch.context() as patched, pytest.raises(Killed):
        kill(patched, Load, "_create_model", after=False)
        loaded.load("2020-01-06", {4: ("d", "kept")}, model_type="table")
    with pytest.raises(DbtRuntimeError, match="the extract lacks 1 of 1 current rows"):
        loaded.load("2020-01-07", {}, model_type="table", max_delete_fraction=0)
    rows = project.spark.sql(f"select id, operation, cast(eff_start_date as string) from {name}.s.t")
    assert [tuple(row) for row in rows.collect()] == [(4, "U", "2020-01-06")]
    hidden = project.spark.sql(f"select s from {name}.s.t__sensitive")
    assert [tuple(row) for row in hidden.collect()] == [("kept",)]

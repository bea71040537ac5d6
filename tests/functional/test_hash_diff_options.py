"""hash_diff: columns by YAML, sensitive and ignored ones, schema changes, and all that is refused."""

from __future__ import annotations

import hashlib
import os
import re
from typing import Any

import pytest

from tests.support.places import on_another_day
from tests.support.project import Project

MODEL = """
def model(dbt, spark):
    dbt.config(materialized="hash_diff")
    return spark.read.option("header", "true").csv("PATH")
"""
DAY = "\"{{ env_var('HASH_DIFF_DAY') }}\""
YAML = """
models:
  - name: people
    config:
      meta: {dbt_cdc: {effective_date: "{{ env_var('HASH_DIFF_DAY') }}"}}
    columns:
      - {name: country, data_type: string, meta: {dbt_cdc: {key: true}}}
      - {name: nr, data_type: bigint, meta: {dbt_cdc: {key: true}}}
      - {name: full name, data_type: string}
      - {name: salary, data_type: "decimal(10,2)"}
      - {name: ssn, data_type: string, config: {meta: {dbt_cdc: {sensitive: true}}}}
      - {name: loaded_at, data_type: timestamp, meta: {dbt_cdc: {ignore: true}}}
      - {name: score, data_type: double}
      - {name: born, data_type: date}
"""
HEADER = "country,nr,full name,salary,ssn,loaded_at,score,born"


#: A row of one load // of the next: keys and values that run together, NULLs that come, go and stay, NaN, wide numbers.
CASES = [
    "1,23,two keys,,, // 1,23,two keys,,,",
    "12,3,two keys,,, // 12,3,two keys,,,",
    "A,1,ab,,c, // A,1,a,,bc,",
    "A,2,,,x, // A,2,x,,,",
    "A,3,,,, // A,3,now,,,",
    "A,4,was,,, // A,4,,,,",
    "A,5,,,, // A,5,,,,",
    "A,6,,,,,NaN // A,6,,,,,NaN",
    "A,7,,,,,0.5 // A,7,,,,,NaN",
    "A,3000000000,wide,,, // A,3000000000,wide,,,",
    "A,3000000001,,,,,,1999-12-31 // A,3000000001,,,,,,2000-01-01",
    "A,3000000002,,,,,,1999-12-31 // A,3000000002,,,,,,1999-12-31",
]


def prepare(project: Project, yaml: str = YAML) -> None:
    path = str(project.folder / "landing")
    project.write({"models/people.py": MODEL.replace("PATH", path), "models/people.yml": yaml})


def land(project: Project, *lines: str, header: str = HEADER) -> None:
    if (project.folder / "landing").exists():
        project.remove("landing")
    project.write({"landing/people.csv": "\n".join([header, *lines])})


@pytest.fixture(autouse=True)
def first_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASH_DIFF_DAY", "2020-01-01")


def run(project: Project, day: str) -> Any:
    os.environ["HASH_DIFF_DAY"] = day
    project.dbt("run")
    return project.run_results()["people"]["adapter_response"]["operations"]


def error(project: Project, day: str) -> str:
    os.environ["HASH_DIFF_DAY"] = day
    return project.error("run")


def state(project: Project) -> list[tuple[Any, ...]]:
    return project.rows(
        "select t.country, t.nr, t.`full name`, cast(t.salary as string), s.ssn,"
        " date_format(t.loaded_at, 'HH'), t.operation"
        " from {schema}.people t left join {schema}.people__sensitive s on t.keyhash = s.keyhash order by 1, 2"
    )


@pytest.mark.one_format("iceberg")
def test_columns_are_cast_kept_apart_and_left_out_of_the_comparison_as_their_yaml_says(project: Project) -> None:
    prepare(project)
    land(
        project,
        'FR,1,"Ann, B",1.5,s1,2020-01-01 01:00:00',
        "FR,2,,2,s2,2020-01-01 01:00:00",
        "DE,12,Cy,,,2020-01-01 01:00:00",
        *(case.split(" // ")[0] for case in CASES),
    )
    project.sql(f"create table {{schema}}.people__sensitive using {project.file_format} as select 1 as theirs")
    assert "people__sensitive` is a table or view that hash_diff did not make" in error(project, "2020-01-01")
    assert project.tables() == {"people__sensitive"}
    project.sql("drop table {schema}.people__sensitive")
    assert run(project, "2020-01-01") == {"I": 15, "U": 0, "D": 0, "X": 0, "N": 0}
    main = ["keyhash", "nonkeyhash", "country", "nr", "full name", "salary", "loaded_at", "score", "born", "operation",
            "eff_start_date"]  # fmt: skip
    assert [name for name, _ in project.columns("people")] == main
    assert [name for name, _ in project.columns("people__history")] == main
    assert dict(project.columns("people"))["salary"] == "decimal(10,2)"
    assert project.columns("people__sensitive") == [("keyhash", "string"), ("ssn", "string")]

    # other spelling of the same values, another ignored value: N and as it was; a sensitive value: U
    land(
        project,
        'FR,01,"Ann, B",1.50,s1,2020-01-02 02:00:00',
        "FR,2,,2,s2 new,2020-01-02 02:00:00",
        "DE,1,Cy,,,2020-01-02 02:00:00",
        *(case.split(" // ")[1] for case in CASES),
    )
    assert run(project, "2020-01-02") == {"I": 1, "U": 7, "D": 1, "X": 0, "N": 7}
    assert state(project) == [
        ("1", 23, "two keys", None, None, None, "N"),
        ("12", 3, "two keys", None, None, None, "N"),
        ("A", 1, "a", None, "bc", None, "U"),
        ("A", 2, "x", None, None, None, "U"),
        ("A", 3, "now", None, None, None, "U"),
        ("A", 4, None, None, None, None, "U"),
        ("A", 5, None, None, None, None, "N"),
        ("A", 6, None, None, None, None, "N"),
        ("A", 7, None, None, None, None, "U"),
        ("A", 3000000000, "wide", None, None, None, "N"),
        ("A", 3000000001, None, None, None, None, "U"),
        ("A", 3000000002, None, None, None, None, "N"),
        ("DE", 1, "Cy", None, None, "02", "I"),
        ("FR", 1, "Ann, B", "1.50", "s1", "01", "N"),
        ("FR", 2, None, "2.00", "s2 new", "02", "U"),
    ]
    others = (
        "select nr, cast(score as string), cast(born as string) from {schema}.people where country = 'A' and nr > 5"
    )
    assert project.rows(f"{others} order by 1") == [
        (6, "NaN", None),
        (7, "NaN", None),
        (3000000000, None, None),
        (3000000001, None, "2000-01-01"),
        (3000000002, None, "1999-12-31"),
    ]
    before = state(project)[len(CASES) :]
    # a new column without values changes nothing
    land(project, *[line + "," for line in (
        'FR,01,"Ann, B",1.50,s1,2020-01-02 02:00:00', "FR,2,,2,s2 new,2020-01-02 02:00:00",
        "DE,1,Cy,,,2020-01-02 02:00:00")], header=HEADER + ",city")  # fmt: skip
    assert run(project, "2020-01-03") == {"I": 0, "U": 0, "D": 12, "X": 0, "N": 3}
    assert [row[:6] for row in state(project)] == [row[:6] for row in before]
    assert "city" in dict(project.columns("people"))
    assert "city" in dict(project.columns("people__history"))
    # columns of the table that the data lack are NULL, whatever the YAML says of them; a date needs no quotes
    prepare(project, YAML.replace(DAY, "2020-01-04"))
    land(project, 'FR,1,"Ann, B"', "FR,2,", "DE,1,Cy", header="country,nr,full name")
    assert run(project, "") == {"I": 0, "U": 2, "D": 0, "X": 0, "N": 1}
    assert re.findall("data have no column (.*): NULL there", project.log()) == [
        "salary, loaded_at, score, born, city, ssn"
    ]
    assert state(project) == [
        ("DE", 1, "Cy", None, None, "02", "N"),
        ("FR", 1, "Ann, B", None, None, None, "U"),
        ("FR", 2, None, None, None, None, "U"),
    ]

    # begun anew without sensitive columns: nothing of them is left, and later loads go on
    prepare(project, YAML.replace("sensitive: true", "sensitive: false"))
    land(project, 'FR,1,"Ann, B",1.5,,2020-01-01 01:00:00')
    os.environ["HASH_DIFF_DAY"] = "2020-01-05"
    project.dbt("run", "--full-refresh")
    assert run(project, "2020-01-06") == {"I": 0, "U": 0, "D": 0, "X": 0, "N": 1}
    assert project.tables() == {"people", "people__base", "people__history"}
    assert "ssn" in dict(project.columns("people"))


@pytest.mark.one_format("iceberg")
def test_every_fault_of_the_data_is_told_and_nothing_is_written(project: Project) -> None:
    prepare(project)
    good = "FR,1,Ann,1,secret,2020-01-01 01:00:00"
    bad = [
        good,
        good,
        "FR,,Bo,1,secret,2020-01-01 01:00:00",
        "FR,3,Cy,much,secret,never",
        "FR,4,Di,1,secret,2020-01-01 01:00:00",
        # two keys of which nothing came are no key twice, nor is a bad row beside a good one
        "FR,x,Ed,1,secret,2020-01-01 01:00:00",
        "FR,y,Fa,1,secret,2020-01-01 01:00:00",
        "FR,4,Di,more,secret,2020-01-01 01:00:00",
    ]
    land(project, *bad)
    said = error(project, "2020-01-01")
    assert "model.consumer.people can't run, nothing was written" in said
    assert '1 row(s) have NULL in a key part: nr in {"country":"FR",' in said
    assert '"full name":"Bo"' in said
    assert "4 row(s) have a value that does not cast: nr (" in said
    assert "; salary (decimal(10,2)) 'much', loaded_at" in said
    assert """2 rows share their key with another row: {"country":"FR","nr":1} 2 times""" in said
    assert "secret" not in said
    assert project.tables() == set()
    # neither a sensitive value nor a key of which a part is sensitive is shown, in the error or in dbt's log
    hidden = YAML.replace("ssn, data_type: string", "ssn, data_type: int")
    prepare(
        project, hidden.replace("meta: {dbt_cdc: {key: true}}}", "meta: {dbt_cdc: {key: true, sensitive: true}}}", 1)
    )
    land(project, "hush1,1,Ann,1,hush2,", "hush3,2,Bo,1,5,", "hush3,2,Bo,1,5,", "hush4,,Bo,1,5,")
    said = error(project, "2020-01-01")
    assert "1 row(s) have a value that does not cast: ssn (int) (hidden)." in said
    twice, null = (hashlib.md5(text).hexdigest() for text in (b'{"country":"hush3","nr":2}', b'{"country":"hush4"}'))
    assert f"2 rows share their key with another row: keyhash {twice} 2 times." in said
    assert f"1 row(s) have NULL in a key part: nr in keyhash {null}." in said
    assert "hush" not in said + project.log()
    assert project.tables() == set()
    prepare(project)
    land(project, *bad)
    # a table that hash_diff did not make is replaced when asked, and not before the data are found good
    project.sql(f"create table {{schema}}.people using {project.file_format} as select 1 as old")
    assert "is a table that hash_diff did not make" in error(project, "2020-01-01")
    assert "2 rows share their key" in project.error("run", "--full-refresh")
    assert project.rows("select * from {schema}.people") == [(1,)]
    others = [f"DE,{nr},,,," for nr in range(99)]
    land(project, good, *others)
    project.dbt("run", "--full-refresh")
    assert state(project)[99:] == [("FR", 1, "Ann", "1.00", "secret", "01", "I")]

    # a share of deletes may be reached (0.29 * 100 is less than 29), and an extract that came empty is refused
    guarded = YAML.replace(f"effective_date: {DAY}", f"effective_date: {DAY}, max_delete_fraction: 0.29")
    prepare(project, guarded)
    land(project, good, *others[:70])
    assert run(project, "2020-01-02") == {"I": 0, "U": 0, "D": 29, "X": 0, "N": 71}
    held = state(project)
    land(project)
    said = error(project, "2020-01-03")
    assert "the extract lacks 71 of 71 current rows (1.000), more than max_delete_fraction (0.29) allows. Check" in said
    prepare(project, guarded.replace(DAY, f"{DAY}, extract_type: delta").replace("0.29", "2"))
    said = error(project, "2020-01-03")
    under = (
        "'max_delete_fraction' has a meaning under 'extract_type: full' only, got 'extract_type: delta': change that"
    )
    assert under in said
    assert "option 'max_delete_fraction' must lie between 0 and 1, got 2" in said
    prepare(project)
    land(project, *bad)
    assert "2 rows share their key with another row" in error(project, "2020-01-03")
    assert state(project) == held
    land(project, "1,Ann,1,x,2020-01-01 01:00:00", header="nr,full name,salary,ssn,loaded_at")
    missing = error(project, "2020-01-03")
    assert "unique_key: the data have no column 'country'" in missing
    # what can be known before the data are read is told at once
    land(project, good)
    changed = YAML
    for was, now in {
        "effective_date:": "hash_algorithm: sha2_256, effective_date:",
        "full name, data_type: string": "full name, meta: {dbt_cdc: {key: true}}",
        "data_type: bigint": "data_type: bgint",
        "decimal(10,2)": "decimal(10,1)",
        "sensitive: true": "sensitive: false",
        "ignore: true": "ignore: false",
        "name: born": "name: bron",
    }.items():
        changed = changed.replace(was, now)
    prepare(project, changed)
    project.sql("alter table {schema}.people__base set tblproperties ('dbt_cdc.hash_rule' = '0')")
    said = error(project, "2020-01-01")
    for part in (
        "columns with a data_type: the data have no column 'bron', did you mean 'born'?",
        "column 'nr': Spark takes no data_type 'bgint' (in the model's YAML): [UNSUPPORTED_DATATYPE]",
        "effective_date is 2020-01-01, the last load was of 2020-01-02",
        "column 'salary': the table has type decimal(10,2), the model's data_type has decimal(10,1)",
        "the hash rule is 1, the table was made with 0. Install a version of dbt_cdc that has that one, or rebuild with",
        "hash_algorithm is sha2_256, the table was made with md5",
        'unique_key is ["country", "full name", "nr"], the table was made with ["country", "nr"]',
        'ignore_columns is [], the table was made with ["loaded_at"]',
        'sensitive_columns is [], the table was made with ["ssn"]',
    ):
        assert f"- {part}" in said
    project.sql("alter table {schema}.people__base set tblproperties ('dbt_cdc.hash_rule' = '1')")
    assert state(project) == held
    assert project.rows("select count(*) from {schema}.people__history") == [(129,)]


@pytest.mark.one_format("iceberg")
def test_every_fault_of_the_options_is_told_at_once(project: Project) -> None:
    prepare(
        project,
        """
        models:
          - name: people
            config:
              on_schema_change: sync_all_columns
              hash_algorithm: sha2_256
              meta: {on_cast_error: rejects,
                     dbt_cdc: {extract_typ: full, extract_type: ful, effective_date: '2019-02-30', ignore_columns: [nr],
                               unique_key: 7, sensitive_columns: true, deduplicate: 2019-06-18}}
            columns:
              - {name: nr, meta: {dbt_cdc: {key: true}}}
              - {name: ssn, meta: {dbt_cdc: {sensitiv: true}}}
              - {name: salary, meta: {dbt_cdc: true}}
              - {name: name, meta: {sensitive: true}}
              - {name: seen, meta: {sensitive: true, dbt_cdc: {sensitive: false}}}
        """.replace("\n        ", "\n"),
    )
    land(project, "FR,1,Ann,1,secret,2020-01-01 01:00:00")
    said = project.error("run")
    for part in (
        "unknown option 'extract_typ', did you mean 'extract_type'?",
        "option 'extract_type' must be one of full, delta, got \"ful\", did you mean 'full'?",
        "option 'effective_date' must be a date like 2019-06-18, got \"2019-02-30\"",
        "option 'unique_key' must be of type list, got 7",
        "option 'sensitive_columns' must be of type list, got true",
        "option 'deduplicate' must be of type boolean, got \"2019-06-18\"",
        "column 'salary': meta.dbt_cdc must be a mapping of options, got true",
        "column 'nr' is a key and can't be ignored too",
        "column 'ssn': unknown option 'sensitiv', did you mean 'sensitive'?",
        "option 'on_schema_change' must be one of ignore, fail, append_new_columns, got \"sync_all_columns\"",
        "option 'hash_algorithm' stands beside meta, where nothing reads it: move it to meta",
        "option 'on_cast_error' stands in meta itself, where nothing of dbt_cdc reads it: move it to meta: {dbt_cdc: {on_cast",
        "column 'name': nothing of dbt_cdc reads `sensitive` in meta itself: move it to meta: {dbt_cdc: {sensitive: true}}",
    ):
        assert part in said
    assert "column 'seen'" not in said
    assert project.tables() == set()


@pytest.mark.one_format("delta")
def test_rows_that_do_not_cast_go_to_the_rejects_when_asked_and_a_known_key_keeps_its_row(project: Project) -> None:
    prepare(project, YAML.replace("effective_date:", "on_cast_error: rejects, effective_date:"))
    land(project, "FR,1,Ann,1,s,2020-01-01 01:00:00", "FR,2,Bo,2,s,2020-01-01 01:00:00")
    run(project, "2020-01-01")
    # keys that do not cast are no key twice, nor is a bad row beside a good one
    land(
        project,
        "FR,1,Ann,one,s,2020-01-01 01:00:00",
        "FR,x,Bo,2,s,2020-01-01 01:00:00",
        "FR,y,Bo,2,s,2020-01-01 01:00:00",
        "FR,3,Cy,three,s,2020-01-01 01:00:00",
        "FR,3,Cy,3,s,2020-01-01 01:00:00",
    )
    assert run(project, "2020-01-02") == {"I": 1, "U": 0, "D": 1, "X": 0, "N": 1}
    assert project.rows(
        "select fault, get_json_object(incoming_row, '$.salary') from {schema}.people__rejects order by 1"
    ) == [
        ("does not cast: nr (bigint) 'x'", "2"),
        ("does not cast: nr (bigint) 'y'", "2"),
        ("does not cast: salary (decimal(10,2)) 'one'", "one"),
        ("does not cast: salary (decimal(10,2)) 'three'", "three"),
    ]
    assert project.rows("select count(*) from {schema}.people__rejects where contains(incoming_row, 'ssn')") == [(0,)]
    # a full refresh begins anew with these, too
    land(project, "FR,1,Ann,1,s,2020-01-01 01:00:00", "FR,z,Bo,2,s,2020-01-01 01:00:00")
    os.environ["HASH_DIFF_DAY"] = "2020-01-01"
    project.dbt("run", "--full-refresh")
    rejects = "select cast(eff_start_date as string), fault from {schema}.people__rejects"
    assert project.rows(rejects) == [("2020-01-01", "does not cast: nr (bigint) 'z'")]
    prepare(project)
    land(project, "FR,1,Ann,1,s,2020-01-01 01:00:00")
    project.dbt("run", "--full-refresh")
    assert "people__rejects" not in project.tables()


LANDED = """
def model(dbt, spark):
    dbt.config(materialized="hash_diff")
    return spark.read.json("LANDING/from_json")
"""
SHARED = """
def model(dbt, spark):
    dbt.config(materialized="hash_diff")
    landing = dbt.config.meta_get("landing")
    return spark.read.parquet(f"{landing}/{dbt.this.identifier}")
"""
FROM_CSV = 'spark.read.option("header", "true").csv("PATH")'
MODELS = ("from_json", "from_parquet", "from_table")
KINDS = ("base", "history")
RECORD_GRANTS = """
{% macro default__apply_grants(relation, grant_config, should_revoke=True) -%}
    {%- for privilege, who in (grant_config or {}).items() -%}
        {%- do run_query("insert into " ~ target.schema ~ ".granted values ('" ~ relation.identifier ~ "', '" ~ privilege
                         ~ "', '" ~ who[0] ~ "')") -%}
    {%- endfor -%}
{%- endmacro %}
"""


def upgrade(project: Project) -> None:
    """To a version of the format from which Iceberg takes no table back."""
    for kind in KINDS if project.file_format == "iceberg" else ():
        project.sql(f"alter table {{schema}}.from_json__{kind} set tblproperties ('format-version' = '3')")


def check_upgraded(project: Project) -> None:
    for kind in KINDS if project.file_format == "iceberg" else ():
        kept = dict(project.rows(f"show tblproperties {{schema}}.from_json__{kind}"))
        assert kept["format-version"] == "3"
        # each load writes to many partitions of the base table, and to one of the history
        assert kept["write.distribution-mode"] == {"base": "hash", "history": "none"}[kind]


def test_one_block_of_yaml_and_two_lines_of_python_a_table_whatever_the_input(project: Project) -> None:
    landing, elsewhere = project.folder / "landing", project.folder / "elsewhere"
    project.sql(
        f"create table {{schema}}.granted (relation string, privilege string, who string) using {project.file_format}"
    )
    project.configure(
        models={
            "consumer": {
                "+location_root": str(elsewhere),
                "+grants": {"select": ["reader"]},
                "+persist_docs": {"relation": True, "columns": True},
                "+meta": {
                    "landing": str(landing),
                    "dbt_cdc": {"unique_key": ["id"], "effective_date": "{{ var('day') }}", "deduplicate": True},
                },
            }
        }
    )
    project.write(
        {
            "macros/record_grants.sql": RECORD_GRANTS,
            "models/from_json.py": LANDED.replace("LANDING", str(landing)),
            "models/from_parquet.py": SHARED,
            "models/from_table.py": MODEL.replace(FROM_CSV, f'spark.table("{project.schema}.rows")'),
            "models/docs.yml": """
                models:
                  - name: from_json
                    description: Rows of a folder of JSON
                    config: {partition_by: [country]}
                    columns:
                      - {name: id, data_type: bigint}
                      - {name: country, data_type: string, description: Two letters, meta: {dbt_cdc: {key: true}}}
                      - {name: PAID-IN, description: "The customer's currency"}
                      - {name: Note, description: Kept apart, meta: {dbt_cdc: {sensitive: true}}}
                      - {name: nothing, description: No column}
                      - {name: paid, data_type: "decimal(9,2)"}
                """,
        }
    )

    def supply(day: str, rows: str, *arguments: str) -> dict[str, Any]:
        given = f"select * from values {rows} as t (id, country, paid)"
        project.sql(f"create or replace table {{schema}}.rows using {project.file_format} as {given}")
        for form in ("json", "parquet"):
            frame = project.spark.sql(given)
            if form == "json":
                frame = frame.selectExpr("*", "'EUR' as `paid-in`", "'hidden' as note")
            frame.write.mode("overwrite").format(form).save(f"{landing}/from_{form}")
        project.dbt("run", *arguments, "--vars", f"{{day: '{day}'}}")
        results = project.run_results()
        return {name: results[name]["adapter_response"]["operations"] for name in MODELS}

    twice = "(1, 'FR', 1.5D), (2, 'DE', null), (2, 'DE', null)"
    assert supply("2020-01-01", twice) == {key: {"I": 2, "U": 0, "D": 0, "X": 0, "N": 0} for key in MODELS}
    # the comments come with the tables; the base's other commit is that of its marker
    if project.file_format == "iceberg":
        commits = {kind: f"select count(*) from {{schema}}.from_json__{kind}.metadata_log_entries" for kind in KINDS}
        assert {kind: project.rows(query)[0][0] for kind, query in commits.items()} == {"base": 2, "history": 1}
    later = supply("2020-01-02", "(1, 'FR', 1.50D), (3, 'DE', 3D), (3, 'DE', 3D)")
    # from_json has a key of its own, the country: its id of DE has changed
    own = {"from_json": {"I": 0, "U": 1, "D": 0, "X": 0, "N": 1}}
    assert later == {key: {"I": 1, "U": 0, "D": 1, "X": 0, "N": 1} for key in MODELS} | own
    for name, paid in {"from_json": "1.50", "from_parquet": "1.5", "from_table": "1.5"}.items():
        query = f"select id, country, cast(paid as string), operation from {{schema}}.{name} order by id"
        assert project.rows(query)[0] == (1, "FR", paid, "N")
        assert project.rows(query)[1][3] == ("U" if name in own else "I")

    # what dbt has a key for reaches the tables
    assert sorted(path.name for path in elsewhere.iterdir()) == sorted(
        ["from_json__sensitive_base", *(f"{n}__{k}" for n in MODELS for k in KINDS)]
    )
    described = dict(row[:2] for row in project.rows("describe table extended {schema}.from_json__base"))
    assert described["Location"].removeprefix("file:").replace("//", "/") == str(elsewhere / "from_json__base")
    parts = project.rows("select distinct input_file_name() from {schema}.from_json__base where country = 'FR'")
    assert parts and all("country=FR" in row[0] for row in parts)
    assert set(project.rows("select * from {schema}.granted where relation like 'from_json%'")) == {
        ("from_json", "select", "reader"), ("from_json__history", "select", "reader")}  # fmt: skip
    for table in ("from_json", "from_json__base", "from_json__history"):
        rows = project.spark.sql(f"describe table extended {project.schema}.{table}").collect()
        comments = {row[0]: row[2] for row in reversed(rows)}
        assert (comments["country"], comments["paid-in"]) == ("Two letters", "The customer's currency")
        assert [row[1] for row in rows if row[0] == "Comment"] == ["Rows of a folder of JSON"]
    described = project.rows("describe table extended {schema}.from_json__sensitive")
    assert [row[1] for row in described if row[0] == "Comment"] == ["Rows of a folder of JSON"]

    # a full refresh begins anew, history included
    upgrade(project)
    refreshed = supply("2019-01-01", "(7, 'FR', 1D)", "--full-refresh")
    assert refreshed == {key: {"I": 1, "U": 0, "D": 0, "X": 0, "N": 0} for key in MODELS}
    for name in MODELS:
        query = f"select id, operation, cast(eff_start_date as string) from {{schema}}.{name}__history"
        assert project.rows(query) == [(7, "I", "2019-01-01")]
    check_upgraded(project)


@pytest.mark.one_format("iceberg")
def test_what_a_tables_layout_can_not_be_is_refused(project: Project) -> None:
    prepare(
        project,
        YAML.replace("config:\n", "config:\n      partition_by: [ssn, city]\n", 1),
    )
    land(project, "FR,1,Ann,1,secret,2020-01-01 01:00:00")
    said = error(project, "2020-01-01")
    assert "partition_by: the table has no column 'ssn'. It has: country, nr" in said
    assert "partition_by: the table has no column 'city'." in said
    level = "      tblproperties: {write.merge.isolation-level: snapshot}\n"
    other = "      submission_method: all_purpose_cluster\n"
    prepare(
        project, YAML.replace("config:\n", "config:\n      clustered_by: [nr]\n      buckets: 2\n" + other + level, 1)
    )
    said = error(project, "2020-01-01")
    assert 'clustered_by has no meaning for hash_diff, got ["nr"]: take it out' in said
    assert "buckets has no meaning for hash_diff, got 2: take it out, or set it to null here" in said
    assert "submission_method must be session for hash_diff, got all_purpose_cluster: set it" in said
    assert "'write.merge.isolation-level' must be serializable (Iceberg's default), got \"snapshot\"" in said
    assert project.tables() == set()


LISTS = """
models:
  - name: listed
    config:
      unique_key: '`id`'
      on_schema_change: ignore
      full_refresh: false
      meta: {dbt_cdc: {unique_key: [not, this, one], ignore_columns: [seen], sensitive_columns: [phone], hash_algorithm: sha2_256,
                       effective_date: "{{ var('day') }}", allow_older_effective_date: true}}
  - name: strict
    config:
      on_schema_change: fail
      meta: {dbt_cdc: {unique_key: [id], hash_algorithm: xxhash64}}
"""


@pytest.mark.one_format("iceberg")
def test_options_as_lists_other_algorithms_new_columns_left_out_or_refused_and_the_runs_own_date(
    project: Project,
) -> None:
    models = {f"models/{name}.py": MODEL.replace(FROM_CSV, f'spark.table("{project.schema}.rows")')
              for name in ("listed", "strict")}  # fmt: skip
    changed = """
        {{ config(materialized='view') }}
        select id, operation, cast(eff_start_date as string) as day
        from {{ dbt_cdc.companion('listed', 'history') }}
    """
    project.write({**models, "models/models.yml": LISTS, "models/changed.sql": changed})

    def supply(rows: str, columns: str = "id, phone, seen") -> None:
        table = f"create or replace table {{schema}}.rows using {project.file_format}"
        project.sql(f"{table} as select * from values {rows} as t ({columns})")

    supply("(1, '555', 'x'), (2, '556', 'x'), (3, null, 'x')")
    with on_another_day() as dates:
        project.dbt("run", "--vars", "day: '2020-01-05'")
    date = project.rows("select distinct eff_start_date from {schema}.strict")[0][0]
    assert date in dates
    strict = project.rows("select id, keyhash rlike '^[0-9a-f]{16}$', operation from {schema}.strict order by id")
    assert strict == [(1, True, "I"), (2, True, "I"), (3, True, "I")]
    digests = project.rows("select id, keyhash, nonkeyhash, seen from {schema}.listed order by id")
    assert digests == [
        (1, hashlib.sha256(b'{"id":1}').hexdigest(), hashlib.sha256(b'{"phone":"555"}').hexdigest(), "x"),
        (2, hashlib.sha256(b'{"id":2}').hexdigest(), hashlib.sha256(b'{"phone":"556"}').hexdigest(), "x"),
        (3, hashlib.sha256(b'{"id":3}').hexdigest(), hashlib.sha256(b"{}").hexdigest(), "x"),
    ]
    held = project.rows("select * from {schema}.strict order by id")

    # an older date takes back the load since; a new column is left out, or refused
    supply("(1, '555', 'y', 'Rome'), (2, '5', 'y', 'Oslo')", "id, phone, seen, city")
    said = project.error("run", "--vars", "day: '2020-01-04'")
    assert "model.consumer.strict can't run, nothing was written" in said
    assert "on_schema_change is 'fail': new columns (city). Give the columns of the table, or change on" in said
    assert project.rows("select * from {schema}.strict order by id") == held
    assert project.run_results()["listed"]["adapter_response"]["operations"] == {"I": 2, "U": 0, "D": 0, "X": 0, "N": 0}
    current = "select t.id, s.phone, t.seen, t.operation from {schema}.listed t join {schema}.listed__sensitive s"
    assert project.rows(f"{current} using (keyhash) order by 1") == [(1, "555", "y", "I"), (2, "5", "y", "I")]
    assert [name for name, _ in project.columns("listed")][2:-2] == ["id", "seen"]
    changed = project.dbt("parse", "--vars", "day: '2020-01-06'").result.nodes["model.consumer.changed"]
    assert changed.depends_on.nodes == ["model.consumer.listed"]
    history = [(1, "I", "2020-01-04"), (2, "I", "2020-01-04")]
    assert project.rows("select * from {schema}.changed order by id") == history
    supply("(1, '555', 'z', 'Paris'), (2, '6', 'z', 'Oslo')", "id, phone, seen, city")
    # a full refresh, which the model refuses
    project.dbt("run", "--select", "listed", "--full-refresh", "--vars", "day: '2020-01-06'")
    assert project.rows(f"{current} using (keyhash) order by 1") == [(1, "555", "y", "N"), (2, "6", "z", "U")]
    assert project.rows("select * from {schema}.changed order by id, day") == [*history, (2, "U", "2020-01-06")]


@pytest.mark.one_format("iceberg")
def test_casts_that_would_lose_something_are_refused(project: Project) -> None:
    query = "select 1 as id, 3.7D as n, 9007199254740993L as wide, 0.1D as near, array('1', 'x') as tags, 5 as day, 'T12:00Z' as noon"
    query += ", 2 as flag, 'ABC' as code, timestamp'2024-01-01 10:30:00' as born, timestamp'2024-01-01' as whole"
    query += ", '2024-01-31 10:30' as stamp, '2024-01-31 or so' as said, '202403' as month, ' 2024-1-31 00:00:00+00:00' as midnight, '2024-01-31 ' as plain"
    query += ", '202403' as a, '2024-01' as b, '2024-01-31 10:30+05:00' as c, '2024' as d, '1d' as e, '0x1p3' as f"
    query += ", '2024-01-31T10:30:00Z' as g, '2024-01-31 10:30:00 Europe/Rome' as h, ' -1.5e3' as i, 'NaN' as j"
    query += ", '2024-01-31 10:30:00 UTC' as k, '2024-01-31 10:30:00.0000000 +00:00' as l"
    query += ", timestamp'2024-01-01 10:30:00.5' as half, timestamp'2024-01-01 10:30:00' as full"
    query += ", timestamp'2024-01-01 10:30:00.125' as tenth, timestamp'2024-01-01 10:30:00.125' as millis"
    query += (
        ", 1706697000000000L as micros, 1706697000000000BD as wraps, 1706697000 as seconds, 253402300799.999BD as last"
    )
    query += ", array('a, b') as listed"
    project.write(
        {
            "models/t.py": f"""
                def model(dbt, spark):
                    dbt.config(materialized="hash_diff", unique_key="id")
                    return spark.sql({query!r})
            """
        }
    )
    project.write(
        {
            "models/loose.py": """
                def model(dbt, spark):
                    dbt.config(materialized="hash_diff", unique_key="id")
                    return spark.sql("select 1 as id, parse_json('3.7') as n, interval 1 day as took, "
                                     "array(interval 1 month) as waits, time'12:00:00' as noon")
            """,
            "models/loose.yml": "models: [{name: loose, columns: [{name: n, data_type: int}]}]\n",
        }
    )
    said = project.error("run", "--select", "loose")
    assert "column 'n': the model's data_type is int, the data have variant: what does not fit" in said
    for column in (
        "took': tables keep no interval day",
        "waits': tables keep no array<interval month>",
        "noon': tables keep no time(6)",
    ):
        assert f"column '{column}. Cast it in the model" in said
    types = {"tags": "array<int>", "day": "date", "n": "int", "wide": "double", "near": "float", "noon": "timestamp"}
    types |= {"flag": "boolean", "code": "character(2)", "born": "date", "whole": "date"}
    types |= {"stamp": "date", "said": "date", "month": "date", "midnight": "date", "plain": "date"}
    types |= {
        "a": "timestamp",
        "b": "timestamp",
        "c": "timestamp_ntz",
        "d": "timestamp_ntz",
        "e": "double",
        "f": "float",
    }
    types |= {
        "g": "timestamp_ntz",
        "h": "timestamp",
        "i": "double",
        "j": "float",
        "k": "timestamp_ntz",
        "l": "timestamp_ntz",
    }
    types |= {"listed": "string"} | dict.fromkeys(("micros", "wraps", "seconds", "last"), "timestamp")
    types |= {"half": "bigint", "full": "bigint", "tenth": "decimal(12,1)", "millis": "decimal(16,3)"}
    lost = "n (int) '3.7', wide (double) '9007199254740993', noon (timestamp) 'T12:00Z', flag (boolean) '2', "
    lost += "code (character(2)) 'ABC', born (date) '2024-01-01 10:30:00', stamp (date) '2024-01-31 10:30', "
    lost += "said (date) '2024-01-31 or so', month (date) '202403', a (timestamp) '202403', "
    lost += "b (timestamp) '2024-01', c (timestamp_ntz) '2024-01-31 10:30+05:00', d (timestamp_ntz) '2024', "
    lost += "e (double) '1d', f (float) '0x1p3', half (bigint) '2024-01-01 10:30:00.5', tenth (decimal(12,1)) '2024-01-01 10:30:00.125', "
    lost += "micros (timestamp) '1706697000000000', wraps (timestamp) '1706697000000000'. "
    for name, told in {
        "tags": "column 'tags': the model's data_type is array<int>, the data have array<string>: what does not fit",
        "listed": "column 'listed': the model's data_type is string, the data have array<string>: what does not fit",
        "day": "column 'day': the data have int, which Spark does not cast to date, the type of the model's data_type or the table.",
        "n": "1 row(s) have a value that does not cast: " + lost,
    }.items():
        columns = "".join(f'      - {{name: {column}, data_type: "{kind}"}}\n' for column, kind in types.items())
        project.write({"models/t.yml": f"models:\n  - name: t\n    columns:\n{columns}"})
        assert told in project.error("run", "--select", "t")
        assert project.tables() == set()
        del types[name]

"""Sources whose times, columns and types change between the runs of a snapshot."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import pytest

from tests.support.places import in_zone
from tests.support.project import Project
from tests.support.snapshots import HIGH

SNAPSHOT = """
    {{% snapshot {name} %}}
    {{{{ config(unique_key='id', {config}) }}}}
    {{% if var('run') == 0 %}} {first} {{% elif var('run') == 1 %}} {second} {{% else %}} {third} {{% endif %}}
    {{% endsnapshot %}}
"""
BY_TIME = "strategy='timestamp', updated_at='at', hard_deletes='invalidate'"
CHECKED = "strategy='check', check_cols='all'"
LOGGED = "meta={'dbt_cdc': {'change_log': 'data_before_after'}}"
METADATA = "meta={'dbt_cdc': {'operational_metadata': true%s}}"
#: Columns whose values go by the session's zone from the first types to the others.
SHIFTED = """
    select 1 as id, timestamp_ntz '2024-01-01 08:00:00' as clock, timestamp '2024-01-01 08:00:00Z' as instant,
        timestamp '2023-12-31 00:00:00Z' as day, 'x' as text, array(timestamp '2024-01-01 08:00:00Z') as list,
        timestamp '2024-01-01 00:00:00Z' as at
"""
SHIFTING = """
    select 1 as id, timestamp '2024-01-01 10:00:00Z' as clock, timestamp_ntz '2024-01-01 10:00:00' as instant,
        date '2024-01-01' as day, timestamp '2024-01-01 10:00:00Z' as text, array(timestamp_ntz '2024-01-01 10:00:00') as list,
        timestamp '2024-01-02 00:00:00Z' as at
"""
EFFECTIVE = "select id, effective_start_timestamp, effective_end_timestamp from {schema}.%s order by id, effective_start_timestamp"


def write(project: Project, name: str, config: str, first: str, second: str, third: str = "") -> None:
    text = SNAPSHOT.format(name=name, config=config, first=first, second=second, third=third or second)
    project.write({f"snapshots/{name}.sql": text})


def write_values(project: Project, name: str, config: str, first: str, second: str) -> None:
    row = "select 1 as id, {} as v, timestamp '2024-01-0{}' as at"
    write(project, name, config, row.format(first, 1), row.format(second, 2))


def run(project: Project, number: int, *more: str) -> None:
    project.dbt("snapshot", "--vars", f"{{run: {number}}}", *more)


@pytest.mark.one_format("iceberg")
def test_times_that_come_late_or_lie_in_another_zones_day_make_versions_that_follow_each_other(
    project: Project,
) -> None:
    tomorrow = datetime.now(timezone.utc).date() + timedelta(days=1)
    known = "select 1 as id, 'a' as v, timestamp '2024-01-01 00:00:00Z' as at"
    write(
        project, "late", BY_TIME, known,
        f"{known} union all select 2, 'b', cast(null as timestamp)",
        f"{known} union all select 2, 'b2', timestamp '2024-06-01 00:00:00Z'",
    )  # fmt: skip
    rows = "select id, v, at from values (1, 'a', {at}), (2, 'b', {at}) as t(id, v, at) where id <= {last}"
    for name, at in {"days": f"date '{tomorrow}'", "texts": f"'{tomorrow} 08:10:00'"}.items():
        write(project, name, BY_TIME, rows.format(at=at, last=2), rows.format(at=at, last=1))
    as_text = "select 1 as id, '2024-06-01T12:00:00+02:00' as at"
    instants = ", 'effective_timestamp_type': 'timestamp'"
    for name, more in {"text_to_clocks": "", "text_to_instants": instants}.items():
        write(
            project,
            name,
            f"{BY_TIME}, {METADATA % more}",
            f"{as_text} union all select 2, '2024-06-01 08:00:00'",
            as_text,
        )
    ends = {
        "instant_end": ("timestamp_ntz", "", "to_timestamp('9999-12-31')"),
        "text_end": ("timestamp", "Z", "'9999-12-31'"),
    }
    for name, (kind, zone, end) in ends.items():
        config = f'{BY_TIME}, dbt_valid_to_current="{end}", {METADATA % ""}'
        closed = f"select 1 as id, {kind} '2024-01-02 10:00:00{zone}' as at"
        began = f"select id, {kind} '2024-01-01 00:00:00{zone}' as at from values %s as t(id)"
        write(
            project,
            name,
            config,
            began % "1, 2",
            f"{closed} union all {began % '3'}",
            f"{closed} union all {began % '2, 3'}",
        )
    write(project, "zoned", BY_TIME, known, known)
    write(project, "was_text", BY_TIME, *["select 1 as id, '2024-01-10 10:00:00' as at"] * 2)
    by_clock = "strategy='check', check_cols=['v'], hard_deletes='invalidate', updated_at=%s"
    clocks = "select 1 as id, 'a' as v, timestamp_ntz '2024-01-01 10:00:00' as at"
    two_clocks = f"{clocks} union all select 2, 'gone', timestamp_ntz '2024-01-01 10:00:00'"
    write(project, "clocks", by_clock % "'at'", two_clocks, two_clocks)
    write(project, "shifted", BY_TIME, SHIFTED, SHIFTED)
    with in_zone(project, "Pacific/Kiritimati"):  # where it is tomorrow for most of the day
        for number in range(4):
            run(project, number)
        # what adoption makes of an end is what the run made of it
        by_run = {name: project.rows(EFFECTIVE % name) for name in ends}
        for name in ends:
            project.sql(
                f"update {{schema}}.{name} set effective_end_timestamp = null where update_process_id is not null"
            )
            adopt = ("run-operation", "adopt_operational_metadata", "--args", f"{{snapshot: {name}}}")
            project.dbt(*adopt, "--vars", "{run: 3}")
            assert project.rows(EFFECTIVE % name) == by_run[name]
        write(
            project,
            "zoned",
            BY_TIME,
            "",
            known.replace("timestamp '2024-01-01 00:00:00Z'", "timestamp_ntz '2025-01-01'"),
        )
        at = "select 1 as id, timestamp '2024-01-10 10:00:00Z' as at"
        write(project, "was_text", BY_TIME, "", at)
        write(project, "clocks", by_clock % "none", "", clocks.replace("'a'", "'b'"))
        write(project, "shifted", BY_TIME, "", SHIFTING)
        before = project.contents("shifted")
        said = project.error("snapshot", "--select", "zoned", "was_text", "clocks", "shifted", "--vars", "{run: 1}")
        for name, kept, given in (
            ("clock", "timestamp_ntz", "timestamp"),
            ("instant", "timestamp", "timestamp_ntz"),
            ("day", "timestamp", "date"),
            ("text", "string", "timestamp"),
            ("list", "array<timestamp>", "array<timestamp_ntz>"),
        ):
            shifted = f"column '{name}' of {project.schema}.shifted is {kept}, got {given} from the source, which the session's"
            assert f"{shifted} time zone would shift: cast it in the snapshot's query" in said
        assert project.contents("shifted") == before
        for kept, given in (("timestamp", "timestamp_ntz"), ("string", "timestamp")):
            shifted = "from updated_at, which the session's time zone would shift: cast it"
            assert f"is {kept}, got {given} {shifted}" in said
        of_the_run = "cast(convert_timezone('UTC', cast(current_timestamp() as timestamp_ntz)) as timestamp_ntz)"
        assert f"the time of the run, which the session's time zone would shift: set updated_at: {of_the_run}" in said
        write(project, "clocks", by_clock % f'"{of_the_run}"', "", clocks.replace("'a'", "'b'"))
        run(project, 1, "--select", "clocks")
    run(project, 1, "--select", "shifted")  # in UTC they are the same
    ten = datetime(2024, 1, 1, 10)
    assert project.rows("select clock, instant, day, text, list from {schema}.shifted where dbt_valid_to is null") == [
        (ten, ten, datetime(2024, 1, 1), "2024-01-01 10:00:00", [ten])
    ]
    late = "select id, v, dbt_updated_at, dbt_valid_to is null from {schema}.late order by id, dbt_valid_from"
    assert project.rows(late) == [
        (1, "a", datetime(2024, 1, 1), True),
        (2, "b", None, False),
        (2, "b2", datetime(2024, 6, 1), True),
    ]
    ends = "select id, dbt_valid_from, dbt_valid_to from {schema}.%s order by id"
    assert project.rows(ends % "days") == [(1, tomorrow, None), (2, tomorrow, tomorrow)]
    text = f"{tomorrow} 08:10:00"
    assert project.rows(ends % "texts") == [(1, text, None), (2, text, text)]
    assert project.rows("select id, v, at, dbt_valid_from, dbt_valid_to from {schema}.zoned") == [
        (1, "a", datetime(2024, 1, 1), datetime(2024, 1, 1), None)
    ]
    assert project.rows("select id, at, dbt_valid_from, dbt_valid_to from {schema}.was_text") == [
        (1, "2024-01-10 10:00:00", "2024-01-10 10:00:00", None)
    ]
    old = "dbt_valid_from = timestamp_ntz '2024-01-01 10:00:00'"
    clocks = f"select v, {old}, dbt_valid_to is null, typeof(dbt_valid_from) from {{schema}}.clocks order by v"
    assert project.rows(clocks) == [
        ("a", True, False, "timestamp_ntz"),
        ("b", False, True, "timestamp_ntz"),
        ("gone", True, False, "timestamp_ntz"),
    ]
    # a change and a delete of one run are of one clock
    of_one_run = "select dbt_valid_to from {schema}.clocks where v <> 'b' union all select dbt_valid_from from {schema}.clocks where v = 'b'"
    changed, deleted, began = (row[0] for row in project.rows(of_one_run))
    assert changed == deleted == began < datetime.now(timezone.utc).replace(tzinfo=None)
    for name, rows_found in by_run.items():
        first, second, gone, back, new = rows_found
        day = datetime(2024, 1, 1)
        assert first == (1, day, datetime(2024, 1, 2, 10)) and second == (1, datetime(2024, 1, 2, 10), HIGH), name
        assert new == (3, day, HIGH) and gone[:2] == (2, day), name
        assert day < gone[2] < back[1] < datetime.now(timezone.utc).replace(tzinfo=None) and back[2] == HIGH, name
    # text with a zone is that instant, text without one UTC; a deleted row ended at the time of the run
    for name in ("text_to_clocks", "text_to_instants"):
        columns = "id, effective_start_timestamp, effective_end_timestamp"
        rows_found = project.rows(f"select {columns}, update_timestamp from {{schema}}.{name} order by id")
        assert [row[:2] for row in rows_found] == [(1, datetime(2024, 6, 1, 10)), (2, datetime(2024, 6, 1, 8))]
        assert rows_found[0][2:] == (HIGH, None)
        assert rows_found[1][2] == rows_found[1][3] is not None


@pytest.mark.one_format("delta")  # which maps such names
def test_new_structs_and_names_with_backticks_are_kept(project: Project) -> None:
    long = ", ".join(f"'f{n}', {n}" for n in range(30))
    first = "select 1 as id, 2 as `größe```"
    more = f"named_struct('unit price', 5) as price, named_struct({long}) as payload"
    grown_by = f"{first}, {more}", f"select 1 as id, 3 as `größe```, {more}"
    write(project, "grown", CHECKED, first, *grown_by)
    # a backtick is too much for Delta's change feed
    write(project, "logged", f"{CHECKED}, {LOGGED}", *(rows.replace("größe``", "größe") for rows in (first, *grown_by)))
    write(project, "fresh", CHECKED, f"{first}, {more}", f"{first}, {more}")
    # fields in another order, one of them without a type
    addresses = "'a' as city, '1' as zip", "'2' as zip, null as city"
    first_address, second_address = (f"struct({address}) as v" for address in addresses)
    places = "select 1 as id, %s, timestamp '2024-01-0%d' as at"
    write(project, "moved", BY_TIME, places % (first_address, 1), places % (second_address, 2))
    for number in (0, 1, 1, 2):
        run(project, number)
    grown = (
        "select id, `größe```, price.`unit price`, payload.f29, dbt_valid_to is null from {schema}.grown order by 2, 3"
    )
    assert project.rows(grown) == [(1, 2, None, None, False), (1, 2, 5, 29, False), (1, 3, 5, 29, True)]
    log = "select op, after.price.`unit price`, after.payload.f29 from {schema}.logged__changes where op = 'i' order by ts"
    assert project.rows(log) == [("i", None, None), ("i", 5, 29), ("i", 5, 29)]
    moved = "select v.city, v.zip, dbt_valid_to is null from {schema}.moved order by dbt_valid_from"
    assert project.rows(moved) == [("a", "1", False), (None, "2", True)]
    types = dict(project.columns("grown"))
    assert types["price"] == "struct<unit price:int>"
    assert project.rows("select `größe```, price.`unit price`, payload.f29 from {schema}.fresh") == [(2, 5, 29)]


@pytest.mark.one_format("iceberg")
def test_types_that_would_round_are_refused_and_a_share_of_deletes_may_be_reached(project: Project) -> None:
    write(
        project,
        "prices",
        CHECKED,
        "select 1 as id, 1.25 as price, 7 as n, 0.5F as rate, date '2024-01-01' as due",
        "select 1 as id, 1.2525 as price, 7.5D as n, 0.1BD as rate, timestamp_ntz '2024-01-01 10:00' as due",
    )
    write(
        project, "days", BY_TIME,
        "select 1 as id, date '2024-01-01' as at", "select 1 as id, timestamp '2024-01-01 10:00:00' as at",
    )  # fmt: skip
    write(
        project, "starts", BY_TIME,
        "select 1 as id, timestamp '2024-01-01 10:00:00' as at", "select 1 as id, date '2024-01-02' as at",
    )  # fmt: skip
    by_day = "strategy='check', check_cols=['v'], updated_at=('day' if var('run') == 0 else none)"
    write(project, "undated", by_day, *(f"select 1 as id, {v} as v, date '2024-01-01' as day" for v in (1, 2)))
    shares = "meta={'dbt_cdc': {'max_delete_fraction': 0.29}}"
    write(project, "shares", f"{BY_TIME}, {shares}", *(
        f"select id, timestamp '2024-01-01' as at from range({rows})" for rows in (100, 71, 50)
    ))  # fmt: skip
    run(project, 0)
    result = project.run_results()["shares"]
    assert result["adapter_response"]["operations"] == {"I": 100, "U": 0, "D": 0}
    assert result["message"] == "OK (100 new, 0 changed, 0 deleted)"
    run(project, 1, "--select", "shares")
    closed = "select count(*), count(dbt_valid_to) from {schema}.shares"
    assert project.rows(closed) == [(100, 29)]
    said = project.error("snapshot", "--vars", "{run: 2}")
    assert "column 'price' of " in said and "is decimal(3,2), got decimal(5,4) from the source, whose values" in said
    assert "column 'n' of " in said and "is int, got double from the source" in said
    assert "column 'rate' of " in said and "is float, got decimal(1,1) from the source" in said
    assert "column 'due' of " in said and "is date, got timestamp_ntz from the source" in said
    start = f"column 'dbt_valid_from' of {project.schema}.%s is %s, got %s from %s"
    assert start % ("days", "date", "timestamp", "updated_at, whose time of day it would lose: cast it in") in said
    assert start % ("starts", "timestamp", "date", "updated_at, by which records would begin before what was") in said
    assert start % ("undated", "date", "timestamp", "the time of the run, whose time of day it would lose: set") in said
    assert "would close 21 of 71 live records" in said
    assert project.rows(closed) == [(100, 29)]
    assert project.rows("select * except(dbt_scd_id, dbt_updated_at, dbt_valid_from) from {schema}.prices") == [
        (1, pytest.approx(1.25), 7, 0.5, date(2024, 1, 1), None)
    ]
    day, ten = date(2024, 1, 1), datetime(2024, 1, 1, 10)
    assert project.rows("select id, at, dbt_valid_from, dbt_valid_to from {schema}.days") == [(1, day, day, None)]
    assert project.rows("select id, at, dbt_valid_from, dbt_valid_to from {schema}.starts") == [(1, ten, ten, None)]
    assert project.rows("select id, v, dbt_valid_from, dbt_valid_to from {schema}.undated") == [(1, 1, day, None)]


@pytest.mark.one_format("iceberg")
def test_what_was_text_and_is_none_any_more_is_compared_as_text(project: Project) -> None:
    texts = (
        "select id, v, w from values (1, 'n/a', 'true'), (2, '2', 'yes'), (3, '07', 'x'), (4, 'x', null) as t(id, v, w)"
    )
    others = "select id, v, w from values (1, 5, true), (2, 2, true), (3, 7, null), (4, null, null) as t(id, v, w)"
    checks = {"all_columns": CHECKED, "one_column": "strategy='dbt.check', check_cols=['v']"}
    for name, config in checks.items():
        write(project, name, f"{config}, hard_deletes='new_record'", texts, others, f"{others} where id <> 1")
    nested = "5 as v, named_struct('a', 1) as s, array(named_struct('a', 1)) as l"
    write(
        project, "emptied", CHECKED, f"select 1 as id, {nested}", "select 1 as id, null as v, null as s, array() as l"
    )
    # of a deleted row the last value is kept, also where the source has no values any more
    timed = "select id, timestamp '2024-01-01' as at, %s as v from values (1, 'a'), (2, 'b') as t(id, v)"
    write(project, "gone", BY_TIME.replace("invalidate", "new_record"), timed % "v", f"{timed % 'null'} where id = 2")
    at = "select 1 as id, timestamp '2024-01-0%s' as at, %s as v"
    write(project, "collated", BY_TIME, at % (1, "'a'"), at % (2, "'B' collate UTF8_LCASE"))
    # no table keeps a collation: 'A' is another key than 'a', and another text
    rows = "select id collate UTF8_LCASE as id, array(v collate UTF8_LCASE) as l, {0} as v from values {1} as t(id, v)"
    lower, upper = (rows.format("v collate UTF8_LCASE", f"('a', 'x'), ('A', 'y'), ('b', '{v}')") for v in ("z", "Z"))
    write(project, "by_key", f"{CHECKED}, hard_deletes='new_record'", lower, upper)
    for number in (0, 1, 1, 2):
        run(project, number)
    open_rows = "select id, v, w, dbt_is_deleted from {schema}.%s where dbt_valid_to is null order by id"
    closed = (
        "select id, v, w, dbt_is_deleted from {schema}.%s where dbt_valid_to is not null order by id, dbt_valid_from"
    )
    first, two, three, four = (
        (1, "n/a", "true", "False"),
        (2, "2", "yes", "False"),
        (3, "07", "x", "False"),
        (4, "x", None, "False"),
    )
    now = [(1, "5", "true", "True"), (2, "2", "true", "False"), (3, "7", None, "False"), (4, None, None, "False")]
    assert project.rows(open_rows % "all_columns") == now
    assert project.rows(closed % "all_columns") == [first, (1, "5", "true", "False"), two, three, four]
    assert project.rows(open_rows % "one_column") == [now[0], two, *now[2:]]
    assert project.rows(closed % "one_column") == [first, (1, "5", "true", "False"), three, four]
    emptied = "select v, s.a, l.a, dbt_valid_to is null from {schema}.emptied order by 4"
    assert project.rows(emptied) == [(5, 1, [1], False), (None, None, [], True)]
    gone = "select id, v, dbt_is_deleted, dbt_valid_to is null from {schema}.gone order by id, dbt_valid_from"
    assert project.rows(gone) == [(1, "a", "False", False), (1, "a", "True", True), (2, "b", "False", True)]
    assert project.rows("select v, dbt_valid_to is null from {schema}.collated order by 2") == [
        ("a", False),
        ("B", True),
    ]
    by_key = "select id, l, v, dbt_is_deleted, dbt_valid_to is null from {schema}.by_key order by id, dbt_valid_from"
    assert project.rows(by_key) == [
        ("A", ["y"], "y", "False", True),
        ("a", ["x"], "x", "False", True),
        ("b", ["z"], "z", "False", False),
        ("b", ["Z"], "Z", "False", True),
    ]
    for name, column_type in {"all_columns": "string", "one_column": "string", "emptied": "int"}.items():
        assert dict(project.columns(name))["v"] == column_type


@pytest.mark.one_format("iceberg")
def test_a_column_of_another_kind_is_refused(project: Project) -> None:
    # more fields than Spark names in the text of a type
    long = ", ".join(f"'f{n}', {n}" for n in range(30))
    long_type = ",".join(f"f{n}:int" for n in range(30))
    pairs = {
        "number": ("10", "'x'", "int", "string"),
        "named": ("10L", "'11'", "bigint", "string"),
        "day": ("date '2024-01-01'", "'tomorrow'", "date", "string"),
        "time": ("timestamp '2024-01-01'", "1704067200", "timestamp", "int"),
        "flag": ("true", "1", "boolean", "int"),
        "word": ("'a'", "x'61'", "string", "binary"),
        "parts": ("'a'", "array('a')", "string", "array<string>"),
        "bytes": ("x'61'", "'a'", "binary", "string"),
        "list": ("array(1)", "array('1')", "array<int>", "array<string>"),
        "narrow": ("array(1.5F)", "array(1.5D)", "array<float>", "array<double>"),
        "places": (
            "named_struct('a', 1, 'b', 2)",
            "named_struct('b', 2, 'a', 1)",
            "struct<a:int,b:int>",
            "struct<b:int,a:int>",
        ),
        "long": (
            f"named_struct('a', 1, 'b', 2, {long})",
            f"named_struct('b', 2, 'a', 1, {long})",
            f"struct<a:int,b:int,{long_type}>",
            f"struct<b:int,a:int,{long_type}>",
        ),
    }
    pairs["void"] = (
        "named_struct('a', 1, 'b', 2)",
        "named_struct('b', 2, 'a', null)",
        "struct<a:int,b:int>",
        "struct<b:int,a:void>",
    )
    # of those that follow nothing is compared
    uncompared = {
        "gained": ("named_struct('a', 1)", "named_struct('a', 1, 'b', 2)", "struct<a:int>", "struct<a:int,b:int>"),
        "lost": ("named_struct('a', 1, 'b', 2)", "named_struct('a', 1)", "struct<a:int,b:int>", "struct<a:int>"),
        "shape": ("array(1)", "map('a', 1)", "array<int>", "map<string,int>"),
        "inner": (
            "array(named_struct('b c', 'x', 'a', 1))",
            "array(named_struct('A', 'x', 'b c', 1))",
            "array<struct<b c:string,a:int>>",
            "array<struct<A:string,b c:int>>",
        ),
    }
    pairs |= uncompared
    # a deletion's record has the values of the last one or the source's, in one column
    pairs["record"] = pairs["places"]
    configs = dict.fromkeys(pairs, CHECKED) | {"named": "strategy='check', check_cols=['v']", "day": BY_TIME}
    configs |= dict.fromkeys(uncompared, BY_TIME)
    configs["record"] = BY_TIME.replace("invalidate", "new_record")
    for name, (first, second, *_) in pairs.items():
        write_values(project, name, configs[name], first, second)
    run(project, 0)
    before = {name: project.rows(f"select * from {{schema}}.{name}") for name in pairs}
    said = project.error("snapshot", "--vars", "{run: 1}")
    for name, (*_, kept, given) in pairs.items():
        assert (
            f"column 'v' of {project.schema}.{name} is {kept}, got {given} from the source, which is of another kind: "
            in said
        )
        assert project.rows(f"select * from {{schema}}.{name}") == before[name]
    assert said.count("cast it in the snapshot's query, or change the table's column") == len(pairs)


@pytest.mark.one_format("iceberg")
def test_a_key_of_text_takes_no_numbers(project: Project) -> None:
    """Spark finds 7 equal to '007', and writes it as '7'."""
    texts, numbers = "select '007' as id, 1 as v", "select 7 as id, 2 as v"
    write(project, "one", CHECKED, texts, numbers)
    run(project, 0)
    before = project.rows("select * from {schema}.one")
    error = project.error("snapshot", "--vars", "{run: 1}")
    assert (
        f"column 'id' of {project.schema}.one is string, got int from the source, by which its keys would be" in error
    )
    assert project.rows("select * from {schema}.one") == before


def test_nested_values_that_no_run_compares_are_cut_short_in_none(project: Project) -> None:
    refused = {
        "list": ("array(1)", "array(1.5D)", "array<int>", "array<double>"),
        "money": (
            "map('a', cast(1.25 as decimal(5,2)))",
            "map('a', cast(1.256 as decimal(6,3)))",
            "map<string,decimal(5,2)>",
            "map<string,decimal(6,3)>",
        ),
        "days": (
            "named_struct('day', date '2024-01-01')",
            "named_struct('day', timestamp '2024-01-02 08:00:00')",
            "struct<day:date>",
            "struct<day:timestamp>",
        ),
        "moved": (
            "named_struct('a', cast(1.25 as decimal(5,2)), 'b', 'x')",
            "named_struct('b', 'y', 'a', cast(1.256 as decimal(6,3)))",
            "struct<a:decimal(5,2),b:string>",
            "struct<b:string,a:decimal(6,3)>",
        ),
        "texted": (
            "named_struct('a', 1, 'b', 'x')",
            "named_struct('a', 1.5D, 'b', 7)",
            "struct<a:int,b:string>",
            "struct<a:double,b:int>",
        ),
    }
    taken = {
        "wider": ("array(1L)", "array(1)"),
        "places": ("named_struct('a', 1, 'b', 2)", "named_struct('b', 3, 'A', 4)"),
        "texts": ("map('a', array('x'))", "map('a', array(7))"),
    }
    for name, (first, second, *_) in (refused | taken).items():
        write_values(project, name, BY_TIME, first, second)
    run(project, 0)
    before = {name: project.rows(f"select * from {{schema}}.{name}") for name in refused}
    said = project.error("snapshot", "--vars", "{run: 1}")
    for name, (*_, kept, given) in refused.items():
        assert (
            f"column 'v' of {project.schema}.{name} is {kept}, got {given} from the source, whose values it would cut short: "
            in said
        )
        assert project.rows(f"select * from {{schema}}.{name}") == before[name]
    latest = "select v from {schema}.%s where dbt_valid_to is null"
    assert project.rows(latest % "wider") == [([1],)]
    assert project.rows("select v.a, v.b from {schema}.places where dbt_valid_to is null") == [(4, 3)]
    assert project.rows(latest % "texts") == [({"a": ["7"]},)]


@pytest.mark.one_format("iceberg")
def test_numbers_too_large_for_the_table_and_new_columns_without_a_type_are_refused(project: Project) -> None:
    pairs = {
        "count": ("1", "3000000000L", "int", "bigint"),
        "price": ("cast(1.25 as decimal(5,2))", "cast(12345.25 as decimal(9,2))", "decimal(5,2)", "decimal(9,2)"),
        "share": ("1", "1e3D", "int", "double"),
    }
    for name, (first, second, *_) in pairs.items():
        rows = "select 1 as id, {0} as v union all select 2, {1} union all select 3, {0}"
        write(project, name, CHECKED, rows.format(first, first), rows.format(first, second))
    write(project, "small", CHECKED, "select 1 as id, 1 as v", "select 1 as id, 7L as v")
    write(
        project,
        "digits",
        CHECKED + ", hard_deletes='new_record'",
        "select 1 as id, 1D as v union all select 2, 1D",
        "select 1 as id, 9007199254740993L as v",
    )
    write(project, "cents", CHECKED, "select 1 as id, 1D as v", "select 1 as id, 1234567.89 as v")
    waits = "array(interval 1 day) as waits, named_struct('interval day', 1, 'poll-interval-ms', 2) as s"
    write(project, "untyped", CHECKED, "select 1 as id", f"select 1 as id, null as discount, {waits}")
    run(project, 0)
    write(project, "unborn", CHECKED, "", "select 1 as id, array() as discounts, interval 1 month as wait")
    before = {name: project.rows(f"select * from {{schema}}.{name}") for name in pairs}
    said = project.error("snapshot", "--vars", "{run: 1}")
    kept = f"column 'v' of {project.schema}.%s is %s, got %s from the source, "
    advice = ": cast it in the snapshot's query, or change the table's column"
    for name in ("count", "price"):
        assert kept % (name, *pairs[name][2:]) + "with 1 value(s) too large for it" + advice in said
    assert kept % ("digits", "double", "bigint") + "with 1 value(s) of more digits than it keeps" + advice in said
    assert kept % ("share", "int", "double") + "whose values it would cut short" + advice in said
    for column in ("discount' of the source is void", "discounts' of the source is array<void>"):
        assert f"column '{column}, which is no type, and no table of format 'iceberg' gives it one" in said
    for column in ("waits' is of type array<interval day>", "wait' is of type interval month"):
        assert f"column '{column}, and tables keep no intervals: cast it in the snapshot's query" in said
    assert said.count("intervals") == 2
    assert "discount" not in dict(project.columns("untyped")) and "unborn" not in project.tables()
    for name in pairs:
        assert project.rows(f"select * from {{schema}}.{name}") == before[name]
    assert project.rows("select v, dbt_valid_to from {schema}.digits") == [(1.0, None)] * 2
    assert project.rows("select v, dbt_valid_to is null from {schema}.small order by v") == [(1, False), (7, True)]
    assert project.rows("select v, dbt_valid_to is null from {schema}.cents order by v") == [
        (1.0, False),
        (1234567.89, True),
    ]
    assert dict(project.columns("small"))["v"] == "int"


@pytest.mark.one_format("delta")
def test_a_column_without_a_type_gets_that_of_its_first_values(project: Project) -> None:
    # Delta keeps `void`; Iceberg and Hudi have no such columns, or never give them a type
    without, with_types = (
        "select 1 as id, null as `v w`, null as t",
        "select 1 as id, 'x' as `v w`, timestamp_ntz '2024-01-01' as t",
    )
    write(project, "plain", CHECKED, without, with_types, "select 1 as id, 'y' as `v w`, null as t")
    write(project, "logged", f"{CHECKED}, {LOGGED}", without, with_types)
    write(project, "nested", CHECKED, without, "select 1 as id, array(1) as `v w`, null as t")
    # what the source's own table says of its columns holds for no other
    project.sql(
        "create table {schema}.things (id int, v varchar(3) not null, s struct<a:varchar(3)> not null, n int default 5) using delta"
        " tblproperties ('delta.feature.allowColumnDefaults' = 'supported')"
    )
    project.sql("insert into {schema}.things (id, v, s) values (1, 'abc', named_struct('a', 'abc'))")
    longer = "select 1 as id, 'abcdef' as v, named_struct('a', 'abcdef') as s, 6 as n"
    write(project, "outgrown", CHECKED, f"select * from {project.schema}.things", longer)
    run(project, 0)
    assert dict(project.columns("plain"))["v w"] == "void"
    # as a run leaves it that is killed between the images
    project.sql("alter table {schema}.logged__changes alter column before.`v w` type string")
    said = project.error("snapshot", "--vars", "{run: 1}")
    assert (
        f"column 'v w' of {project.schema}.nested is void, got array<int> from the source, which is of another kind"
        in said
    )
    run(project, 1, "--exclude", "nested")
    run(project, 2, "--select", "plain")
    day = datetime(2024, 1, 1)
    versions = "select id, `v w`, t, dbt_valid_to is null from {schema}.%s order by dbt_valid_from"
    assert project.rows(versions % "plain") == [(1, None, None, False), (1, "x", day, False), (1, "y", None, True)]
    assert project.rows(versions % "logged") == [(1, None, None, False), (1, "x", day, True)]
    assert project.rows(versions % "nested") == [(1, None, None, True)]
    outgrown = "select id, v, s.a, n, dbt_valid_to is null from {schema}.outgrown order by dbt_valid_from"
    assert project.rows(outgrown) == [(1, "abc", "abc", 5, False), (1, "abcdef", "abcdef", 6, True)]
    for name in ("plain", "logged"):
        assert project.columns(name)[:3] == [("id", "int"), ("v w", "string"), ("t", "timestamp_ntz")]
    asked = "{{ config(materialized='table') }} select op, before.`v w` as was, after.`v w` as became"
    project.write({"models/asked.sql": asked + " from {{ dbt_cdc.table_changes(ref('plain'), begin=0) }}"})
    project.dbt("run", "--select", "asked")
    changes = project.rows("select * from {schema}.asked order by op, became")
    assert changes == [("i", None, "x"), ("i", None, "y"), ("u", None, None)]
    log = "select op, before.`v w`, before.dbt_valid_to is null, after.`v w`, after.t from {schema}.logged__changes"
    assert sorted(project.rows(log), key=str) == [
        ("i", None, True, "x", day),
        ("i", None, True, None, None),
        ("u", None, True, None, None),
    ]

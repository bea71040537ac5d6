"""`<model>__changes` tells what became of the table, however much of each row it keeps."""

from __future__ import annotations

import datetime
import json
import re

import pytest

from tests.support.changes import LOG_HOOKS, Changes, vacuum
from tests.support.project import Project
from tests.support.statements import killed_at, watch

MODES = ("key_op", "data_before", "data_before_after")
MODEL = (
    "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id'," + LOG_HOOKS + ") }}"
    "select id, v, m from {{ source('given', 'feed') }}"
)
#: Reads what changed in such a model, by version.
READER = """
    {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
    select id, v, _op from {{ dbt_cdc.ref_changes('MODE', by='version') }}
"""
READERS = [f"read_{mode}" for mode in MODES]
SOURCES = "sources: [{name: given, schema: '%s', tables: [{name: feed}]}]\n"


@pytest.fixture
def changes(changes: Changes) -> Changes:
    changes.create("feed", "id int, v string, m map<string, int>")
    changes.project.write({f"models/{mode}.sql": MODEL.replace("MODE", repr(mode)) for mode in MODES})
    changes.project.write({"models/sources.yml": SOURCES % changes.project.schema})
    return changes


def write_to_all(changes: Changes, *statements: str) -> None:
    for mode in MODES:
        changes.write(mode, *statements)


def give(changes: Changes, *rows: str) -> None:
    """Let the next run find these rows only."""
    values = f"values {', '.join(rows)}" if rows else "values (0, '', map()) limit 0"
    changes.write("feed", f"insert overwrite {{t}} select * from {values}")


@pytest.mark.one_format("iceberg")  # tests/property shows the logs of Delta
def test_every_mode_logs_each_change_once_and_answers_alike(changes: Changes) -> None:
    project, run = changes.project, ("run", "--select", *MODES)
    give(changes, "(1, 'a', map('x', 1))", "(2, 'b', null)")
    project.dbt(*run)
    project.write({f"models/read_{mode}.sql": READER.replace("MODE", mode) for mode in MODES})
    give(changes, "(1, 'a', map('x', 1))", "(2, 'c', null)", "(3, null, map('y', 2))")
    project.dbt(*run, *READERS)
    write_to_all(changes, "delete from {t} where id = 1", "update {t} set v = 'd' where id = 2")
    project.dbt(*run, *READERS)
    for reader in READERS:
        read = project.rows(f"select id, v, _op from {{schema}}.{reader} order by id")
        assert read == [(1, "a", "i"), (2, "c", "u"), (3, None, "i")]
    logged = [("i", 1), ("i", 2), ("u", 2), ("i", 3), ("d", 1), ("u", 2), ("i", 1), ("u", 2)]
    for mode in MODES:
        assert project.rows(f"select op, key.id from {{schema}}.{mode}__changes order by ts, key.id") == logged
    assert [name for name, _ in project.columns("key_op__changes")] == ["op", "ts", "version", "key"]
    assert [name for name, _ in project.columns("data_before__changes")] == ["op", "ts", "version", "key", "before"]
    assert [name for name, _ in project.columns("data_before_after__changes")][-2:] == ["before", "after"]

    # a write that no run has logged yet is told all the same
    write_to_all(changes, "delete from {t} where id = 3")
    for mode in MODES:
        changes.ask(
            **{
                f"{mode}_all": f"'spark_catalog.{{schema}}.{mode}'",
                f"{mode}_net": f"'{mode}', format='net'",
                f"{mode}_some": f"ref('{mode}'), begin='{changes.versions(mode)[-3]}'",
            }
        )
        # Spark makes no view over Delta's feed
        kept_as = "view" if changes.format == "iceberg" else "table"
        view = "{{ config(materialized='%s') }} select * from {{ dbt_cdc.table_changes(ref('%s')) }}"
        project.write({f"models/{mode}_view.sql": view % (kept_as, mode)})
    project.dbt("run", "--select", *[f"{mode}_{what}" for mode in MODES for what in ("all", "net", "some", "view")])
    # which a run then logs: a view that was made before still tells it once
    project.dbt(*run)
    a, b, c, d = (1, "a", {"x": 1}), (2, "b", None), (2, "c", None), (2, "d", None)
    e = (3, None, {"y": 2})
    first = [("i", None, a), ("i", None, b), ("i", None, e), ("u", b, c)]
    last = [("i", None, a), ("u", d, c), ("d", e, None)]
    for mode in MODES:
        for what in ("all", "view"):
            assert changes.answer(f"{mode}_{what}", mode) == [*first, ("d", a, None), ("u", c, d), *last]
        assert changes.answer(f"{mode}_net", mode) == [("i", None, a), ("i", None, c)]
        assert changes.answer(f"{mode}_some", mode) == last
        moments = dict(changes.commits(mode))
        for answer in (f"{mode}_all", f"{mode}_net"):
            assert all(row["ts"] == moments[row["version"]] for row in changes.rows(answer, mode))


@pytest.mark.one_format("delta")
def test_a_log_outlives_what_its_table_forgets_and_is_not_begun_where_it_can_not_be(changes: Changes) -> None:
    project, versioned = changes.project, ("run", "--vars", "{mode: data_before}")
    moved = MODEL.replace("MODE", "var('mode')")
    project.write({"models/moved.sql": moved, "models/taken.sql": moved})
    project.sql("create table {schema}.taken__changes (id int) using " + changes.format)
    project.write({f"models/read_{mode}.sql": READER.replace("MODE", mode) for mode in MODES})
    give(changes, "(1, 'a', null)", "(2, 'b', null)")
    message = project.error(*versioned)
    assert "taken can't run, nothing was written" in message
    assert f"{project.schema}.taken__changes is where change_log 'data_before' keeps its rows" in message
    assert "got a table that dbt_cdc did not make; rename or drop it" in message
    kept = {"feed", "taken__changes", *MODES, *[f"{mode}__changes" for mode in MODES], "moved", "moved__changes"}
    assert project.tables() == kept | {*READERS, "cdc_metadata"}

    if changes.format == "delta":
        changes.write("data_before", "alter table {t} set tblproperties (delta.enableChangeDataFeed = false)")
    write_to_all(changes, "update {t} set v = 'c' where id = 1", "update {t} set v = 'd' where id = 1")
    write_to_all(changes, "insert overwrite {t} select * from {t}")
    give(changes)
    message = project.error("run", "--vars", "{mode: key_op}", "--exclude", "taken", *READERS)
    assert "moved__changes was begun with change_log 'data_before', got 'key_op'; set it back, or begin" in message
    forget_old_versions(changes, *MODES)
    write_to_all(changes, "delete from {t} where id = 2")
    ((updated,),) = project.rows("select min_by(version, ts) from {schema}.key_op__changes where op = 'u'")
    changes.ask(key_op_within=f"ref('key_op'), begin='{updated}'")
    for mode in MODES:
        changes.ask(
            **{
                f"{mode}_all": f"ref('{mode}')",
                f"{mode}_last": f"ref('{mode}'), begin='{changes.versions(mode)[-2]}'",
            }
        )
    answers = [f"{mode}_{what}" for mode in MODES for what in ("all", "last")] + ["key_op_within"]
    project.dbt("run", "--vars", "{mode: key_op}", "--full-refresh", "--select", "moved")
    message = project.error("run", "--vars", "{mode: key_op}", "--select", *answers, *READERS)
    assert message.count("is older than what the table's changes can still be told from") == 1
    assert "read_key_op can't run" in message and "run this model with --full-refresh" in message
    for reader in READERS[1:]:
        assert project.rows(f"select * from {{schema}}.{reader} order by id") == [(1, "d", "u"), (2, "b", "d")]
    assert message.count("its log keeps no such images (change_log 'key_op')") == 2
    assert "and the table's version is gone that has them, expected a range that begins at or after version" in message
    a, b, c, d = ((key, v, None) for key, v in ((1, "a"), (2, "b"), (1, "c"), (1, "d")))
    deleted = ("d", b, None)
    for mode in MODES:
        assert changes.answer(f"{mode}_last", mode) == [deleted]
    for mode in MODES[1:]:
        places = "select op, before, after from {schema}.%s_all order by ts, after.id"
        told = [
            (op, before and tuple(before), after and tuple(after)) for op, before, after in project.rows(places % mode)
        ]
        assert told == [("i", None, a), ("i", None, b), ("u", a, c), ("u", c, d), deleted]
    assert "key_op_all" not in project.tables()
    assert project.rows("select op, key.id from {schema}.moved__changes") == []
    assert [name for name, _ in project.columns("moved__changes")] == ["op", "ts", "version", "key"]

    if changes.format == "iceberg":
        return
    # nor are versions asked for that the answer does without: before the range begins, or after all that is in it
    changes.write("data_before", "insert into {t} values (3, 'e', null)")
    forget_old_versions(changes, "data_before")
    changes.write("data_before", "insert into {t} values (4, 'f', null)")
    ((updated,),) = project.rows("select min_by(version, ts) from {schema}.data_before__changes where op = 'u'")
    changes.ask(
        since=f"ref('data_before'), begin='{changes.versions('data_before')[-2]}'",
        followed=f"ref('data_before'), begin={int(updated) - 1}, end={updated}",
        newest=f"ref('data_before'), begin={updated}, end={int(updated) + 1}",
        long_ago="ref('data_before'), begin='2001-01-01'",
    )
    message = project.error("run", "--vars", "{mode: key_op}", "--select", "since", "followed", "newest", "long_ago")
    # the log reaches further back than the feed of what is left
    ((logged,),) = project.rows("select min_by(version, ts) from {schema}.data_before__changes")
    assert (
        f"(2001-01-01, latest] begins before its log, expected one that begins at or after version {logged} ("
        in message
    )
    assert "its log keeps no such images (change_log 'data_before')" in message
    assert changes.answer("since", "data_before") == [("i", None, (4, "f", None))]
    assert changes.answer("followed", "data_before") == [("u", a, c)]


@pytest.mark.only_format("delta")
def test_a_log_remembers_a_renaming_that_its_table_has_forgotten(changes: Changes) -> None:
    project, mapped = changes.project, "'delta.columnMapping.mode' = 'name', 'delta.checkpointInterval' = '2'"
    hooks = LOG_HOOKS.replace("MODE", "'data_before_after'")
    itself = "config(materialized='incremental', incremental_strategy='append', unique_key='id'," + hooks + ")"
    project.write({"models/own.sql": "{{ " + itself + " }} select * from {{ this }} where false"})
    changes.create("own", "id int, v string", properties=mapped)
    changes.write("own", "insert into {t} values (1, 'a'), (2, 'b')")
    project.dbt("run", "--select", "own")
    changes.write("own", "alter table {t} rename column v to w", *["update {t} set w = w || 'x' where id = 1"] * 2)
    project.dbt("run", "--select", "own")
    for version in range(4):
        (project.place("own") / f"_delta_log/{version:020}.json").unlink()
    project.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    assert changes.versions("own") == ["4"]
    changes.ask(asked="ref('own')", since="ref('own'), begin=2", too_early="ref('own'), begin=1")
    message = project.error("run", "--select", "asked", "since", "too_early")
    assert "(1, latest] begins before its log, expected one that begins at or after version 2 (" in message
    for answer in ("asked", "since"):
        told = project.rows(f"select op, version, before.w, after.w from {{schema}}.{answer} order by ts")
        assert told == [("u", "3", "a", "ax"), ("u", "4", "ax", "axx")]


@pytest.mark.only_format("iceberg")
def test_a_log_that_holds_all_of_a_range_needs_nothing_of_the_table(
    changes: Changes, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, logged = changes.project, "data_before_after"
    run = ("run", "--select", logged)
    give(changes, "(1, 'a', null)", "(2, 'b', null)")
    project.dbt(*run)
    give(changes)
    changes.write(logged, "update {t} set v = 'd' where id = 1", "delete from {t} where id = 2")
    project.dbt(*run)
    ((updated, deleted),) = project.rows(
        f"select max(version) filter (where op = 'u'), max(version) filter (where op = 'd') from {{schema}}.{logged}__changes"
    )
    changes.write(logged, "{compact}")
    forget_old_versions(changes, logged)
    changes.ask(
        up_to_delete=f"ref('{logged}'), end={deleted}, format='net'",
        since_delete=f"ref('{logged}'), begin={deleted}",
        since_update=f"ref('{logged}'), begin={updated}",
    )
    answers = ("up_to_delete", "since_delete", "since_update")
    net = [("i", None, (1, "d", None))]

    def told(answer: str) -> list[tuple[str, object, object]]:
        found = project.rows(f"select op, before, after from {{schema}}.{answer}")
        return [(op, before and tuple(before), after and tuple(after)) for op, before, after in found]

    # what compacted it is the one snapshot that is left, and has the rows of the one that was logged last
    project.dbt(*run, *answers)
    assert [told(answer) for answer in answers] == [net, [], [("d", (2, "b", None), None)]]
    changes.write(logged, "insert into {t} values (5, 'g', null)")
    # a range that begins with what is left asks for none of the log's commits from before that
    asked = []

    def look(sql: str) -> None:
        if "max(unix_micros(ts))" in sql:
            asked.append(sorted(version for version, _ in project.rows(sql)))

    watch(monkeypatch, look)
    changes.ask(since_left=f"ref('{logged}'), begin={changes.versions(logged)[0]}")
    project.dbt("run", "--select", "since_left", "up_to_delete", "--threads", "1")
    assert told("since_left") == [("i", None, (5, "g", None))]
    assert sorted(asked) == [[], sorted([updated, deleted])]
    forget_old_versions(changes, logged)
    message = project.error(*run) + project.error("run", "--select", *answers)
    assert message.count("it no longer knows (expired or cleaned), so that what changed since can't be told; drop") == 3
    assert told("up_to_delete") == net


@pytest.mark.one_format("delta")
def test_a_range_is_told_from_the_log_or_where_it_begins_before_the_log_from_the_feed(changes: Changes) -> None:
    project = changes.project
    for mode in MODES:  # the feed is there before the log; on Delta, one table has none until then
        changes.create(mode, "id int, v string, m map<string, int>", feed=mode != "key_op")
    write_to_all(
        changes,
        "insert into {t} values (1, 'a', null), (2, 'b', null)",
        "update {t} set v = 'c' where id = 1",
        "delete from {t} where id = 2",
    )
    inserts = {mode: changes.versions(mode)[-3] for mode in MODES}
    project.dbt("run")
    write_to_all(changes, "insert into {t} values (3, 'd', null)")
    project.dbt("run")
    write_to_all(changes, "update {t} set v = 'e' where id = 1")
    for mode in MODES:
        table, last = f"ref('{mode}')", changes.versions(mode)[-1]
        changes.ask(
            **{
                f"{mode}_all": f"{table}, begin='earliest'",
                f"{mode}_none": f"{table}, begin='earliest', end='earliest'",
                f"{mode}_fed": f"{table}, begin={inserts[mode]}",
                f"{mode}_before": f"{table}, begin='2001-01-01'",
                f"{mode}_beyond": f"{table}, begin={last}, end='2999-01-01'",
                f"{mode}_backwards": f"{table}, begin={last}, end='earliest'",
            }
        )
    # what a log lacks comes from Delta's feed, which reads what changed, but for a view, which can't read it
    ((begun, logged),) = project.rows(
        "select min_by(version, ts), max_by(version, ts) from {schema}.data_before__changes"
    )
    changes.ask(since_begun=f"ref('data_before'), begin={begun}")
    within = f"ref('data_before'), begin={begun}, end={logged}"
    view = "{{ config(materialized='view') }} select * from {{ dbt_cdc.table_changes(%s) }}"
    project.write({"models/within.sql": view % within})
    message = project.error("run", "--exclude", *MODES)

    a, c, d, e = ((key, v, None) for key, v in ((1, "a"), (1, "c"), (3, "d"), (1, "e")))
    later = [("i", None, d), ("u", c, e)]
    # the feed reaches further back than the log, also that which was switched on for it
    assert message.count("(2001-01-01, latest] begins before the change feed, expected one that begins at") == 3
    assert message.count("begins before the change feed") == (4 if changes.format == "delta" else 3)
    assert message.count("2999-01-01] goes beyond the last commit, expected one up to version") == 3
    assert message.count(", earliest] ends before it begins; exchange the two") == 3
    for mode in MODES:
        assert changes.answer(f"{mode}_all", mode) == [("i", None, c), *later]
        assert changes.answer(f"{mode}_none", mode) == []
        if mode != "key_op":
            assert changes.answer(f"{mode}_fed", mode) == [("u", a, c), ("d", (2, "b", None), None), *later]
    assert changes.answer("since_begun", "data_before") == later
    if changes.format == "delta":
        asked = project.written("since_begun")
        assert "_commit_version" in asked and "version as of" not in asked and "__changes" not in asked
    assert changes.answer("within", "data_before") == later[:1]


@pytest.mark.only_format("delta")  # where a feed has to be switched on
def test_the_log_and_the_feed_of_a_new_table_begin_with_its_first_commit(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write(
        {
            "models/applied.sql": """
                {{ config(materialized='apply_changes', unique_key='id',
                          meta={'dbt_cdc': {'sequence_by': 'seq', 'change_log': 'key_op'}}) }}
                select * from values (1, 'a', 'x', 1), (2, 'b', 'y', 1), (1, 'a', 'z', 2) as events (id, v, w, seq)
                where seq <= {{ var('run') }}
            """,
            "models/asked.sql": """
                {{ config(materialized='table') }}
                {% for rows in [dbt_cdc.table_changes(ref('applied')), dbt_cdc.table_changes(ref('applied'), begin=0),
                                dbt_cdc.table_changes(ref('applied'), format='net', unique_key='v')] %}
                select {{ loop.index }} as question, op, version, before.w as was, after.w as is from {{ rows }}
                {{ 'union all' if not loop.last }}
                {% endfor %}
            """,
        }
    )
    project.dbt("run", "--vars", "{run: 1}")
    assert project.rows("select op, key.id, version from {schema}.applied__changes order by 2") == [
        ("i", 1, "0"),
        ("i", 2, "0"),
    ]
    asked: list[str] = []
    watch(monkeypatch, lambda sql: asked.extend(re.findall("describe history [^/]*", sql)))
    project.dbt("run", "--vars", "{run: 2}")
    # the log's run asks for the newest commit as it begins, and for what came since when it has written; then each question does
    whole = f"describe history {project.schema}.applied"
    one, newest = f"{whole} limit 1", f"{whole} limit 200"
    assert [sql.strip() for sql in asked] == [one, newest, whole, newest, whole]
    last = project.rows("describe history {schema}.applied")[0][0]
    assert project.rows("select * from {schema}.asked order by all") == [
        (1, "i", "0", None, "x"),
        (1, "i", "0", None, "y"),
        (1, "u", str(last), "x", "z"),
        (2, "u", str(last), "x", "z"),
        (3, "i", "0", None, "y"),
        (3, "i", str(last), None, "z"),
    ]


@pytest.mark.one_format("iceberg")
def test_a_long_log_is_gone_on_with_from_the_end_that_it_has_noted(
    changes: Changes, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, asked, merges = changes.project, [], []

    def look(sql: str) -> None:
        """Keeps what is asked of the log's commits, as it is answered then, and what is written to it."""
        if "max(unix_micros(ts))" in sql:
            asked.append(sorted(version for version, _ in project.rows(sql)))
        if "merge into" in sql and "key_op__changes" in sql:
            merges.append(sql)

    def run(key: int) -> str:
        """The version whose rows the run wrote."""
        give(changes, f"({key}, 'a', null)")
        project.dbt("run", "--select", "key_op")
        return str(changes.versions("key_op")[-1])

    def noted() -> str:
        return str(project.rows("show tblproperties {schema}.key_op__changes ('dbt_cdc.upto')")[0][1][::2])

    begun = run(0)
    watch(monkeypatch, look)
    second = run(1)
    assert noted() == begun  # the rows after it say how far the log is
    for key in range(2, 52):
        changes.write("key_op", f"insert into {{t}} values ({key}, 'x', null)")
    last = run(52)
    assert noted() == last
    newest = run(53)
    assert noted() == last
    # what another run has written meanwhile, such as these 50 commits, is not written twice
    assert "on logged.ts >= timestamp_micros(" in merges[1]
    project.sql(merges[1])
    logged = project.rows("select op, key.id from {schema}.key_op__changes order by ts, key.id")
    assert logged == [("i", key) for key in range(54)]
    changes.ask(asked=f"ref('key_op'), begin='{begun}', format='net'")
    project.dbt("run", "--select", "asked")
    assert len(changes.answer("asked", "key_op")) == 53
    # a run asks twice, a question once; commits that are noted are not looked for, such as the one that brought the table
    assert [len(found) for found in asked] == [0, 0, 1, 51, 0, 0, 1]
    assert asked[2] == [second] and asked[-1] == [newest]


@pytest.mark.one_format("iceberg")
def test_columns_that_come_and_go_are_logged_alike_in_every_mode(changes: Changes) -> None:
    project, run = changes.project, ("run", "--select", *MODES)
    itself = "{% if is_incremental() %}select * from {{ this }} where false{% else %}select id, v, m"
    for mode in MODES:
        model = MODEL.replace("MODE", repr(mode)).replace("select id, v, m", itself) + "{% endif %}"
        project.write({f"models/{mode}.sql": model})
    mapping = {"+tblproperties": {"delta.columnMapping.mode": "name"}}
    project.configure(models={"consumer": mapping if changes.format == "delta" else {}})
    give(changes, "(1, 'a', null)", "(2, 'b', null)")
    project.dbt(*run)
    if changes.format == "delta":
        write_to_all(changes, "alter table {t} set tblproperties ('delta.feature.timestampNtz' = 'supported')")
    write_to_all(
        changes,
        "alter table {t} add columns (`a b` int, at timestamp_ntz, s struct<`x: y`: int>)",
        "update {t} set `a b` = 1, at = timestamp_ntz '2024-01-01 00:00:00', s = named_struct('x: y', 1) where id = 1",
        "update {t} set v = 'c' where id = 2",
    )
    project.dbt(*run)
    write_to_all(changes, "alter table {t} drop column v", "update {t} set `a b` = 2 where id = 2")
    project.dbt(*run)
    write_to_all(changes, "alter table {t} add columns (s.y int)", "update {t} set s.y = 3 where id = 1")
    message = project.error(*run)
    for mode in MODES[1:]:
        assert f"{mode}__changes keeps column 's' of {project.schema}.{mode} as struct<x: y:int>" in message
        assert f", got struct<x: y:int,y:int>; drop {project.schema}.{mode}__changes to begin a new log" in message

    changes.ask(**{f"{mode}_all": f"ref('{mode}')" for mode in MODES})
    project.dbt("run", "--select", *[f"{mode}_all" for mode in MODES])
    at = datetime.datetime(2024, 1, 1)
    one, two = (1, None, None, None, None), (2, None, None, None, None)
    filled, later = (1, None, 1, at, {"x: y": 1, "y": None}), (1, None, 1, at, {"x: y": 1, "y": 3})
    for mode in MODES:
        assert changes.answer(f"{mode}_all", mode) == [
            ("i", None, one),
            ("i", None, two),
            ("u", one, filled),
            ("u", two, (2, None, 2, None, None)),
            ("u", filled, later),
        ]


@pytest.mark.one_format("iceberg")
def test_a_log_is_not_begun_anew_behind_ones_back(changes: Changes) -> None:
    project, run = changes.project, ("run", "--select", *MODES)
    give(changes, "(1, 'a', null)")
    project.dbt(*run)
    give(changes, "(1, 'b', null)")
    project.dbt(*run)
    logs = {mode: project.rows(f"select * from {{schema}}.{mode}__changes order by ts") for mode in MODES}
    # one table is dropped, one goes back or is made anew, one forgets what its log has not got yet
    changes.write("key_op", "drop table {t}")
    if changes.format == "iceberg":
        first = changes.versions("data_before")[0]
        changes.write("data_before", f"call spark_catalog.system.rollback_to_snapshot('{{t}}', {first})")
    else:
        changes.write("data_before", "drop table {t}")
        changes.write("data_before", "create table {t} using delta as select * from {schema}.feed")
    changes.write("data_before_after", *[f"update {{t}} set v = '{number}'" for number in range(3)])
    forget_old_versions(changes, "data_before_after")
    changes.ask(told="'{schema}.data_before', unique_key='id'")
    message = project.error("run", "--select", *MODES, "told")

    assert f"{project.schema}.key_op__changes is the log of a table that is gone" in message
    ((end,),) = project.rows("select max_by(version, ts) from {schema}.data_before__changes")
    assert f"data_before__changes ends with version {end} of {project.schema}.data_before, which" in message
    assert message.count("which the table as it is does not come from (it was rolled back, or made anew)") == 2
    assert "so that what changed since can't be told; drop" in message
    gone = {"delta": "where its log ends, can't be told: the oldest version that", "iceberg": "(expired or cleaned)"}
    assert gone[changes.format] in message
    assert message.count("and keep versions for longer than the time between two runs") == 1
    assert not {"key_op", "told"} & project.tables()
    assert {mode: project.rows(f"select * from {{schema}}.{mode}__changes order by ts") for mode in MODES} == logs

    changes.write("key_op__changes", "drop table {t}")
    project.dbt("run", "--select", "key_op")
    project.dbt("run", "--full-refresh", "--select", "data_before", "data_before_after")
    for mode in MODES:
        assert project.rows(f"select op, key.id from {{schema}}.{mode}__changes") == [("i", 1)]


@pytest.mark.one_format("iceberg")
def test_a_full_refresh_that_is_refused_leaves_the_log_one_that_goes_on(project: Project) -> None:
    meta = "{'sequence_by': 'v', 'change_log': 'data_before'}"
    hashed = """
        def model(dbt, spark):
            dbt.config(materialized="hash_diff", unique_key="id", meta={"dbt_cdc": {"change_log": "data_before"}})
            return dbt.source("raw", "rows")
    """
    project.write(
        {
            "models/sources.yml": "sources: [{name: raw, schema: '{{ target.schema }}', tables: [{name: rows}]}]",
            "models/applied.sql": f"{{{{ config(materialized='apply_changes', unique_key='id', meta={{'dbt_cdc': {meta}}})"
            " }} select * from {{ source('raw', 'rows') }}",
            "models/hashed.py": hashed,
        }
    )

    def give(rows: str) -> None:
        project.sql(
            f"create or replace table {{schema}}.rows using {project.file_format} as select * from values {rows} t(id, v)"
        )

    give("(1, 1)")
    project.dbt("run")
    give("(1, 1), (null, 2)")
    assert project.error("run", "--full-refresh").count("nothing was written") == 2
    logs = {name: project.rows(f"select * from {{schema}}.{name}__changes") for name in ("applied", "hashed")}
    # so a table that is gone is told of, and its log kept
    give("(1, 3)")
    project.sql("drop table {schema}.applied")
    project.sql("drop table {schema}.hashed__base")
    message = project.error("run")
    assert f"{project.schema}.applied__changes is the log of a table that is gone" in message
    assert f"{project.schema}.hashed__changes is the log of a table that is gone" in message
    for name, rows in logs.items():
        assert project.rows(f"select * from {{schema}}.{name}__changes") == rows
    # a full refresh that is right begins it anew
    project.dbt("run", "--full-refresh")
    for name in logs:
        assert project.rows(f"select op, before from {{schema}}.{name}__changes") == [("i", None)]


@pytest.mark.one_format("iceberg")
def test_a_table_that_was_killed_before_it_was_done_is_built_again_with_a_log_of_its_own(project: Project) -> None:
    config = "materialized='apply_changes', unique_key='id', contract={'enforced': true},"
    config += "meta={'dbt_cdc': {'sequence_by': 'seq', 'change_log': 'data_before'}}"
    columns = "columns: [{name: id, data_type: int}, {name: seq, data_type: int}]"
    project.write(
        {
            "models/m.sql": f"{{{{ config({config}) }}}} select 1 as id, {{{{ var('seq') }}}} as seq",
            "models/m.yml": f"models: [{{name: m, {columns}}}]",
        }
    )
    for seq, full_refresh in ((1, []), (3, ["--full-refresh"])):
        with killed_at("set tblproperties .*dbt_cdc.generation"):
            assert "killed" in project.error("run", *full_refresh, "--vars", f"{{seq: {seq}}}")
        project.dbt("run", "--vars", f"{{seq: {seq + 1}}}")
        assert project.rows("select * from {schema}.m") == [(1, seq + 1)]
        assert project.rows("select op, key.id, before from {schema}.m__changes") == [("i", 1, None)]
        assert {name for name in project.tables() if "__dbt_tmp_" not in name} == {"m", "m__events", "m__changes"}


@pytest.mark.only_format("iceberg")
def test_an_error_after_the_tables_own_write_says_what_was_not_written(project: Project) -> None:
    config = "materialized='apply_changes', unique_key='id', pre_hook=var('hook', 'select 1'),"
    config += "meta={'dbt_cdc': {'sequence_by': 'seq', 'change_log': 'key_op'}}"
    project.write({"models/m.sql": f"{{{{ config({config}) }}}} select 1 as id, {{{{ var('seq') }}}} as seq"})
    for seq in (1, 2):
        project.dbt("run", "--vars", f"{{seq: {seq}}}")
    logged = project.rows("select * from {schema}.m__changes order by ts")
    ((first,),) = project.rows("select min_by(snapshot_id, made_current_at) from {schema}.m.history")
    hook = f"call spark_catalog.system.rollback_to_snapshot('{project.schema}.m', {first})"
    message = project.error("run", "--vars", json.dumps({"seq": 3, "hook": hook}))
    assert "model.consumer.m can't run, its change log was not written:" in message
    assert (
        f"{project.schema}.m__changes ends with version" in message and "(it was rolled back, or made anew)" in message
    )
    assert project.rows("select * from {schema}.m") == [(1, 3)]
    assert project.rows("select * from {schema}.m__changes order by ts") == logged
    # the next one is told before it writes
    message = project.error("run", "--vars", "{seq: 4}")
    assert "model.consumer.m can't run, nothing was written:" in message
    assert project.rows("select * from {schema}.m") == [(1, 3)]


@pytest.mark.only_format("delta")  # whose feed fails by such a name
def test_a_name_that_the_feed_does_not_take_is_told_and_the_table_goes_on_without(project: Project) -> None:
    config = "{{{{ config(materialized='apply_changes', unique_key='id', meta={{'dbt_cdc': {}}}) }}}}"
    rows = "select 1 as id, {{ var('run') }} as `a``b`, {{ var('run') }} as seq"
    logged = config.format("{'sequence_by': 'seq', 'change_log': 'key_op'}") + rows
    project.write({"models/m.sql": logged})
    message = project.error("run", "--vars", "{run: 1}")
    assert "model.consumer.m can't run, nothing was written" in message
    assert "column 'a`b' has a name by which a table of format 'delta' with a change log fails: rename it" in message
    project.write({"models/m.sql": config.format("{'sequence_by': 'seq'}") + rows})
    project.dbt("run", "--vars", "{run: 2}")
    assert project.rows("select id, `a``b`, seq from {schema}.m") == [(1, 2, 2)]
    assert project.tables() == {"m", "m__events"}


@pytest.mark.one_format("iceberg")
def test_change_log_where_it_keeps_nothing_or_is_misspelt_is_an_error_before_anything_is_written(
    project: Project,
) -> None:
    kinds = ("table", "view", "incremental")
    logged = "{{ config(materialized='%s', meta={'dbt_cdc': {'change_log': '%s'}}) }} select 1 as id, 1 as seq"
    project.write({f"models/as_{kind}.sql": logged % (kind, "key_op") for kind in kinds})
    project.write(
        {
            "models/applied.sql": logged % ("apply_changes", "key_opp"),
            "models/hashed.py": "def model(dbt, spark):\n    return spark.sql('select 1 as id')\n",
            "models/hashed.yml": """
                models:
                  - name: hashed
                    config: {materialized: hash_diff, unique_key: id, meta: {dbt_cdc: {change_log: data-before}}}
            """,
            "snapshots/snapped.yml": """
                snapshots:
                  - name: snapped
                    relation: ref('plain')
                    config: {unique_key: id, strategy: check, check_cols: all, meta: {dbt_cdc: {change_log: true}}}
            """,
            "models/plain.sql": "select 1 as id",
        }
    )
    project.error("build")
    message = project.log()
    for kind in kinds:
        assert f"got 'key_op' on model.consumer.as_{kind} ({kind}); take it out, or ask the table itself" in message
    assert project.tables() == set()

    message = project.error("build", "--exclude", *[f"as_{kind}" for kind in kinds])
    allowed = "option 'change_log' must be one of key_op, data_before, data_before_after, got "
    assert allowed + "\"key_opp\", did you mean 'key_op'?" in message
    assert allowed + "\"data-before\", did you mean 'data_before'?" in message
    assert allowed + "true" in message
    assert project.tables() == {"plain"}


def forget_old_versions(changes: Changes, *tables: str) -> None:
    """Take away the files, or the snapshots, of all versions but the newest."""
    if changes.format == "delta":
        vacuum(changes.project, *tables)
        return
    for table in tables:
        expired = f"table => '{{schema}}.{table}', older_than => now(), retain_last => 1"
        changes.project.sql(f"call spark_catalog.system.expire_snapshots({expired})")

"""`<model>__changes` tells what became of the table, however much of each row it keeps."""

from __future__ import annotations

import random

import pytest

from tests.support.changes import Changes
from tests.support.project import Project

MODES = ("key_op", "data_before", "data_before_after")
MODEL = """
    {{{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id',
               meta={{'dbt_cdc': {{'change_log': '{mode}'}}}},
               pre_hook="{{% if is_incremental() %}}{{{{ dbt_cdc._keep_change_log(this) }}}}{{% endif %}}",
               post_hook="{{{{ dbt_cdc._keep_change_log(this, restart=flags.FULL_REFRESH) }}}}") }}}}
    select id, v, m from {{{{ source('given', 'feed') }}}}
"""
SOURCES = "sources: [{name: given, schema: '%s', tables: [{name: feed}]}]\n"


@pytest.fixture
def changes(project: Project) -> Changes:
    changes = Changes(project)
    changes.create("feed", "id int, v string, m map<string, int>")
    project.write({f"models/{mode}.sql": MODEL.format(mode=mode) for mode in MODES})
    project.write({"models/sources.yml": SOURCES % project.schema})
    return changes


def write_to_all(changes: Changes, *statements: str) -> None:
    for mode in MODES:
        changes.write(mode, *statements)


def give(changes: Changes, *rows: str) -> None:
    """Let the next run find these rows only."""
    values = f"values {', '.join(rows)}" if rows else "values (0, '', map()) limit 0"
    changes.write("feed", f"insert overwrite {{t}} select * from {values}")


def test_every_mode_logs_each_change_once_and_answers_alike(changes: Changes) -> None:
    project, run = changes.project, ("run", "--select", *MODES)
    give(changes, "(1, 'a', map('x', 1))", "(2, 'b', null)")
    project.dbt(*run)
    give(changes, "(1, 'a', map('x', 1))", "(2, 'c', null)", "(3, null, map('y', 2))")
    project.dbt(*run)
    write_to_all(changes, "delete from {t} where id = 1", "update {t} set v = 'd' where id = 2")
    project.dbt(*run)
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
                f"{mode}_all": f"ref('{mode}')",
                f"{mode}_net": f"ref('{mode}'), format='net'",
                f"{mode}_some": f"ref('{mode}'), begin='{changes.versions(mode)[-3]}'",
            }
        )
    project.dbt("run", "--select", *[f"{mode}_{what}" for mode in MODES for what in ("all", "net", "some")])
    a, b, c, d = (1, "a", {"x": 1}), (2, "b", None), (2, "c", None), (2, "d", None)
    e = (3, None, {"y": 2})
    first = [("i", None, a), ("i", None, b), ("i", None, e), ("u", b, c)]
    last = [("i", None, a), ("u", d, c), ("d", e, None)]
    for mode in MODES:
        assert changes.answer(f"{mode}_all", mode) == [*first, ("d", a, None), ("u", c, d), *last]
        assert changes.answer(f"{mode}_net", mode) == [("i", None, a), ("i", None, c)]
        assert changes.answer(f"{mode}_some", mode) == last


def test_random_histories_have_one_answer_in_all_modes_and_replay_to_the_table(changes: Changes) -> None:
    chance = random.Random(7)
    project, run = changes.project, ("run", "--select", *MODES)
    give(changes)
    project.dbt(*run)
    for _ in range(3):
        for _ in range(chance.randint(1, 3)):
            key, text = chance.randint(1, 5), chance.choice(["'p'", "'q'", "null"])
            statement = chance.choice(
                [
                    f"delete from {{t}} where id = {key}",
                    f"update {{t}} set v = {text}, m = map('k', {key}) where id <= {key}",
                    f"merge into {{t}} t using (select {key} as id, {text} as v, map('k', 1) as m) s on t.id = s.id"
                    " when matched then update set * when not matched then insert *",
                    f"insert overwrite {{t}} select * from (select id, v, m from {{t}} where id <> {key}"
                    f" union all select {key}, {text}, null)",
                ]
            )
            write_to_all(changes, statement)
        give(changes, *[f"({key}, 'n{key}', null)" for key in chance.sample(range(1, 7), 2)])
        project.dbt(*run)
    for mode in MODES:
        formats = {f"{mode}_{form}": f"ref('{mode}'), format='{form}'" for form in ("cdc", "net", "latest_state")}
        middle = changes.versions(mode)[len(changes.versions(mode)) // 2]
        changes.ask(**formats, **{f"{mode}_part": f"ref('{mode}'), begin='{middle}'"})
    project.dbt("run", "--exclude", *MODES)

    for form in ("cdc", "net", "latest_state", "part"):
        answers = [changes.answer(f"{mode}_{form}", mode) for mode in MODES]
        assert answers[0] and answers[0] == answers[1] == answers[2]
    for mode in MODES:
        replayed: dict[int, object] = {}
        for _, before, after in changes.answer(f"{mode}_cdc", mode):
            assert replayed.get((after or before)[0]) == before
            replayed[(after or before)[0]] = after
        rows = [tuple(row) for row in project.rows(f"select * from {{schema}}.{mode}")]
        assert sorted(filter(None, replayed.values()), key=str) == sorted(rows, key=str)

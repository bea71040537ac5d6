"""The rule of apply_changes as a property: the result depends only on the set of events, never on runs or order.

Hypothesis draws event sets; all of them go into one feed, each twice: sorted in the first run, and shuffled over three
runs. Every model then reads that feed, and an oracle in plain Python says what each table must hold. As many series of
full images are drawn, whose changes are such events.

    DBT_CDC_EVENT_SETS=3000 pytest tests/property/test_apply_any_order.py --table-format iceberg

(default 200; sets are new on each such run; on Delta, which `--every-test` asks too, a fifth of them for two of the models)
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.property.scd_oracle import Event, Rules, bitemporal, scd1, scd2
from tests.support.drawn import asked_for, draw
from tests.support.project import Project

VARIABLE = "DBT_CDC_EVENT_SETS"
SETS = asked_for(VARIABLE, 200)
WIDTH = 3
RUNS = 3
#: sequences of the truncates, run by run; most events come later
TRUNCATES = random.Random(SETS).sample(range(1, 10), RUNS)

values = st.tuples(
    st.sampled_from([None, 1, 2]), st.sampled_from([None, "", "x", "null"]), st.sampled_from([None, 0.0, 1.5])
)
column_sets = st.one_of(st.none(), st.frozensets(st.integers(0, WIDTH - 1)))
sequences, systems = st.integers(1, 25), st.integers(1, 6)
upserts = st.builds(Event, st.just(()), sequences, st.just("upsert"), values, column_sets, systems)
deletes = st.builds(Event, st.just(()), sequences, st.just("delete"), system=systems)
events_of_parts = st.tuples(st.sampled_from(["p", "q"]), st.one_of(upserts, upserts, deletes))
#: hypothesis draws a list of 1 to 60 with six on average
event_sets = st.one_of(
    st.lists(events_of_parts, min_size=1, max_size=11), st.lists(events_of_parts, min_size=12, max_size=60)
)

#: the full images of a series: the value of each part that is there
images = st.lists(
    st.dictionaries(st.sampled_from(["p", "q", "r"]), st.sampled_from([None, "", "x"])), min_size=5, max_size=5
)

#: model: (options, rules, whether events set only some columns)
MODELS: dict[str, tuple[dict[str, Any], Rules, bool]] = {
    "scd1": ({}, Rules(WIDTH), False),
    "scd2": ({"stored_as_scd_type": 2}, Rules(WIDTH), False),
    "scd2_tracked": (
        {"stored_as_scd_type": 2, "track_history_column_list": ["a"]},
        Rules(WIDTH, tracked=[0]),
        False,
    ),
    "scd1_ignore": ({"ignore_null_updates": True}, Rules(WIDTH, ignore_null=range(WIDTH)), False),
    "scd2_ignore": (
        {"stored_as_scd_type": 2, "ignore_null_updates_except_column_list": ["b"]},
        Rules(WIDTH, ignore_null=[0, 2]),
        False,
    ),
    "scd2_partial": (
        {"stored_as_scd_type": 2, "columns_to_update": "cols", "track_history_except_column_list": ["c"]},
        Rules(WIDTH, tracked=[0, 1]),
        True,
    ),
    "scd1_truncate": ({"apply_as_truncates": "op = 't'"}, Rules(WIDTH), False),
}
BITEMPORAL: dict[str, Any] = {"stored_as_scd_type": "bitemporal", "system_sequence_by": "known"}
#: of a feed in which later knowledge corrects earlier
CORRECTED: dict[str, tuple[dict[str, Any], Rules, bool]] = {
    "bitemporal": (BITEMPORAL, Rules(WIDTH), False),
    "bitemporal_options": (
        {**BITEMPORAL, "ignore_null_updates": True, "track_history_column_list": ["a"], "columns_to_update": "cols"},
        Rules(WIDTH, tracked=[0], ignore_null=range(WIDTH)),
        True,
    ),
}
#: of the same feed, in which a sequence may have several contents: which one counts must not depend on the order
RESOLVED: dict[str, Any] = {"stored_as_scd_type": 2, "on_conflict": "resolve"}
RESOLVED_PARTS = {**RESOLVED, "columns_to_update": "cols", "ignore_null_updates_except_column_list": ["b"]}
#: versions of the images that a run gives; the last repeats what there was
IMAGES_OF_RUNS = {"0": "1, 2", "1": "3"}
IMAGES = """
    {{ config(materialized='apply_changes', unique_key=['number', 'part'], meta={'dbt_cdc': {'source_kind': 'snapshot',
              'sequence_by': 'ver', 'except_column_list': ['ver'], 'stored_as_scd_type': SCD}}) }}
    select * from {{ target.schema }}.images where ver in ({{ VERSIONS.get(var('runs'), '1, 2, 3, 4, 5') }})
"""
#: read all of the feed so far in each run, which first forgets all deletes, with what they have outdone
FORGETFUL = {f"{name}_forgetful": MODELS[name] for name in ("scd1", "scd1_ignore", "scd1_truncate", "scd2")}
#: the SQL is the same on each format: on other ones than Iceberg these show that the format's writes are
ELSEWHERE = {"scd1_truncate", "bitemporal_options"}


def draw_sets(count: int, *, corrected: bool) -> list[list[Event]]:
    """Event sets without contradictions: of two contents of one key and moment the first drawn stays."""
    return [
        list(consistent(number, event_set, corrected=corrected))
        for number, event_set in enumerate(draw(event_sets, VARIABLE, count))
    ]


def consistent(number: int, event_set: list[tuple[str, Event]], *, corrected: bool) -> Iterator[Event]:
    contents: dict[tuple[str, int, int], Event] = {}
    for part, event in event_set:
        if event.kind == "upsert":
            moment = (part, event.sequence, event.system if corrected else 0)
            event = contents.setdefault(moment, event)
        yield replace(event, key=(number, part))


def given(sets: list[list[Event]]) -> list[tuple[str, Event, int]]:
    """The feed: each set sorted in run 0, and shuffled over the runs, the last of which repeats some."""
    chance = random.Random(SETS)
    feed = []
    for events in sets:
        for event in sorted(events, key=lambda e: e.sequence):
            feed.append(("sorted", event, 0))
        for event in chance.sample(events, len(events)):
            feed.append(("shuffled", event, chance.randrange(RUNS)))
        feed.append(("shuffled", chance.choice(events), RUNS - 1))
    return feed


def feed_row(order: str, event: Event, run: int) -> tuple[Any, ...]:
    columns = None if event.sets is None else ["abc"[i] for i in sorted(event.sets)]
    data = event.values or (None,) * WIDTH
    return (order, *event.key, event.kind[0], event.sequence, *data, columns, event.system, run)


def model(options: dict[str, Any], feed: str, runs: str = "run in ({{ var('runs') }})") -> str:
    meta = {
        "sequence_by": "seq",
        "apply_as_deletes": "op = 'd'",
        "except_column_list": ["op", "seq", "cols", "known"],
        **options,
    }
    truncates = "true" if "apply_as_truncates" in options else "op <> 't'"
    return (
        "{{ config(materialized='apply_changes', unique_key=['ord', 'number', 'part'], meta={'dbt_cdc': "
        + repr(meta)
        + "}) }}\n"
        "select * except (run) from {{ target.schema }}." + feed + f" where {runs} and {truncates}"
    )


@pytest.mark.one_format("iceberg")
def test_the_tables_depend_on_the_set_of_events_alone(project: Project) -> None:
    whole = project.file_format == "iceberg"
    count = SETS if whole else SETS // 5
    sets, corrected = draw_sets(count, corrected=False), draw_sets(count, corrected=True)
    feed = given(sets)
    rows = [feed_row(*one) for one in feed]
    rows += [
        (None, None, None, "t", sequence, None, None, None, None, 1, run) for run, sequence in enumerate(TRUNCATES)
    ]
    store(project, "feed", rows)
    store(project, "corrected", [feed_row(*one) for one in given(corrected)])
    every = {**MODELS, **CORRECTED}
    names = set(every) if whole else ELSEWHERE
    feeds = {**dict.fromkeys(MODELS, "feed"), **dict.fromkeys(CORRECTED, "corrected")}
    project.write({f"models/{name}.sql": model(every[name][0], feeds[name]) for name in names})
    drawn = draw(images, VARIABLE, count)
    if whole:
        resolved = {"resolved": RESOLVED, "resolved_parts": RESOLVED_PARTS}
        project.write({f"models/{name}.sql": model(options, "corrected") for name, options in resolved.items()})
        store_images(project, drawn)
        so_far = "run <= {{ var('runs') }}"
        project.write(
            {
                f"models/{name}.sql": model({**options, "tombstone_retention": "0 seconds"}, "feed", so_far)
                for name, (options, _, _) in FORGETFUL.items()
            }
        )

    for run in range(RUNS):
        project.dbt("run", "--vars", f"{{runs: '{run}'}}")
        if whole:
            check_so_far(project, sets, [(order, event) for order, event, number in feed if number <= run], run)
    check(project, sets, {name: MODELS[name] for name in names & set(MODELS)})
    check(project, corrected, {name: CORRECTED[name] for name in names & set(CORRECTED)})
    for name in names & {"scd2", "scd2_tracked"}:
        check_versions(project, name)
    if whole:
        check_resolved(project, corrected)
        check_resolved_parts(project)
        check_images(project, drawn)
    again = names & {"scd1_truncate", "scd2", "bitemporal_options"}
    project.dbt("run", "--vars", "{runs: '0, 1, 2'}", "--select", *again)  # all batches again, in one
    check(project, sets, {name: MODELS[name] for name in again & set(MODELS)})
    check(project, corrected, {name: CORRECTED[name] for name in again & set(CORRECTED)})


def store(project: Project, name: str, rows: list[tuple[Any, ...]]) -> None:
    columns = "ord string, number int, part string, op string, seq int, a int, b string, c double, cols array<string>"
    frame = project.spark.createDataFrame(rows, f"{columns}, known int, run int")
    frame.writeTo(f"{project.schema}.{name}").using(project.file_format).create()


def check(project: Project, sets: list[list[Event]], models: dict[str, tuple[dict[str, Any], Rules, bool]]) -> None:
    for name, (options, rules, partial) in sorted(models.items()):
        events = [event if partial else replace(event, sets=None) for one in sets for event in one]
        if "apply_as_truncates" in options:
            events += [Event((), sequence, "truncate") for sequence in TRUNCATES]
        for order in ("sorted", "shuffled"):
            compare(project, name, order, sets, table_of(options, rules, events))


def check_so_far(project: Project, sets: list[list[Event]], feed: list[tuple[str, Event]], run: int) -> None:
    for name, (options, rules, _) in FORGETFUL.items():
        truncates = TRUNCATES[: run + 1] if "apply_as_truncates" in options else []
        for order in ("sorted", "shuffled"):
            events = {replace(event, sets=None, system=0) for by, event in feed if by == order}
            whole = [*events, *(Event((), sequence, "truncate") for sequence in truncates)]
            compare(project, name, order, sets, table_of(options, rules, whole))


def table_of(options: dict[str, Any], rules: Rules, events: list[Event]) -> list[tuple[Any, ...]]:
    if options.get("stored_as_scd_type") == "bitemporal":
        return bitemporal(events, rules)
    if options.get("stored_as_scd_type") == 2:
        return [(*v.key, *v.values, v.start, v.end) for v in scd2(events, rules)]
    return scd1(events, rules)


def compare(project: Project, name: str, order: str, sets: list[list[Event]], expected: list[tuple[Any, ...]]) -> None:
    got = project.rows(f"select * except (ord) from {{schema}}.{name} where ord = '{order}'")
    wrong = {row[0] for row in set(got) ^ set(expected)}
    smallest = min(wrong, key=lambda number: len(sets[number]), default=None)
    assert smallest is None, f"{name}, {order}, set {smallest}: {sets[smallest]}"
    assert len(got) == len(expected)


def store_images(project: Project, drawn: list[list[dict[str, Any]]]) -> None:
    rows = [
        (number, part, version, value)
        for number, series in enumerate(drawn)
        for version, image in enumerate(series, 1)
        for part, value in image.items()
    ]
    frame = project.spark.createDataFrame(rows, "number int, part string, ver int, v string")
    frame.writeTo(f"{project.schema}.images").using(project.file_format).create()
    text = IMAGES.replace("VERSIONS", repr(IMAGES_OF_RUNS))
    project.write({f"models/images_scd{scd}.sql": text.replace("SCD", str(scd)) for scd in (1, 2)})


def check_images(project: Project, drawn: list[list[dict[str, Any]]]) -> None:
    events = [
        Event((number, part), version, "upsert", (image[part],))
        if part in image
        else Event((number, part), version, "delete")
        for number, series in enumerate(drawn)
        for version, image in enumerate(series, 1)
        for part in "pqr"
    ]
    versions = [(*v.key, *v.values, v.start, v.end) for v in scd2(events, Rules(1))]
    for scd, expected in {1: scd1(events, Rules(1)), 2: versions}.items():
        got = project.rows(f"select * from {{schema}}.images_scd{scd}")
        wrong = min((row[0] for row in set(got) ^ set(expected)), default=None)
        assert wrong is None, f"images, type {scd}: {drawn[wrong]}"
        assert len(got) == len(expected)


def check_resolved(project: Project, sets: list[list[Event]]) -> None:
    """Sorted or shuffled, the versions are those of the events if one content of each sequence is taken, whichever."""
    query = "select * except (ord) from {{schema}}.resolved where ord = '{}'"
    rows = {order: project.rows(query.format(order)) for order in ("sorted", "shuffled")}
    assert sorted(rows["sorted"], key=repr) == sorted(rows["shuffled"], key=repr)
    found: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for number, part, *version in rows["sorted"]:
        found.setdefault((number, part), []).append((number, part, *version))
    contradicted = 0
    for key, events in by_key(sets).items():
        possible = [
            sorted(((*v.key, *v.values, v.start, v.end) for v in scd2(choice, Rules(WIDTH))), key=repr)
            for choice in one_content_each(events)
        ]
        assert sorted(found.pop(key, []), key=repr) in possible, events
        contradicted += len(possible) > 1
    assert not found
    assert contradicted > 0


def check_resolved_parts(project: Project) -> None:
    """Events of one moment that set some columns are put together by the order of their hashes in the ledger, whatever it is."""
    recorded = project.rows(
        "select number, part, _dbt_cdc_sequence, _dbt_cdc_kind, _dbt_cdc_columns, a, b, c from {schema}.resolved_parts__events"
        " where ord = 'sorted' order by _dbt_cdc_hash"
    )
    events = [
        Event(
            (number, part), sequence, kind, tuple(data), None if names is None else frozenset(map("abc".index, names))
        )
        for number, part, sequence, kind, names, *data in recorded
    ]
    upserts = [(event.key, event.sequence) for event in events if event.kind == "upsert"]
    assert len(set(upserts)) < len(upserts)
    expected = sorted(
        ((*v.key, *v.values, v.start, v.end) for v in scd2(events, Rules(WIDTH, ignore_null=[0, 2]))), key=repr
    )
    for order in ("sorted", "shuffled"):
        got = project.rows(f"select * except (ord) from {{schema}}.resolved_parts where ord = '{order}'")
        assert sorted(got, key=repr) == expected


def by_key(sets: list[list[Event]]) -> dict[tuple[Any, ...], list[Event]]:
    keys: dict[tuple[Any, ...], list[Event]] = {}
    for event in (event for one in sets for event in one if event.kind != "truncate"):
        keys.setdefault(event.key, []).append(replace(event, sets=None, system=0))
    return keys


def one_content_each(events: list[Event]) -> Iterator[list[Event]]:
    """The events with each choice of one upsert for each sequence that has some."""
    others = [event for event in events if event.kind != "upsert"]
    contents: dict[int, list[Event]] = {}
    for event in events:
        if event.kind == "upsert" and event not in contents.setdefault(event.sequence, []):
            contents[event.sequence].append(event)
    for choice in itertools.product(*contents.values()):
        yield [*others, *choice]


def check_versions(project: Project, name: str) -> None:
    """What must hold of the tables by themselves: type 1 is what is live; no overlap; neighbours differ in what is tracked."""
    tracked = "struct(a)" if name == "scd2_tracked" else "struct(a, b, c)"
    versions = f"""
        select *, {tracked} as tracked, lead(__START_AT) over in_order as next, lead({tracked}) over in_order as next_tracked
        from {{schema}}.{name}
        window in_order as (partition by ord, number, part order by __START_AT)
    """
    overlap = (
        "coalesce(__START_AT >= __END_AT, false) or coalesce(next < __END_AT, next is not null and __END_AT is null)"
    )
    alike = "next = __END_AT and tracked = next_tracked"
    faults = f"select count(*), count_if({overlap}), count_if({alike}) from ({versions})"
    assert project.rows(faults)[0][0] > 0 and project.rows(faults)[0][1:] == (0, 0)
    live = f"select ord, number, part, a, b, c from {{schema}}.{name} where __END_AT is null"
    for one, other in ((live, "select * from {schema}.scd1"), ("select * from {schema}.scd1", live)):
        assert project.rows(f"{one} except {other}") == []

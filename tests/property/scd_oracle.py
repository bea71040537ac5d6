"""SCD 1, SCD 2 and bitemporal tables of a set of events, on paper: key by key, event by event, nothing shared with macros."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Event:
    key: tuple[Any, ...]
    sequence: int
    kind: str  # upsert, delete or truncate
    values: tuple[Any, ...] = ()
    sets: frozenset[int] | None = None  # positions of the values that it sets; None: all
    system: int = 0  # when it became known


@dataclass
class Version:
    key: tuple[Any, ...]
    values: tuple[Any, ...]
    start: int
    end: int | None = None


@dataclass(frozen=True)
class Rules:
    width: int
    tracked: Collection[int] | None = None  # positions; None: all
    ignore_null: Collection[int] = field(default_factory=frozenset)  # positions where NULL keeps the older value


def scd2(events: Iterable[Event], rules: Rules) -> list[Version]:
    """All versions of all keys; of several contents of one moment each sets what it sets, the last one last."""
    return [version for mine in _by_key(events) for version in _history(mine, rules)]


def scd1(events: Iterable[Event], rules: Rules) -> list[tuple[Any, ...]]:
    """The live rows: key and values."""
    events = list(events)
    truncates = [event.sequence for event in events if event.kind == "truncate"]
    after = [e for e in events if e.kind != "truncate" and all(e.sequence > t for t in truncates)]
    return [(*v.key, *v.values) for v in scd2(after, rules) if v.end is None]


def bitemporal(events: Iterable[Event], rules: Rules) -> list[tuple[Any, ...]]:
    """All versions as they were known: key, values, start, end, known from, known to."""
    rows = []
    for mine in _by_key(events):
        since: dict[tuple[Any, ...], int] = {}
        for moment in sorted({event.system for event in mine}):
            known = [event for event in mine if event.system <= moment]
            last = {s: max(e.system for e in known if e.sequence == s) for s in {e.sequence for e in known}}
            history = _history([event for event in known if event.system == last[event.sequence]], rules)
            now = {(*v.key, *v.values, v.start, v.end) for v in history}
            rows += [(*row, since.pop(row), moment) for row in set(since) - now]
            since.update(dict.fromkeys(now - set(since), moment))
        rows += [(*row, moment, None) for row, moment in since.items()]
    return rows


def _by_key(events: Iterable[Event]) -> Iterable[list[Event]]:
    found: dict[tuple[Any, ...], list[Event]] = {}
    for event in events:
        found.setdefault(event.key, []).append(event)
    return found.values()


def _history(events: list[Event], rules: Rules) -> list[Version]:
    tracked = range(rules.width) if rules.tracked is None else rules.tracked
    versions: list[Version] = []
    live: Version | None = None
    for sequence in sorted({event.sequence for event in events}):
        now = [event for event in events if event.sequence == sequence]
        if any(event.kind == "delete" for event in now):
            if live is not None:
                live.end = sequence
            live = None
            continue
        values = live.values if live else (None,) * rules.width
        for event in now:
            values = _merged(event, values, rules)
        if live is not None and all(live.values[i] == values[i] for i in tracked):
            live.values = values
            continue
        if live is not None:
            live.end = sequence
        live = Version(now[0].key, values, sequence)
        versions.append(live)
    return versions


def _merged(event: Event, older: tuple[Any, ...], rules: Rules) -> tuple[Any, ...]:
    def value(i: int) -> Any:
        left_alone = event.sets is not None and i not in event.sets
        null_ignored = event.values[i] is None and i in rules.ignore_null
        return older[i] if left_alone or null_ignored else event.values[i]

    return tuple(value(i) for i in range(rules.width))

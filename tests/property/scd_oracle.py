"""SCD 1 and SCD 2 of a set of events in plain Python: what the real thing is compared with.

It shares nothing with the macros: it walks the events of a key one by one, in order, as one would on paper.
"""

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
    #: positions of the values that this event sets; None: all
    sets: frozenset[int] | None = None


@dataclass
class Version:
    key: tuple[Any, ...]
    values: tuple[Any, ...]
    start: int
    end: int | None = None


@dataclass(frozen=True)
class Rules:
    width: int
    #: positions of the tracked values, and of those where NULL keeps the older value
    tracked: Collection[int] | None = None
    ignore_null: Collection[int] = field(default_factory=frozenset)


def scd2(events: Iterable[Event], rules: Rules) -> list[Version]:
    """All versions of all keys."""
    by_key: dict[tuple[Any, ...], list[Event]] = {}
    for event in events:
        by_key.setdefault(event.key, []).append(event)
    return [version for mine in by_key.values() for version in _history(mine, rules)]


def scd1(events: Iterable[Event], rules: Rules) -> list[tuple[Any, ...]]:
    """The live rows: key and values."""
    events = list(events)
    truncates = [event.sequence for event in events if event.kind == "truncate"]
    after = [e for e in events if e.kind != "truncate" and all(e.sequence > t for t in truncates)]
    return [(*v.key, *v.values) for v in scd2(after, rules) if v.end is None]


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
        values = _merged(now[0], live.values if live else (None,) * rules.width, rules)
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

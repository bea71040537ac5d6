"""What extracts make of a table and its history, in plain Python: load after load, key after key, as one would on paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

Values = tuple[object, ...]


class Row(NamedTuple):
    """A row as it is supplied: the columns that are compared, and those that are stored with the last change."""

    compared: Values
    ignored: Values = ()


class Given(NamedTuple):
    """One load."""

    day: str
    extract: str
    rows: Mapping[Hashable, Row]


class Kept(NamedTuple):
    """A row as a table holds it."""

    key: Hashable
    row: Row
    operation: str
    day: str


class Tables(NamedTuple):
    current: dict[Hashable, Kept]
    history: list[Kept]
    counts: Counter[str]  # of the last load


def in_effect(loads: Sequence[Given]) -> list[Given]:
    """The loads that count: one takes back its own date and all later ones."""
    left: list[Given] = []
    for load in loads:
        left = [*(earlier for earlier in left if earlier.day < load.day), load]
    return left


def replay(loads: Sequence[Given]) -> Tables:
    tables = Tables({}, [], Counter())
    for load in in_effect(loads):
        current, counts = {}, Counter()
        for key in tables.current.keys() | load.rows.keys():
            old, new = tables.current.get(key), load.rows.get(key)
            kept = one_key(key, old, new, load)
            counts[kept.operation] += 1
            if kept.operation != "D":
                current[key] = kept
            if kept.operation in "IUD":
                tables.history.append(kept)
        tables = Tables(current, tables.history, counts)
    return tables


def one_key(key: Hashable, old: Kept | None, new: Row | None, load: Given) -> Kept:
    if old is None:
        assert new is not None
        return Kept(key, new, "I", load.day)
    if new is None:
        gone = load.extract == "full"
        return old._replace(operation="D" if gone else "X", day=load.day if gone else old.day)
    # as text: NaN is NaN, and 0.0 is not -0.0
    if repr(new.compared) == repr(old.row.compared):
        return old._replace(operation="N")
    return Kept(key, new, "U", load.day)

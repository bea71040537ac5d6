"""What the changes of a table are, in plain Python: its states one after the other, compared as one would on paper."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

Row = tuple[Any, ...]
State = dict[Hashable, Row]


class Change(NamedTuple):
    op: str
    commit: int
    before: Row | None
    after: Row | None


#: op of the net change, by the first and the last change of a key in the range
NET = {
    ("i", "i"): "i",
    ("i", "u"): "i",
    ("i", "d"): None,
    ("u", "i"): "u",
    ("u", "u"): "u",
    ("u", "d"): "d",
    ("d", "i"): "u",
    ("d", "u"): "u",
    ("d", "d"): "d",
}


def cdc(states: Sequence[State], begin: int, end: int) -> dict[Hashable, list[Change]]:
    """Every change of each key after commit `begin` and up to commit `end`; -1 is before the first."""
    found: dict[Hashable, list[Change]] = {}
    for commit in range(begin + 1, end + 1):
        old, new = states[commit - 1] if commit else {}, states[commit]
        for key in old.keys() | new.keys():
            before, after = old.get(key), new.get(key)
            if before != after:
                op = "i" if before is None else "d" if after is None else "u"
                found.setdefault(key, []).append(Change(op, commit, before, after))
    return found


def latest_state(states: Sequence[State], begin: int, end: int) -> list[Change]:
    return [changes[-1] for changes in cdc(states, begin, end).values()]


def net(states: Sequence[State], begin: int, end: int) -> list[Change]:
    found = []
    for changes in cdc(states, begin, end).values():
        first, last = changes[0], changes[-1]
        op = NET[first.op, last.op]
        if op is not None:
            before = None if op == "i" else first.before
            after = None if op == "d" else last.after
            found.append(Change(op, last.commit, before, after))
    return found


def compared(states: Sequence[State], begin: int, end: int) -> list[Change]:
    """What the two states alone can tell."""
    between = [states[begin] if begin >= 0 else {}, states[end]]
    return [change._replace(commit=end) for changes in cdc(between, 0, 1).values() for change in changes]

"""The arithmetic of a series of loads: which rows are in load k, and how often each was updated.

Rows are numbered in the order in which they are born. A load deletes the rows that have lived longest, so load k is
one window ``[start, start + size)`` over the numbers: nothing of load k - 1 has to be read. Among the survivors of a
load, those with ``(row + load * updated) mod survivors < updated`` are updated: exactly `updated` of any `survivors`
numbers in a row, and the windows of successive loads follow on from one another, so that a row's version has a closed
form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

#: Beyond this, row arithmetic could leave 64 bits.
MAX_ROWS = 4_000_000_000
MAX_LOAD = 1_000_000_000

Share = float | int | str | Decimal


@dataclass(frozen=True)
class Counts:
    """Rows of a load by what happened to them since the load before."""

    inserted: int
    updated: int
    deleted: int
    unchanged: int


@dataclass(frozen=True)
class Series:
    """An initial load of `first` rows and any number of loads of `later` rows each."""

    first: int
    later: int
    deleted: Share
    updated: Share
    unchanged: Share

    def share_faults(self) -> Iterator[str]:
        """What is wrong with the shares, one sentence each."""
        shares = {"pct_del": self.deleted, "pct_upd": self.updated, "pct_unchanged": self.unchanged}
        wrong = [fault for name, share in shares.items() for fault in share_faults(name, share)]
        yield from wrong
        total = Fraction(1) if wrong else sum((Fraction(decimal(s)) for s in shares.values()), Fraction())
        if total != 1:
            given = " + ".join(str(decimal(share)) for share in shares.values())
            yield f"pct_del + pct_upd + pct_unchanged must be exactly 1, got {given} = {float(total)!r}"

    def misfits(self, no_nonkeys: int) -> Iterator[str]:
        """Where whole numbers and shares, each of them right, do not fit together."""
        counts = self.counts(1)
        if counts.inserted < 0:
            kept = self.first - counts.deleted
            yield (
                f"no_incr_recs must be at least {kept}, got {self.later}: "
                f"{self.first} initial rows less {counts.deleted} deleted ones remain"
            )
        if no_nonkeys == 0 and (counts.updated or self.counts(2).updated):
            yield "no_nonkeys must be at least 1 where rows are updated, got 0"

    def counts(self, load: int) -> Counts:
        """What load `load` (1, 2, …) does to the load before."""
        before = self.size(load - 1)
        deleted, updated = part(before, self.deleted), part(before, self.updated)
        return Counts(self.later - (before - deleted), updated, deleted, before - deleted - updated)

    def size(self, load: int) -> int:
        """Rows of a load; 0 is the initial one."""
        return self.first if load == 0 else self.later

    def start(self, load: int) -> int:
        """The lowest row number of load 1, 2, …"""
        return self.counts(1).deleted + (load - 1) * self.counts(2).deleted

    def version(self, load: int, row: str) -> str:
        """SQL: how often `row` was updated up to `load`."""
        parts = []
        one, two = self.counts(1), self.counts(2)
        if one.updated:
            survivors = self.first - one.deleted
            parts.append(f"if({row} < {self.first}L and {row} % {survivors}L < {one.updated}L, 1L, 0L)")
        if load >= 2 and two.updated:
            survivors, born = self.later - two.deleted, self._born(row)
            parts.append(
                f"({row} + {load * two.updated}L) div {survivors}L - ({row} + {born} * {two.updated}L) div {survivors}L"
            )
        return " + ".join(parts) or "0L"

    def _born(self, row: str) -> str:
        """SQL: the load in which `row` appears first; 1 for initial rows, as load 1 is counted by itself."""
        inserted, early = self.counts(2).inserted, self.first + self.counts(1).inserted
        return f"if({row} < {early}L, 1L, 2L + ({row} - {early}L) div {inserted}L)" if inserted else "1L"


def mixed(number: str, size: int, draw: int) -> str:
    """SQL: a permutation of 0 … size - 1 (at most MAX_ROWS), so that neighbours in a load are of every age."""
    if size < 3:
        return number
    factor = 1 + draw % min(size - 1, 2**31 - 1)
    while math.gcd(factor, size) != 1:
        factor += 1
    return f"({number} * {factor}L + {draw % size}L) % {size}L"


def decimal(share: Share) -> Decimal:
    """The share as written: 0.1 is one tenth, not the nearest binary fraction."""
    return share if isinstance(share, Decimal) else Decimal(str(share))


def part(rows: int, share: Share) -> int:
    """The share of the rows, rounded down."""
    return math.floor(rows * Fraction(decimal(share)))


def share_faults(name: str, share: Share) -> Iterator[str]:
    """A share that is no number from 0 to 1."""
    try:
        valid = not isinstance(share, bool) and 0 <= decimal(share) <= 1
    except InvalidOperation:
        valid = False
    if not valid:
        yield f"{name} must be a number from 0 to 1, got {share!r}"

"""A change feed with its truth: events late, twice and out of order, and the tables that must come of them.

Events are numbered; consecutive numbers belong to one key. An event's place among its key's events decides whether it
is an insert, an update or a delete, so each event, and each row of the truth, is computed from its number alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt_cdc.synthetic._checks import integer_faults, number_faults, object_faults, raise_faults
from dbt_cdc.synthetic._columns import BITS, Columns, draw, drawn, keys
from dbt_cdc.synthetic._loads import range_of, shape_of
from dbt_cdc.synthetic._series import Share, decimal, mixed, part, share_faults

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Sequences and arrivals lie on a time line of this length.
_HORIZON = 2**50
#: Beyond this, event numbers could leave 64 bits.
_MOST = 2_000_000_000


@dataclass(frozen=True)
class Disorder:
    """How a feed misbehaves. Shares are exact: floor(events * share) events, chosen by the seed, none of them both
    late and out of order.

    ``late``: share of events that arrive one to three batches after their own. ``duplicates``: share of events that
    are delivered twice. ``out_of_order``: share of events that arrive up to half a batch after their own time.
    ``deletes``: about that share of events are deletes (at most 0.25). ``hot``: 0 to 10. 0 spreads events evenly over
    the keys; with a greater number, some keys get many more, and some none.
    """

    late: Share = 0.0
    duplicates: Share = 0.0
    out_of_order: Share = 0.0
    deletes: float = 0.1
    hot: float = 0.0

    def faults(self) -> Iterator[str]:
        """What is wrong, one sentence each."""
        shares = ("late", "duplicates", "out_of_order")
        wrong = [fault for name in shares for fault in share_faults(name, getattr(self, name))]
        yield from wrong
        if not wrong and decimal(self.late) + decimal(self.out_of_order) > 1:
            yield f"late + out_of_order must be at most 1, got {self.late} + {self.out_of_order}"
        yield from number_faults("deletes", self.deletes, 0.25)
        yield from number_faults("hot", self.hot, 10)


@dataclass(frozen=True)
class Feed:
    """Events, and what must come of them, in whatever order and batches they are applied.

    ``events``: ``op`` (I, U, D), ``sequence`` (bigint, unique within a key), ``batch`` (int, from 1), ``arrival``
    (bigint, the order of delivery), key and non-key columns; a delete's non-keys are NULL.
    ``state``: key and non-key columns of the rows that are left, as SCD type 1 has them.
    ``history``: key and non-key columns, ``start_at``, ``end_at`` (NULL: still open), as SCD type 2 has them.
    """

    events: DataFrame
    state: DataFrame
    history: DataFrame


def change_feed(
    spark: SparkSession,
    *,
    no_recs: int,
    no_events: int,
    no_keys: int = 1,
    no_nonkeys: int = 3,
    batches: int = 1,
    seed: int = 0,
    disorder: Disorder = Disorder(),
    columns: Columns = Columns(),  # noqa: B008 (frozen)
) -> Feed:
    """A feed of `no_events` events (and their duplicates) on up to `no_recs` keys, with the truth beside it.

    `no_recs` and `no_events` are 1 to 2,000,000,000, `no_nonkeys` is at least 1, `batches` 1 to 1,000,000. The other
    arguments are those of :func:`initial`; `disorder` says how the feed misbehaves.

    Raises SyntheticError for arguments that do not fit; the message lists all faults.
    """
    numbers = {
        "no_recs": (no_recs, 1, _MOST),
        "no_events": (no_events, 1, _MOST),
        "batches": (batches, 1, 1_000_000),
        **shape_of(no_keys, no_nonkeys, seed),
        "no_nonkeys": (no_nonkeys, 1, 10_000),
    }
    faults = [*integer_faults(numbers), *object_faults("disorder", disorder, Disorder)]
    faults += object_faults("columns", columns, Columns)
    raise_faults("change_feed", faults)
    plan = _Plan(no_recs, no_events, batches, seed, disorder)
    key_names = [f"keycol{i + 1}" for i in range(no_keys)]
    names = [*key_names, *(f"nonkeycol{i + 1}" for i in range(no_nonkeys))]
    values = [*keys(no_keys, seed), *columns.nonkeys(no_nonkeys, seed, version="place")]
    delivered = plan.delivered(spark).selectExpr("*", *values)
    row_or_key = [*key_names, *(f"if(op = 'D', null, {name}) as {name}" for name in names[no_keys:])]
    happened = plan.happened(spark).where("op <> 'D'").selectExpr("*", *values)
    return Feed(
        events=delivered.selectExpr("op", "sequence", "batch", "arrival", *row_or_key),
        state=happened.where("next_sequence is null").select(*names),
        history=happened.selectExpr(*names, "sequence as start_at", "next_sequence as end_at"),
    )


@dataclass(frozen=True)
class _Plan:
    """The arithmetic of a feed: from an event's number to its key, place, operation, sequence and arrival."""

    keys: int
    size: int
    batches: int
    seed: int
    disorder: Disorder

    def happened(self, spark: SparkSession) -> DataFrame:
        """Each event once: row, place, op, sequence, next_sequence."""
        return self._placed(range_of(spark, self.size, None).selectExpr("id as delivery", "id as number"))

    def delivered(self, spark: SparkSession) -> DataFrame:
        """Each delivery of an event: also arrival and batch."""
        again = self._share("duplicates")
        copied = mixed(f"(id - {self.size}L)", self.size, drawn(self.seed, "duplicates"))
        deliveries = range_of(spark, self.size + again, None).selectExpr(
            "id as delivery", f"if(id < {self.size}L, id, {copied}) as number"
        )
        arrived = self._placed(deliveries).selectExpr("*", f"sequence + {self._delay()} as arrival")
        width = _HORIZON // self.batches
        return arrived.selectExpr("*", f"cast(least({self.batches}, 1 + (arrival - 1) div {width}L) as int) as batch")

    def _placed(self, numbers: DataFrame) -> DataFrame:
        keyed = numbers.selectExpr("*", f"{self._row()} as row")
        counted = keyed.selectExpr("*", f"{self._first('row')} as first", f"{self._first('row + 1')} as next")
        placed = counted.selectExpr("delivery", "number", "row", "number - first as place", "next - first as events")
        step = f"({_HORIZON}L div events)"
        return placed.selectExpr(
            "*",
            f"case when {self._deletes('place')} then 'D' "
            f"when place = 0 or {self._deletes('place - 1')} then 'I' else 'U' end as op",
            f"{self._sequence('place', step)} as sequence",
            f"if(place + 1 < events, {self._sequence('place + 1', step)}, null) as next_sequence",
        )

    def _row(self) -> str:
        """The key of event `number`: the one whose first event is the last that is not after it."""
        if not self.disorder.hot:
            return f"(number * {self.keys}L) div {self.size}L"
        near = f"cast(floor({self.keys}D * pow(number / {self.size}D, {1.0 + float(self.disorder.hot)!r}D)) as bigint)"
        after = f"number >= {self._first(f'{near} + 1')}"
        return f"case when number < {self._first(near)} then {near} - 1 when {after} then {near} + 1 else {near} end"

    def _first(self, row: str) -> str:
        """The number of a key's first event."""
        if not self.disorder.hot:
            return f"(({row}) * {self.size}L + {self.keys - 1}L) div {self.keys}L"
        share = f"pow(({row}) / {self.keys}D, {1 / (1 + float(self.disorder.hot))!r}D)"
        return f"cast(ceil({self.size}D * {share}) as bigint)"

    def _deletes(self, place: str) -> str:
        """Whether the event at a place is a delete: never a key's first, never two in a row."""
        limit = int((1 - math.sqrt(1 - 4 * self.disorder.deletes)) / 2 * 2**BITS)
        low, lower = (f"({p}) > 0 and {self._draw('delete', 'row', p)} < {limit}L" for p in (place, f"{place} - 1"))
        return f"({low} and not ({lower}))"

    def _sequence(self, place: str, step: str) -> str:
        return f"1L + ({place}) * {step} + {self._draw('sequence', 'row', place)} % {step}"

    def _delay(self) -> str:
        width, some = _HORIZON // self.batches, self._draw("delay", "delivery", "0L")
        again, place = f"delivery >= {self.size}L", mixed("number", self.size, drawn(self.seed, "late"))
        late = self._share("late")
        delayed = late + self._share("out_of_order")
        return (
            f"case when {again} then 1L + {some} % {2 * width}L "
            f"when {place} < {late}L then {width}L + {some} % {2 * width}L "
            f"when {place} < {delayed}L then 1L + {some} % {width // 2}L else 0L end"
        )

    def _share(self, name: str) -> int:
        return part(self.size, getattr(self.disorder, name))

    def _draw(self, purpose: str, *of: str) -> str:
        return draw(self.seed, purpose, 0, *of)

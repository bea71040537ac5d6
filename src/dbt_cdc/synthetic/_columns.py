"""Key and non-key columns as SQL expressions over a row's number and its version.

Every value is a hash of (seed, column, row number, version), so any row of any load can be made anywhere, in any
order, from two numbers. Hashes are Spark's ``xxhash64``: no Python runs on the executors.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from dbt_cdc._hints import did_you_mean
from dbt_cdc.synthetic._checks import number_faults

#: Number of bits of a draw; the last bit of a value is the version's parity, so that an update always changes it.
BITS: Final = 52
_ONE: Final = f"{2.0**BITS!r}D"
_DECIMAL: Final = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")


@dataclass(frozen=True)
class Columns:
    """What the non-key columns hold.

    ``types``: one type for all of them, or several, which the columns take in turn: ``boolean``, ``smallint``,
    ``int``, ``bigint``, ``float``, ``double``, ``decimal(p,s)``, ``string``, ``date``, ``timestamp``,
    ``timestamp_ntz``.

    ``null_share``: share of NULLs, 0 to 0.5 (an update changes every non-key, so NULL can't follow NULL).

    ``skew``: 0 to 100. 0 draws evenly; with a greater number, small values come more often (a draw u becomes
    u^(1 + skew)).
    """

    types: str | tuple[str, ...] = "double"
    null_share: float = 0.0
    skew: float = 0.0

    def faults(self) -> Iterator[str]:
        """What is wrong, one sentence each."""
        if not isinstance(self.types, (str, list, tuple)) or not all(isinstance(name, str) for name in self.types):
            yield f"types must be the name of a type, or a list of names, got {self.types!r}"
        else:
            yield from _types_faults(self._types())
        changes = " (an update changes every non-key, so NULL can't follow NULL)"
        yield from number_faults("null_share", self.null_share, 0.5, changes)
        yield from number_faults("skew", self.skew, 100)

    def nonkeys(self, number: int, seed: int, version: str = "version") -> list[str]:
        """``expression as nonkeycolN`` for each of `number` columns, from two of bigint: `row`, and `version`."""
        types = self._types()
        return [
            f"{self._nonkey(types[i % len(types)], seed, i + 1, version)} as nonkeycol{i + 1}" for i in range(number)
        ]

    def _types(self) -> tuple[str, ...]:
        types = (self.types,) if isinstance(self.types, str) else tuple(self.types)
        return tuple(name.strip().lower() for name in types)

    def _nonkey(self, type_: str, seed: int, column: int, version: str) -> str:
        if type_ == "boolean":
            value = f"({_turn(seed, 'value', column, version)} = 0)"
        else:
            bits = draw(seed, "value", column, "row", version)
            if self.skew:
                bits = f"cast(floor(pow({bits} / {_ONE}, {1.0 + float(self.skew)!r}D) * {_ONE}) as bigint)"
            value = _value(type_, bits, f"({version} & 1)")
        if not self.null_share:
            return value
        # A row's column can be NULL in every other version only; there, twice as often.
        turn, chance = _turn(seed, "null", column, version), draw(seed, "null", column, "row", version)
        return f"if({turn} = 0 and {chance} < {int(2 * self.null_share * 2**BITS)}L, null, {value})"


def keys(number: int, seed: int) -> list[str]:
    """``expression as keycolN``: UUID strings (version 4 in shape), hashes of (seed, column, row number)."""
    return [f"{_uuid(seed, i)} as keycol{i}" for i in range(1, number + 1)]


def _salt(seed: int, purpose: str, number: int) -> str:
    """A bigint literal that sets apart seeds, purposes and columns."""
    return f"{drawn(seed, purpose, number)}L"


def drawn(seed: int, purpose: str, number: int = 0) -> int:
    """A whole number below 2^63 for a seed, a purpose and a number (of a column or load)."""
    digest = hashlib.sha256(f"{seed}/{purpose}/{number}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def draw(seed: int, purpose: str, number: int, *of: str) -> str:
    """SQL: a whole number of BITS bits for the values `of`, even over all of them."""
    return f"shiftrightunsigned(xxhash64({_salt(seed, purpose, number)}, {', '.join(of)}), {64 - BITS})"


def _turn(seed: int, purpose: str, column: int, version: str) -> str:
    """0 and 1 by turns from version to version; which comes first differs by row and column."""
    return f"(({version} + (xxhash64({_salt(seed, purpose + ' turn', column)}, row) & 1)) & 1)"


def _uuid(seed: int, column: int) -> str:
    # A leading 1 keeps hex() from dropping zeros; the variant's bits (10) do the same for the second half.
    high = f"hex((xxhash64({_salt(seed, 'high', column)}, row) & {2**60 - 1}L) | {2**60}L)"
    low = f"hex((xxhash64({_salt(seed, 'low', column)}, row) & {2**62 - 1}L) | shiftleft(1L, 63))"
    return (
        f"lower(concat(substring({high}, 2, 8), '-', substring({high}, 10, 4), '-4', substring({high}, 14, 3), '-', "
        f"substring({low}, 1, 4), '-', substring({low}, 5, 12)))"
    )


def _value(type_: str, bits: str, parity: str) -> str:
    decimal = _DECIMAL.fullmatch(type_)
    if decimal:
        precision, scale = int(decimal[1]), int(decimal[2])
        digits = _whole(bits, parity, 10 ** min(precision, 15))
        return f"cast(concat({digits}, 'e-{scale}') as decimal({precision}, {scale}))"
    return _VALUES[type_](bits, parity)


def _whole(bits: str, parity: str, limit: int) -> str:
    """A whole number from 0 to limit - 1 (limit even, at most 2^52)."""
    return f"(cast(floor({bits} / {_ONE} * {limit // 2}) as bigint) * 2 + {parity})"


_VALUES: Final[dict[str, Callable[[str, str], str]]] = {
    "smallint": lambda bits, parity: f"cast({_whole(bits, parity, 10**4)} as smallint)",
    "int": lambda bits, parity: f"cast({_whole(bits, parity, 10**6)} as int)",
    "bigint": lambda bits, parity: _whole(bits, parity, 10**12),
    "float": lambda bits, parity: f"cast({_whole(bits, parity, 2**24)} / {2.0**24!r}D as float)",
    "double": lambda bits, parity: f"({bits} * 2 + {parity}) / {2.0 ** (BITS + 1)!r}D",
    "string": lambda bits, parity: f"lower(hex({bits} * 2 + {parity} + {2**56}L))",
    "date": lambda bits, parity: f"date_add(date'2000-01-01', cast({_whole(bits, parity, 10**4)} as int))",
    "timestamp": lambda bits, parity: f"timestamp_seconds(946684800L + {_whole(bits, parity, 8 * 10**8)})",
    "timestamp_ntz": lambda bits, parity: (
        f"timestamp_ntz'2000-01-01 00:00:00' + make_dt_interval(0, 0, 0, {_whole(bits, parity, 8 * 10**8)})"
    ),
}
_TYPES: Final = ("boolean", *_VALUES)


def _types_faults(types: tuple[str, ...]) -> Iterator[str]:
    if not types:
        yield "types must name at least one type, got none"
    for name in types:
        decimal = _DECIMAL.fullmatch(name)
        known = name in _TYPES or (decimal and 1 <= int(decimal[1]) <= 38 and int(decimal[2]) <= int(decimal[1]))
        if not known:
            hint = did_you_mean(name, _TYPES)
            yield f"unknown type {name!r} of non-key columns{hint} Known: {', '.join(_TYPES)}, decimal(p,s)"

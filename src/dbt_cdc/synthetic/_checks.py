"""Checks of arguments: every fault at once, before anything is planned or written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any


class SyntheticError(ValueError):
    """Arguments from which no data can be made."""

    def __init__(self, task: str, faults: Iterable[str]) -> None:
        lines = [f"dbt_cdc.synthetic: {task} can't run, nothing was written:", *(f"  - {fault}" for fault in faults)]
        super().__init__("\n".join(lines))


def raise_faults(task: str, faults: Iterable[str]) -> None:
    """One error that lists every fault, if there are any."""
    found = list(faults)
    if found:
        raise SyntheticError(task, found)


def integer_faults(bounds: dict[str, tuple[Any, int, int | None]]) -> Iterator[str]:
    """Arguments that are no whole numbers within their bounds: name to (value, least, most)."""
    for name, (value, least, most) in bounds.items():
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or value < least or (most is not None and value > most):
            allowed = f"of at least {least}" if most is None else f"from {least} to {most}"
            yield f"{name} must be a whole number {allowed}, got {value!r}"


def number_faults(name: str, value: Any, most: float, why: str = "") -> Iterator[str]:
    """An argument that is no number from 0 to `most`."""
    number = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
    if not number:
        yield f"{name} must be a number between 0 and {most}, got {value!r}"
    elif value != value or not 0 <= value <= most:
        yield f"{name} must lie between 0 and {most}, got {value!r}{why}"


def object_faults(name: str, value: Any, kind: type) -> Iterator[str]:
    """What is wrong with an argument that knows its own faults, or that it is none of its kind."""
    if isinstance(value, kind):
        yield from value.faults()  # type: ignore[attr-defined]
    else:
        yield f"{name} must be a dbt_cdc.synthetic.{kind.__name__}, got {value!r}: give {kind.__name__}(…)"

"""Examples that hypothesis draws, all at once: a run of dbt costs seconds, so that one run serves all of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

Drawn = TypeVar("Drawn")


def asked_for(variable: str, default: int) -> int:
    """How many examples a test draws: what the environment says."""
    return int(os.environ.get(variable, default))


def carried(steps: Iterable[dict[str, Drawn | None]]) -> Iterator[dict[str, Drawn]]:
    """The rows of each step by key, where None was drawn to say: as the row was when it was there last."""
    before: dict[str, Drawn] = {}
    for drawn in steps:
        before |= {key: row for key, row in drawn.items() if row is not None}
        yield {key: before[key] for key in drawn if key in before}


def draw(strategy: SearchStrategy[Drawn], variable: str, count: int) -> list[Drawn]:
    """`count` examples: new ones in each run where the environment has the variable, else always the same."""
    drawn: list[Drawn] = []

    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        derandomize=variable not in os.environ,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(example: Drawn) -> None:
        drawn.append(example)

    collect()
    return drawn

"""What an error proposes for a name that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a sentence: ", did you mean 'x'?" for the nearest known name in any case, else ".\""""
    names = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), names, 1)
    return f", did you mean '{names[near[0]]}'?" if near else "."

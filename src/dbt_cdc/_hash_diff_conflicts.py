"""What hash_diff says where another run of the same model, or another write to its table, was first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from dbt_common.exceptions import DbtRuntimeError

from dbt_cdc._formats import format_of
from dbt_cdc._hash_diff_layout import Settings


def is_conflict(problem: Exception, settings: Settings) -> bool:
    """Whether the format refused a write because another one came in between, as far as its words tell."""
    return bool(re.search(format_of(settings.format).conflict, str(problem).partition("JVM stacktrace")[0]))


@contextmanager
def unless_beaten(settings: Settings) -> Iterator[None]:
    """Tell of the other run where a format refuses a write because of one."""
    try:
        yield
    except Exception as problem:
        if is_conflict(problem, settings):
            raise_other_run(settings, problem)
        raise


def raise_other_run(settings: Settings, problem: Exception | None = None) -> NoReturn:
    """Say that another run was first, and what the table format said where it told so."""
    _raise_beaten(settings, "another run of this model wrote at the same time and was first", problem)


def raise_other_write(settings: Settings, problem: Exception) -> NoReturn:
    """Say that the base table was written to, by no load that has ended, and what the table format said."""
    write = "a compaction or another write that is no load of this model"
    _raise_beaten(settings, f"{write} came in between in {settings.base}", problem)


def _raise_beaten(settings: Settings, what: str, problem: Exception | None) -> NoReturn:
    line = str(problem or "").strip().partition("\n")[0][:300]
    said = f" ({settings.format}: {line})" if line else ""
    raise DbtRuntimeError(
        f"dbt_cdc: {settings.node}: {what}. The load of this run was not kept; start it again{said}"
    ) from problem

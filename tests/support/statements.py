"""What dbt sends to Spark: watched, killed on its way, or met by another run's statements."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from dbt.adapters.spark import session

from tests.support.project import words_of


def watch(
    monkeypatch: pytest.MonkeyPatch,
    before: Callable[[str], str | None] | None = None,
    after: Callable[[str], None] | None = None,
) -> None:
    """`before` is told each statement, and may give another for it; `after` is told what has run."""
    stock = session.Cursor.execute

    def execute(self: session.Cursor, sql: str, *parameters: Any) -> None:
        sql = (before and before(sql)) or sql
        stock(self, sql, *parameters)
        if after is not None:
            after(sql)

    monkeypatch.setattr(session.Cursor, "execute", execute)


def finds(pattern: str, statement: str) -> re.Match[str] | None:
    """Where a pattern stands in a statement's words, which have no quotes around names."""
    return re.search(pattern, words_of(statement).replace("`", ""))


@contextmanager
def killed_at(pattern: str) -> Iterator[None]:
    """Runs within fail at the statements that the pattern finds, as a kill would end them."""

    def look(sql: str) -> None:
        if finds(pattern, sql):
            raise RuntimeError("killed")

    with pytest.MonkeyPatch.context() as patched:
        watch(patched, look)
        yield


@contextmanager
def meanwhile(
    run: Callable[[str], object], others: Mapping[str, tuple[str, list[str]]], *, after: bool = False
) -> Iterator[None]:
    """Other runs' statements, table by table: right before the one of ours that a pattern, in which {} is the table, finds,
    or right after it."""
    left = dict(others)

    def look(sql: str) -> None:
        for table, (moment, statements) in others.items():
            if table in left and finds(moment.format(rf"\S+\.{table}"), sql):
                del left[table]
                for statement in statements:
                    run(statement)

    with pytest.MonkeyPatch.context() as patched:
        watch(patched, **{"after" if after else "before": look})
        yield
    assert not left, "other runs had no turn"

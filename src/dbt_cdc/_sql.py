"""Names and values that enter a statement do so through these, whatever characters they hold."""

from __future__ import annotations

from collections.abc import Iterable


def quote(name: str) -> str:
    """A column or table name as an identifier."""
    return "`" + name.replace("`", "``") + "`"


def literal(value: object) -> str:
    """A string literal; None becomes null. Spark puts settings in place of `${…}` wherever it stands."""
    if value is None:
        return "null"
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'").replace("${", "$\\{") + "'"


def quoted(names: Iterable[str], prefix: str = "") -> list[str]:
    """Names as identifiers, each with an optional table alias before it."""
    return [(f"{prefix}." if prefix else "") + quote(name) for name in names]

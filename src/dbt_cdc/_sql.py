"""Names and values that enter a statement do so through these, whatever characters they hold."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any


def quote(name: str) -> str:
    """A column or table name as an identifier."""
    return "`" + name.replace("`", "``") + "`"


def is_odd_name(name: str) -> bool:
    """Whether a format may refuse the name unless its table has certain properties (for SQL: macros/formats)."""
    return re.search(r"[ ,;{}()\n\t=.]", name) is not None


def literal(value: object) -> str:
    """A string literal; None becomes null. Spark puts settings in place of `${…}` wherever it stands."""
    if value is None:
        return "null"
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'").replace("${", "$\\{") + "'"


def quoted(names: Iterable[str], prefix: str = "") -> list[str]:
    """Names as identifiers, each with an optional table alias before it."""
    return [(f"{prefix}." if prefix else "") + quote(name) for name in names]


def type_text(data_type: Any) -> str:
    """A DataType as SQL; unlike `simpleString`, with the names of nested fields quoted."""
    kind = data_type.typeName()
    if kind == "array":
        return f"array<{type_text(data_type.elementType)}>"
    if kind == "map":
        return f"map<{type_text(data_type.keyType)}, {type_text(data_type.valueType)}>"
    if kind == "struct":
        return f"struct<{', '.join(f'{quote(f.name)}: {type_text(f.dataType)}' for f in data_type.fields)}>"
    return str(data_type.simpleString())

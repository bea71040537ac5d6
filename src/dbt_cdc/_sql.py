"""Names and values that enter a statement do so through these, whatever characters they hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # pragma: no cover
    from pyspark.sql.types import StructField


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


def text_map(texts: Mapping[str, str]) -> str:
    """SQL text of a map of texts to texts."""
    return f"map({', '.join(f'{literal(name)}, {literal(text)}' for name, text in texts.items())})"


def quoted(names: Iterable[str], prefix: str = "") -> list[str]:
    """Names as identifiers, each with an optional table alias before it."""
    return [(f"{prefix}." if prefix else "") + quote(name) for name in names]


def row_of(fields: Iterable[StructField], values: Mapping[str, str]) -> list[str]:
    """Select list of a row that is made: SQL text by name for the given StructFields, typed NULLs for the others."""
    return [f"{values.get(f.name, f'cast(null as {type_text(f.dataType)})')} as {quote(f.name)}" for f in fields]


def type_text(data_type: Any) -> str:
    """A DataType as SQL: unlike `simpleString`, with the names of nested fields quoted, and a timestamp that stays an
    instant where `spark.sql.timestampType` is TIMESTAMP_NTZ."""
    kind = data_type.typeName()
    if kind == "timestamp":
        return "timestamp_ltz"
    if kind == "array":
        return f"array<{type_text(data_type.elementType)}>"
    if kind == "map":
        return f"map<{type_text(data_type.keyType)}, {type_text(data_type.valueType)}>"
    if kind == "struct":
        return f"struct<{', '.join(f'{quote(f.name)}: {type_text(f.dataType)}' for f in data_type.fields)}>"
    return str(data_type.simpleString())


def plain_type(data_type: Any) -> Any:
    """A type as tables keep it: without a collation; a column of NULLs alone (`lit(None)`) has none, and is text."""
    from pyspark.sql.types import ArrayType, MapType, NullType, StringType, StructField, StructType

    if isinstance(data_type, (NullType, StringType)):
        return StringType()
    if isinstance(data_type, ArrayType):
        return ArrayType(plain_type(data_type.elementType), data_type.containsNull)
    if isinstance(data_type, MapType):
        key, value = plain_type(data_type.keyType), plain_type(data_type.valueType)
        return MapType(key, value, data_type.valueContainsNull)
    if isinstance(data_type, StructType):
        return StructType([StructField(f.name, plain_type(f.dataType), f.nullable) for f in data_type.fields])
    return data_type


def inner_fields(kind: Any, *within: str) -> list[tuple[str, ...]]:
    """All fields inside a type, in order: each by its name, behind those of the structs that it is in."""
    parts = [getattr(kind, part, None) for part in ("elementType", "keyType", "valueType")]
    paths = [path for part in parts if part is not None for path in inner_fields(part, *within)]
    for field in getattr(kind, "fields", []):
        paths += [(*within, field.name), *inner_fields(field.dataType, *within, field.name)]
    return paths

"""The rule by which rows become digests, as Spark SQL text; `dbt_cdc.hash` is the same rule as a dbt macro.

Rule 1: the columns that are not NULL, sorted by their lower-cased names, as one compact JSON object; the digest is
taken of its UTF-8 bytes. JSON makes the text unambiguous: names, quotes and separators are escaped, NULL is absent,
'' is "" and 'NULL' is "NULL". Timestamps are written in UTC with microseconds, decimals with the scale of their
type as Java writes them (0E-18), binary as base64, NaN as "NaN"; -0.0 and 0.0 are two values. A map is the array of its
entries sorted by key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dbt_cdc._sql import literal, quote, text_map

if TYPE_CHECKING:  # pragma: no cover
    from pyspark.sql.types import StructField

#: Stored with every table, so that a later rule is never mixed silently with an older one.
HASH_RULE = "1"

ALGORITHMS = {
    "md5": "md5({})",
    "sha2_256": "sha2({}, 256)",
    "xxhash64": "lower(lpad(hex(xxhash64({})), 16, '0'))",
}

_JSON_OPTIONS = {
    "ignoreNullFields": "true",
    "timeZone": "UTC",
    "locale": "en-US",
    "dateFormat": "yyyy-MM-dd",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def hash_expression(fields: Sequence[StructField], algorithm: str = "md5") -> str:
    """SQL text of the digest (lower-case hex digits) of the given columns (StructFields)."""
    return ALGORITHMS[algorithm].format(pre_image(fields))


def pre_image(fields: Sequence[StructField]) -> str:
    """SQL text of the string that is hashed."""
    if not fields:
        return "'{}'"
    parts = []
    for field in sorted(fields, key=lambda field: (field.name.lower(), field.name)):
        column = quote(field.name)
        # no mere column: of one with a DEFAULT, Spark writes NULL as null
        parts += [literal(field.name.lower()), f"if({column} is null, null, {_canonical(column, field.dataType)})"]
    return f"to_json(named_struct({', '.join(parts)}), {text_map(_JSON_OPTIONS)})"


def shown_text(fields: Sequence[StructField]) -> str:
    """SQL text of what an error shows of a row: the beginning of its pre-image."""
    return f"left({pre_image(fields)}, 200)"


def _canonical(value: str, data_type: Any, depth: int = 0) -> str:
    """The value with its maps, however deep, as sorted arrays of entries: a map has no order of its own."""
    if not _holds_map(data_type):
        return value
    item = f"_dbt_cdc_{depth}"
    kind = data_type.typeName()
    if kind == "map":
        key = _canonical(item, data_type.keyType, depth + 1)
        content = _canonical(f"element_at({value}, {item})", data_type.valueType, depth + 1)
        entry = f"named_struct('key', {key}, 'value', {content})"
        return f"transform(array_sort(map_keys({value})), {item} -> {entry})"
    if kind == "array":
        return f"transform({value}, {item} -> {_canonical(item, data_type.elementType, depth + 1)})"
    parts = []
    for field in data_type.fields:
        part = _canonical(f"{value}.{quote(field.name)}", field.dataType, depth + 1)
        parts += [literal(field.name), part]
    return f"if({value} is null, null, named_struct({', '.join(parts)}))"


def _holds_map(data_type: Any) -> bool:
    kind = data_type.typeName()
    if kind == "array":
        return _holds_map(data_type.elementType)
    if kind == "struct":
        return any(_holds_map(field.dataType) for field in data_type.fields)
    return bool(kind == "map")

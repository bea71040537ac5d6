"""Which types of columns take the values of others."""

from __future__ import annotations

import re
from typing import Any

from dbt_cdc._sql import inner_fields

#: Casts that lose nothing: from a type to any of those after it.
WHOLE_NUMBERS = ("tinyint", "smallint", "int", "bigint")
_WIDER_FLOAT = ("float", "double")


def widens(narrow: str, wide: str) -> bool:
    """Whether a type holds all values of another of its family, by the names that Spark gives them.

    No whole number is a floating one here, as it is for the macro `_widens`: their texts, and so their digests, differ.
    """
    if narrow == wide:
        return True
    for order in (WHOLE_NUMBERS, _WIDER_FLOAT):
        if narrow in order and wide in order:
            return order.index(narrow) <= order.index(wide)
    decimals = [re.fullmatch(r"decimal\((\d+),(\d+)\)", kind) for kind in (narrow, wide)]
    if decimals[0] and decimals[1]:
        (p1, s1), (p2, s2) = (tuple(map(int, match.groups())) for match in decimals if match)
        return s1 <= s2 and p1 - s1 <= p2 - s2
    return False


def fits(given: Any, table: Any) -> bool:
    """Whether a table's column takes the values of a type unchanged, and unchecked."""
    got = given.simpleString()
    return kept_as(given, table) or widens(got, table.simpleString())


def kept_as(given: Any, table: Any) -> bool:
    """Whether a table's column is of the type, or of what a format makes of it: Iceberg keeps a smallint as an int.

    Both have the same text in a digest, so which of them is hashed makes no difference.
    """
    kind = given.typeName()
    if kind == "void" or kind == table.typeName() == "string":
        return True  # Iceberg keeps no collation
    if kind != table.typeName():
        one, other = given.simpleString(), table.simpleString()
        return one in WHOLE_NUMBERS and other in WHOLE_NUMBERS and WHOLE_NUMBERS.index(one) < WHOLE_NUMBERS.index(other)
    if kind == "array":
        return kept_as(given.elementType, table.elementType)
    if kind == "map":
        return kept_as(given.keyType, table.keyType) and kept_as(given.valueType, table.valueType)
    if kind == "struct":
        return given.names == table.names and all(
            kept_as(one.dataType, other.dataType) for one, other in zip(given.fields, table.fields, strict=True)
        )
    return bool(given.simpleString() == table.simpleString())


def unkept_faults(name: str, kind: Any) -> list[str]:
    """A column of a type that no table keeps: an interval or a time of day, also within other types."""
    return [f"column '{name}': tables keep no {kind.simpleString()}. Cast it in the model"] if _is_unkept(kind) else []


def _is_unkept(kind: Any) -> bool:
    parts = [getattr(kind, part, None) for part in ("elementType", "keyType", "valueType")]
    parts += [field.dataType for field in getattr(kind, "fields", [])]
    name = kind.typeName()
    return name.endswith("interval") or name == "time" or any(_is_unkept(part) for part in parts if part is not None)


def type_faults(name: str, old: Any, declared: Any, given: Any) -> list[str]:
    """A column whose type in the table (old) takes neither the model's data_type nor, without one, that of the data.

    Also one of a type that no table keeps.
    """
    new = given if declared is None else declared
    if new is not None and _is_unkept(new):
        return unkept_faults(name, new)
    if old is None or (declared is None and given is None):
        return []
    if declared is not None:
        got, source, taken = declared.simpleString(), "the model's data_type", kept_as(declared, old)
    else:
        got, source = given.simpleString(), "the data"
        taken = _is_checked(got, old.simpleString()) or fits(given, old)
    if taken:
        return []
    unlike, remedy = _unlike_fields(given if declared is None else declared, old)
    remedy = remedy if declared is None else "Let the data_type, and the data, be what the table has"
    return [
        f"column '{name}': the table has type {old.simpleString()}, {source} has {got}{unlike}. "
        f"{remedy}, or rebuild with --full-refresh"
    ]


def _unlike_fields(given: Any, wanted: Any) -> tuple[str, str]:
    """Which fields of structs a type has otherwise than another, and what to do about a type that is not the other.

    Spark casts no struct to one with another number of fields, and any other by the fields' places.
    """
    got, own = ([".".join(path) for path in inner_fields(kind)] for kind in (given, wanted))
    if got == own or not got or not own:
        return "", "Cast it in the model"
    lacking, more = [name for name in own if name not in got], [name for name in got if name not in own]
    said = [f"lacks {', '.join(lacking)}"] if lacking else []
    said += [f"has more: {', '.join(more)}"] if more else []
    remedy = "Give the struct the same fields in the model (named_struct, transform; in Python read with a schema)"
    unlike = "has them in another order" if sorted(got) == sorted(own) else "has other fields"
    return f", which {' and '.join(said) or unlike}", f"{remedy}, or give it under a new name"


def _is_checked(given: str, table: str) -> bool:
    """Whether values of the type are cast to that of the table, and each is looked at.

    Text, but for a variant, which Spark would make of the text as it is; and what readers infer where a file has no
    fractions (2 of amounts) or no times of day.
    """
    whole = given in WHOLE_NUMBERS and (table in _WIDER_FLOAT or table.startswith("decimal("))
    text = given == "string" and table != "variant"
    return text or whole or (given == "date" and table in ("timestamp", "timestamp_ntz"))


def nested_faults(name: str, declared: Any, given: Any) -> list[str]:
    """A nested data_type that is not what the data have, or another one for nested data.

    Spark's cast turns what does not fit within into NULLs, and texts do not tell ["a, b"] from ["a", "b"].
    """
    if declared is None or given is None or declared.typeName() == "variant" or kept_as(given, declared):
        return []
    if not {declared.typeName(), given.typeName()} & {"array", "map", "struct", "variant"}:
        return []
    unlike, remedy = _unlike_fields(given, declared)
    return [
        f"column '{name}': the model's data_type is {declared.simpleString()}, the data have {given.simpleString()}"
        f"{unlike}: what does not fit would be lost silently. {remedy}"
    ]

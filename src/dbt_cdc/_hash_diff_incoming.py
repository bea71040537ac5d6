"""The incoming data set, cast and hashed, each row that is at fault saying why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt_cdc._hash_diff_layout import Column, Layout, Settings
from dbt_cdc._sql import literal, quote, text_map
from dbt_cdc._types import WHOLE_NUMBERS
from dbt_cdc.hashing import hash_expression, shown_text

if TYPE_CHECKING:  # pragma: no cover
    from pyspark.sql import DataFrame, SparkSession

#: Why a row can't be taken: null when it can.
FAULT = "_dbt_cdc_fault"
_NUMBER = "(?i)^[^0-9a-z.]*(inf|infinity|nan|([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]+)?)[^0-9a-z.]*$"
#: Text that Spark reads as it is. To other text it adds a day or a month (12:00 is today's, 2024-01 the first), takes
#: what it finds (202403 as a year, 0x1p3 and 1d as numbers) or leaves out what follows (10:30 of a day, +05:00 where no
#: zone is).
TEXT_OF = {
    "date": "^ *[+-]?[0-9]+-[0-9]+-[0-9]+([ T]0?0:00(:00([.]0+)?)?(Z|[+-]00(:?00)?)?)? *$",
    "timestamp_ltz": "^[^0-9]*[0-9]+-[0-9]+-[0-9]",
    "timestamp_ntz": "^[^0-9]*[0-9]+-[0-9]+-[0-9]+([^0-9][0-9:.]*)? *(Z|UTC|GMT|[+-]0?0(:?00)?)?[^0-9a-zA-Z]*$",
    "float": _NUMBER,
    "double": _NUMBER,
}
#: Of timestamps in a rejected row's JSON, which has milliseconds by default.
_ALL_DIGITS = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_EXACT = ("boolean", *WHOLE_NUMBERS, "decimal")
_MOMENTS = ("timestamp_ltz", "timestamp_ntz")
NULL_KEY, CAST = "null key part: ", "does not cast: "
#: Conditions that hold for rows with such a fault; NULL for rows without any.
IS_NULL_KEY, IS_BAD_CAST = (f"startswith({FAULT}, {literal(kind)})" for kind in (NULL_KEY, CAST))


def kept_rows(settings: Settings) -> str:
    """SQL text that is true of the rows that a load takes or fails by; rejected ones are neither."""
    return f"not coalesce({IS_BAD_CAST}, false)" if settings.on_cast_error == "rejects" else "true"


def cast_faults(spark: SparkSession, layout: Layout) -> list[str]:
    """Types, of the model's YAML or of the table, that Spark casts no value to from what the data have."""
    from pyspark.errors import AnalysisException

    def known(casts: list[str]) -> bool:
        try:
            spark.sql(f"select {', '.join(casts)}").schema  # noqa: B018 (Connect analyzes it then)
        except AnalysisException:
            return False
        return True

    casts = {c.name: f"try_cast(cast(null as {c.source_type}) as {c.type})" for c in layout.columns if c.cast}
    if not casts or known([*casts.values()]):
        return []
    return [
        f"column '{column.name}': the data have {column.source_type}, which Spark does not cast to {column.declared}, "
        "the type of the model's data_type or the table. Build that type in the model, or read the file with a schema"
        for column in layout.columns
        if column.cast and not known([casts[column.name]])
    ]


def stage(frame: DataFrame, layout: Layout, settings: Settings) -> DataFrame:
    """keyhash, nonkeyhash, the data columns with their final names and types, and FAULT (string or NULL)."""
    typed = frame.selectExpr(*[_typed(column) for column in layout.columns], f"{_fault(layout)} as {FAULT}")
    keys = [column.struct_field for column in layout.of("key")]
    compared = [column.struct_field for column in layout.of("compared")]
    names = [quote(column.name) for column in layout.columns]
    staged = typed.selectExpr(
        f"{hash_expression(keys, settings.hash_algorithm)} as keyhash",
        f"{hash_expression(compared, settings.hash_algorithm)} as nonkeyhash",
        *names,
        FAULT,
    )
    return _without_copies(staged, layout) if settings.deduplicate else staged


def rejected(frame: DataFrame, layout: Layout, settings: Settings) -> DataFrame:
    """The rows that do not cast: eff_start_date, keyhash, fault, and the row as JSON without what is sensitive."""
    given = [column for column in layout.columns if column.source and not column.sensitive]
    raw = ", ".join(f"{literal(column.name)}, {quote(column.source or '')}" for column in given)
    keys = [column.struct_field for column in layout.of("key")]
    typed = frame.selectExpr(
        *[_typed(column) for column in layout.columns],
        f"to_json(named_struct({raw}), {text_map(_ALL_DIGITS)}) as _dbt_cdc_row",
        f"{hash_expression(frame.schema.fields)} as _dbt_cdc_given",
        f"{_fault(layout)} as {FAULT}",
    ).where(IS_BAD_CAST)
    if settings.deduplicate:
        typed = typed.dropDuplicates(["_dbt_cdc_given"])
    return typed.selectExpr(
        f"{settings.date} as eff_start_date",
        f"{hash_expression(keys, settings.hash_algorithm)} as keyhash",
        f"{FAULT} as fault",
        "_dbt_cdc_row as incoming_row",
    )


def key_text(layout: Layout) -> str:
    """SQL text that shows a row's key in an error; its digest where a part of it is sensitive."""
    keys = layout.of("key")
    if any(column.sensitive for column in keys):
        return "concat('keyhash ', keyhash)"
    return shown_text([column.struct_field for column in keys])


def fault_text(kind: str) -> str:
    """SQL text of a row's fault without its kind, which the error says once for all rows."""
    return f"substring({FAULT}, {len(kind) + 1})"


def row_text(layout: Layout) -> str:
    """SQL text that shows a row of which a part of the key is missing, without what is sensitive."""
    if any(column.sensitive for column in layout.of("key")):
        return key_text(layout)
    return shown_text([column.struct_field for column in layout.stored])


def _typed(column: Column) -> str:
    if column.source is None:
        return f"cast(null as {column.type}) as {quote(column.name)}"
    return f"{_cast(column)} as {quote(column.name)}"


def _cast(column: Column) -> str:
    """The value as the tables take it.

    Never the mere column: that would bring what its own table says of it, such as a DEFAULT or the length of a varchar,
    to which Delta would hold our tables, too.
    """
    source = quote(column.source or "")
    if column.type == column.source_type:
        return f"if({source} is null, null, {source})"
    cast = f"try_cast({source} as {column.type})"
    if column.type in TEXT_OF and column.source_type.startswith("string"):
        return f"if(cast({source} as string) rlike '{TEXT_OF[column.type]}', {cast}, null)"
    return cast


def _fault(layout: Layout) -> str:
    """A key part that is NULL, else every value that does not cast; values of sensitive columns are not shown."""
    cases = [f"when {quote(key.source or '')} is null then {literal(NULL_KEY + key.name)}" for key in layout.of("key")]
    casts = [column for column in layout.columns if column.cast]
    if casts:
        failing = " or ".join(map(_is_lost, casts))
        cases.append(f"when {failing} then concat({literal(CAST)}, concat_ws(', ', {', '.join(map(_shown, casts))}))")
    return f"case {' '.join(cases)} end"


def _shown(column: Column) -> str:
    source = quote(column.source or "")
    mark = literal("'")
    value = "'(hidden)'" if column.sensitive else f"concat({mark}, left(cast({source} as string), 60), {mark})"
    label = literal(f"{column.name} ({column.declared}) ")
    return f"case when {_is_lost(column)} then concat({label}, {value}) end"


def _is_lost(column: Column) -> str:
    """A value that does not cast, or that comes back from its cast as another one (3.7 as int, 10:30 as a date, the
    repeated hour of a day as what a clock shows, microseconds where Spark counts seconds).

    Of a double as float the nearest is taken: neither type is exact. Text that is longer than a varchar does not cast.
    """
    source, cast = quote(column.source or ""), _cast(column)
    longer = f" or char_length({cast}) > {column.max_length}" if column.max_length else ""
    given, wanted = _kind(column.source_type), _kind(column.type)
    kinds, changed = {given, wanted}, ""
    numbers = kinds & {*_EXACT} and kinds <= {*_EXACT, "float", "double"}
    days = "date" in kinds and kinds & {*_MOMENTS}
    seconds = kinds & {*_MOMENTS} and kinds & {*WHOLE_NUMBERS}
    clocks = kinds == {*_MOMENTS} or (given == "timestamp_ltz" and wanted == "string")
    if numbers or days or seconds or clocks:
        changed = f" or not try_cast({cast} as {column.source_type}) <=> {source}"
    elif "decimal" in kinds and kinds & {*_MOMENTS}:  # by way of a double; what is no timestamp's becomes another's
        least = "0.00001" if wanted == "decimal" else "1"
        changed = f" or abs(cast({cast} as double) - cast({source} as double)) > {least}"
    return f"({source} is not null and ({cast} is null{changed}{longer}))"


def _kind(type_: str) -> str:
    return type_.partition("(")[0]


def _without_copies(staged: DataFrame, layout: Layout) -> DataFrame:
    ignored = [column.struct_field for column in layout.of("ignored")]
    marked = staged.selectExpr("*", f"{hash_expression(ignored)} as _dbt_cdc_ignored")
    return marked.dropDuplicates(["keyhash", "nonkeyhash", "_dbt_cdc_ignored", FAULT]).drop("_dbt_cdc_ignored")

"""What hash_diff refuses before it looks at the data: tables that are not as its last load left them, dates gone by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt_cdc._formats import format_of
from dbt_cdc._hash_diff_layout import LOAD, PENDING, Layout, Marker, Settings, Stored
from dbt_cdc._hash_diff_tables import FIRST_LOAD, Tables
from dbt_cdc._types import fits, kept_as

if TYPE_CHECKING:  # pragma: no cover
    from pyspark.sql import SparkSession

#: Settings of a session under which texts and names mean others than what is written.
REFUSED = (
    "spark.sql.parser.escapedStringLiterals",
    "spark.sql.parser.quotedRegexColumnNames",
    "spark.sql.caseSensitive",
)


def foreign_faults(tables: Tables) -> list[str]:
    """Tables that are not ours but have the names of ours."""
    settings = tables.settings
    own = {
        settings.base: {"keyhash", "nonkeyhash", LOAD},
        settings.history: {"keyhash", "nonkeyhash", "eff_start_date"},
    }
    if settings.sensitive_columns:
        own[settings.sensitive_base] = {"keyhash", "nonkeyhash"}
    if settings.on_cast_error == "rejects":
        own[settings.rejects] = {"keyhash", "fault", "incoming_row"}
    faults = [
        f"{table} is a table that hash_diff did not make (it lacks {', '.join(sorted(lacking))}). Rename it, or "
        "the model"
        for table, columns in own.items()
        if tables.exists(table) and (lacking := columns - {*tables.spark.table(table).columns})
    ]
    if settings.sensitive_columns and tables.is_foreign(settings.sensitive):
        faults.append(
            f"{settings.sensitive} is a table or view that hash_diff did not make. Rename it, or the model (a "
            "view that an older version of hash_diff has made can be dropped)"
        )
    return faults


def history_faults(tables: Tables, marker: Marker | None) -> list[str]:
    """What was taken away of base table and history, so that the next load could not go on where the last ended."""
    base, history = tables.settings.base, tables.settings.history
    has_history = tables.exists(history)
    if tables.settings.full_refresh or not (marker or has_history):
        return []
    if marker and not marker.first:
        older = "was made by an older version, which noted its columns elsewhere"
        return [f"{base} {older}. Rebuild it with --full-refresh, which begins its history anew"]
    # properties, also the one of the key, do not go back with the rows of an Iceberg table
    first = tables.properties(base).get(FIRST_LOAD) if tables.exists(base) else None
    if marker and marker.load == marker.first == first:
        return []  # all that there is stands in the base table
    remedy = "Bring it back, or start both anew with --full-refresh"
    if marker and not has_history:
        return [f"{history} is gone, but its table {base} is there, with more than one load. {remedy}"]
    tables.refresh(history)
    of_history = tables.properties(history).get(FIRST_LOAD)
    if marker:
        # the tables of a full refresh that another run ends meanwhile are seen in part
        if of_history == marker.first == first or tables.marker() != marker:
            return []
        one, other = (f"the history of {base}", history) if first == marker.first else (f"the table of {history}", base)
        why = "it was made by others, or its rows or those of both went back behind a full refresh without the rest"
        anew = "Bring back the one that fits, or start both anew with --full-refresh"
        return [f"{other} is not {one}: {why}. {anew}"]
    is_outdated = of_history == "" or str(of_history).startswith(PENDING)
    if first in (None, of_history) and not is_outdated:
        return [f"{base} is gone or was emptied, but its history {history} is there. {remedy}"]
    # a full refresh that was killed leaves the history of the table before
    if of_history and tables.settings.extract_type == "delta":
        return [
            f"{history} is older than a full refresh that did not end: a delta would be all that the next load has. "
            "Run the full refresh again, of the same extract"
        ]
    return []


def narrow_faults(tables: Tables, stored: Stored | None) -> list[str]:
    """Columns whose type was widened in the base table alone: their new values would not be the history's."""
    base, history = tables.settings.base, tables.settings.history
    if not stored or not tables.exists(history):
        return []
    tables.refresh(history)
    have = {f.name: f.dataType for f in tables.spark.table(history).schema.fields}
    main = {name: kind for name, kind in stored.columns.items() if name not in stored.last.sensitive_columns}
    narrow = {name: kind for name, kind in main.items() if name in have and not fits(kind, have[name])}
    # one that a full refresh has not come to is made anew
    if not narrow or tables.properties(history).get(FIRST_LOAD) != stored.last.first:
        return []
    return [
        f"column '{name}': {base} has type {kind.simpleString()}, {history} has {have[name].simpleString()}, which "
        "does not hold its values. Alter it there, too, or rebuild with --full-refresh"
        for name, kind in narrow.items()
    ]


def date_faults(settings: Settings, marker: Marker | None) -> list[str]:
    """A date before that of the last load."""
    date = settings.effective_date
    if not marker or date >= marker.effective_date or settings.allow_older_effective_date:
        return []
    return [
        f"effective_date is {date}, the last load was of {marker.effective_date}. Load dates in order, or "
        "set allow_older_effective_date: true to take back every load since and load this date"
    ]


def branch_faults(tables: Tables) -> list[str]:
    """A session that has Iceberg write to a branch, or to none: what a load reads back is the table's main branch."""
    settings = tables.settings
    given = {name: tables.spark.conf.get(name, None) for name in format_of(settings.format).branch_settings}
    if not any(given.values()):
        return []
    kept = tables.properties(settings.base) if tables.exists(settings.base) else {}
    if str({**settings.table_properties, **kept}.get("write.wap.enabled", "")).lower() != "true":
        return []
    said = ", ".join(f"{name} is {value}" for name, value in given.items() if value)
    return [f"{said}, and the tables have write.wap.enabled: loads go to the main branch. Unset it in the session"]


def setting_faults(spark: SparkSession, file_format: str = "") -> list[str]:
    """Settings of this session, which need not be dbt's own, under which texts mean others or rows are lost."""
    settings = dict.fromkeys(REFUSED, ("true", "false"))
    return [
        f"{name} must be {expected}, got {refused}. Take the setting out of the session"
        for name, (refused, expected) in {**settings, **format_of(file_format).refused_settings}.items()
        if str(spark.conf.get(name, None)).upper() == refused.upper()
    ]


def leftover_faults(tables: Tables, layout: Layout, stored: Stored | None) -> list[str]:
    """Columns of other types, which the tables have of what is new: no load that is committed has brought them."""
    settings, faults = tables.settings, []
    new = [column for column in layout.stored if column.new]
    for table, columns in ((settings.sensitive_base, layout.sensitive), (settings.base, new), (settings.history, new)):
        if settings.full_refresh or not columns or not tables.exists(table):
            continue
        if table == settings.history and stored and tables.properties(table).get(FIRST_LOAD) != stored.last.first:
            continue  # one that a full refresh has not come to is made anew
        have = {f.name.lower(): f.dataType for f in tables.spark.table(table).schema.fields}
        faults += [
            f"column '{column.name}': {table}, where a load that did not end, or others, left it, has type "
            f"{have[column.name.lower()].simpleString()}, the data have {column.data_type.simpleString()}. Cast it in "
            "the model, drop it there, or rebuild with --full-refresh"
            for column in columns
            if column.name.lower() in have and not kept_as(column.data_type, have[column.name.lower()])
        ]
    return faults

"""What differs between table formats in what Python writes; the SQL side has macros/formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Format:
    """One table format; the defaults are those of a format that is nothing but files."""

    #: `create or replace table` works
    replaceable: bool = False
    #: table properties without which names such as `a b` are refused
    column_names: Mapping[str, str] = field(default_factory=dict)
    #: the setting by which a session gives them to tables that do not name them
    column_names_by: str = ""
    #: table properties that can't be on in the statement that makes a table with those, and the settings by which a
    #: session switches them on for tables that do not name them
    set_later: Mapping[str, str] = field(default_factory=dict)
    #: table properties without which an existing table gets no column of type `timestamp_ntz`
    timestamp_ntz: Mapping[str, str] = field(default_factory=dict)
    #: a session remembers tables as they were, for half a minute
    remembered: bool = False
    #: metadata tables that a session remembers apart from a table whose name has a dot
    remembered_apart: tuple[str, ...] = ()
    #: what it, or Spark itself, says when it refuses a write because of another one, or of what a killed one left
    conflict: str = r"(?!)"
    #: the query that gives what `version as of` takes for a table as it is now
    current_version: str = ""
    #: options of an overwrite by which it, too, refuses what another one has written since the version {}
    overwrite_since: Mapping[str, str] = field(default_factory=dict)
    #: settings of a session by which it writes to a branch of a table that has such
    branch_settings: tuple[str, ...] = ()
    #: table properties by which no session writes to a branch of it
    main_branch: Mapping[str, str] = field(default_factory=dict)
    #: settings of a session under which its tables do not hold or give what is written: the value refused, and what is
    #: expected
    refused_settings: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    #: a merge looks for its rows' keys in a join of its own, to which few rows can be sent (Iceberg's is an outer one)
    sends_merged: bool = False
    #: the config `unique_key` is an option of the table
    keyed: bool = False


_FORMATS = {
    "delta": Format(
        replaceable=True,
        column_names={"delta.columnMapping.mode": "name"},
        column_names_by="spark.databricks.delta.properties.defaults.columnMapping.mode",
        set_later={"delta.enableChangeDataFeed": "spark.databricks.delta.properties.defaults.enableChangeDataFeed"},
        timestamp_ntz={"delta.feature.timestampNtz": "supported"},
        conflict=r"Concurrent\w+Exception|DELTA_CONCURRENT|(Metadata|Protocol)Changed|DELTA_(METADATA|PROTOCOL)_CHANGED|"
        r"(FIELD|TABLE|VIEW)_ALREADY_EXISTS|NON_EMPTY_LOCATION",
        current_version="describe history {} limit 1",
        refused_settings={
            "spark.sql.files.ignoreMissingFiles": ("true", "false"),
            "spark.sql.files.ignoreCorruptFiles": ("true", "false"),
            "spark.sql.parquet.outputTimestampType": ("TIMESTAMP_MILLIS", "TIMESTAMP_MICROS or INT96"),
        },
        sends_merged=True,
    ),
    "iceberg": Format(
        replaceable=True,
        remembered=True,
        remembered_apart=("refs",),
        conflict=r"[Ff]ound (new )?conflicting|CommitFailed|Cannot commit|_OR_VIEW_ALREADY_EXISTS|"
        r"AlreadyExistsException|Cannot determine history|FIELD_ALREADY_EXISTS",
        current_version="select snapshot_id from {}.refs where name = 'main'",
        overwrite_since={"isolation-level": "serializable", "validate-from-snapshot-id": "{}"},
        branch_settings=("spark.wap.branch", "spark.wap.id"),
        main_branch={"write.wap.enabled": "false"},
        refused_settings={"spark.sql.storeAssignmentPolicy": ("LEGACY", "ANSI or STRICT")},
    ),
    "hudi": Format(keyed=True),
}


def format_of(name: Any) -> Format:
    """The format that a `file_format` names."""
    return _FORMATS.get(name, Format())

"""What a hash_diff model says about its columns, checked against the data and against the tables that exist."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from dbt_common.exceptions import DbtRuntimeError

from dbt_cdc._formats import format_of
from dbt_cdc._hints import did_you_mean
from dbt_cdc._sql import literal, plain_type, type_text
from dbt_cdc._types import nested_faults, type_faults
from dbt_cdc._writer import property_text
from dbt_cdc.hashing import HASH_RULE

if TYPE_CHECKING:  # pragma: no cover
    from pyspark.sql.types import DataType, StructField, StructType

#: Columns that hash_diff adds, and the bookkeeping columns of the base table.
ADDED = ("keyhash", "nonkeyhash", "operation", "eff_start_date")
SUPPLIED, LOAD = "_dbt_cdc_supplied", "_dbt_cdc_load"

#: What the base table's one marker row begins its load with until a first load has ended.
PENDING = "pending:"
#: Conditions that hold for the marker row, for one of a load that has ended, and for the rows of keys.
IS_MARKER, IS_KEY = "keyhash = ''", "keyhash <> ''"
IS_ENDED = f"{IS_MARKER} and not startswith({LOAD}, '{PENDING}')"


def _names_text(names: list[str]) -> str:
    return json.dumps(names, ensure_ascii=False)


def fail(node: str, faults: list[str]) -> None:
    """Raise one error that lists all faults, if there are any."""
    if faults:
        lines = [f"dbt_cdc: {node} can't run, nothing was written:", *(f"  - {fault}" for fault in faults)]
        raise DbtRuntimeError("\n".join(lines))


@dataclass(frozen=True)
class Settings:
    """The model's options and the names of its tables, as the materialization hands them over."""

    node: str
    format: str
    replace_conflicts: bool  # whether `create or replace` fails where another run has made the table meanwhile
    model: str
    base: str
    history: str
    sensitive: str
    sensitive_base: str
    rejects: str
    extract_type: str
    effective_date: str
    unique_key: list[str]
    hash_algorithm: str
    on_schema_change: str
    on_cast_error: str
    ignore_columns: list[str] = field(default_factory=list)
    sensitive_columns: list[str] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)  # by lower-case name of a column
    deduplicate: bool = False
    allow_older_effective_date: bool = False
    max_delete_fraction: float | None = None  # of the current rows, by one load
    model_type: str | None = None  # view or table; None where there is none yet
    foreign: bool = False  # a table that hash_diff did not make stands in the model's place, to be replaced
    full_refresh: bool = False
    reads_a_part: bool = False  # of the data: `--empty`, `--sample`
    before_restart: str | None = None  # a statement that comes before tables are made anew
    description: str = ""
    location_root: str | None = None
    partition_by: list[str] = field(default_factory=list)
    table_properties: dict[str, str] = field(default_factory=dict)
    base_properties: dict[str, str] = field(default_factory=dict)  # of the base table alone, in place of those
    failing_names: dict[str, str] = field(default_factory=dict)  # patterns of names that tables fail by: what is said

    @property
    def late_properties(self) -> dict[str, str]:
        """Table properties that a run which was killed may not have come to set."""
        given = {name: str(property_text(value)) for name, value in self.table_properties.items()}
        return {name: given[name] for name in format_of(self.format).set_later if given.get(name) == "true"}

    @property
    def date(self) -> str:
        """SQL text of the effective date."""
        return f"date{literal(self.effective_date)}"


@dataclass(frozen=True)
class Column:
    """One data column: `source` is its name in this load's data, None where the data lack it."""

    name: str
    type: str
    data_type: DataType
    source: str | None
    source_type: str
    role: str  # key, compared, ignored
    sensitive: bool = False
    new: bool = False
    declared: str = ""  # the type as errors name it
    max_length: int | None = None  # of a char or varchar in the model's YAML: tables have string

    @property
    def cast(self) -> bool:
        return self.source is not None and (self.type != self.source_type or self.max_length is not None)

    @property
    def struct_field(self) -> StructField:
        from pyspark.sql.types import StructField

        return StructField(self.name, self.data_type)


@dataclass(frozen=True)
class Layout:
    """All data columns in the order of the tables."""

    columns: tuple[Column, ...]

    def of(self, role: str) -> list[Column]:
        return [column for column in self.columns if column.role == role]

    @property
    def stored(self) -> list[Column]:
        """The columns of the main tables."""
        return [column for column in self.columns if not column.sensitive]

    @property
    def sensitive(self) -> list[Column]:
        return [column for column in self.columns if column.sensitive]

    @property
    def known(self) -> Layout:
        """Without the columns that this load brings."""
        return Layout(tuple(column for column in self.columns if not column.new))

    def properties(self, settings: Settings) -> dict[str, str]:
        """What the tables remember: how their digests were made."""
        return {
            "dbt_cdc.hash_rule": HASH_RULE,
            "dbt_cdc.hash_algorithm": settings.hash_algorithm,
            "dbt_cdc.unique_key": _names_text(sorted(column.name for column in self.of("key"))),
        }

    def roles(self, names: Collection[str]) -> dict[str, list[str]]:
        """Those of the named columns that are ignored, and that are sensitive."""
        listed = {"ignore_columns": self.of("ignored"), "sensitive_columns": self.sensitive}
        return {role: sorted(c.name for c in columns if c.name in names) for role, columns in listed.items()}

    def told(self, load: str, first: str) -> str:
        """What the marker tells of a load beside its date: its id and, as JSON, the later fields of Marker."""
        own = sorted(column.name for column in self.columns)
        return f"{load} {json.dumps({'first': first, 'columns': own, **self.roles(own)}, ensure_ascii=False)}"


@dataclass(frozen=True)
class Marker:
    """What the base table knows about its last load.

    `columns`: those that loads have brought which are committed. Others hold nothing, and may take any role.
    """

    load: str
    effective_date: str
    rows: int | None = field(default=None, compare=False)  # current ones; None where they are still to be counted
    first: str = field(default="", compare=False)  # the load that has made the tables
    columns: list[str] = field(default_factory=list, compare=False)
    ignore_columns: list[str] = field(default_factory=list, compare=False)
    sensitive_columns: list[str] = field(default_factory=list, compare=False)


@dataclass(frozen=True)
class Stored:
    """The tables as they exist: the data columns that loads have brought (name -> DataType), and what they remember."""

    columns: Mapping[str, Any]
    properties: Mapping[str, str]
    last: Marker

    @property
    def layout(self) -> Layout:
        """The columns as the tables have them, for what shows them."""
        apart, columns = self.last.sensitive_columns, self.columns.items()
        return Layout(tuple(Column(n, type_text(t), t, None, "", "", sensitive=n in apart) for n, t in columns))


def resolve(
    settings: Settings, incoming: StructType, types: Mapping[str, DataType], stored: Stored | None, faults: list[str]
) -> Layout:
    """The layout of this load; raises one error that lists all faults, after those that are known already.

    `incoming`: the schema of the data. `types`: the DataTypes of the model's `data_type` entries.
    """
    given = {f.name: f.dataType for f in incoming.fields}
    unknown = _unknown_name_faults(settings, list(given), list(stored.columns) if stored else [])
    faults = [*_name_faults(incoming.names, settings.failing_names), *chain(*unknown.values()), *faults]
    keys, ignored, sensitive = (
        {name.lower() for name in listed}
        for listed in (settings.unique_key, settings.ignore_columns, settings.sensitive_columns)
    )
    old = dict(stored.columns) if stored else {}
    spelled = {name.lower(): name for name in given}
    declared = {name.lower(): data_type for name, data_type in types.items()}
    texts = {name.lower(): text.strip() for name, text in settings.types.items()}
    lengths = _max_lengths(texts)
    # of new columns that are left out, those of the key are not: it has changed then
    taken = keys if stored and settings.on_schema_change == "ignore" else {name.lower() for name in given}
    added = [name for name in given if name.lower() in taken - {o.lower() for o in old}]
    columns = []
    for name in [*old, *added]:
        lower = name.lower()
        source, wanted = spelled.get(lower), declared.get(lower)
        got = given.get(source or "")
        faults += type_faults(name, old.get(name), wanted, got) + nested_faults(name, wanted, got)
        target = plain_type(wanted or old.get(name) or given[name])
        columns.append(
            Column(
                name=name,
                type=type_text(target),
                data_type=target,
                source=source,
                source_type=type_text(given[source]) if source else "",
                role=_role(lower, keys, ignored),
                sensitive=lower in sensitive,
                new=bool(stored) and name in added,
                declared=texts[lower] if lower in lengths else target.simpleString(),
                max_length=lengths.get(lower),
            )
        )
    layout = Layout(tuple(columns))
    faults += _partition_faults(settings, layout)
    if stored:
        faults += _stored_faults(settings, layout, stored, unknown) + _change_faults(settings, layout, added)
    fail(settings.node, faults)
    return layout


def _max_lengths(types: Mapping[str, str]) -> dict[str, int]:
    """Of the columns that the YAML declares as char or varchar."""
    found = {
        name: re.fullmatch(r"(?:varchar|char(?:acter)?)\s*\(\s*(\d+)\s*\)", text, re.IGNORECASE)
        for name, text in types.items()
    }
    return {name: int(match[1]) for name, match in found.items() if match}


def _role(name: str, keys: set[str], ignored: set[str]) -> str:
    if name in keys:
        return "key"
    return "ignored" if name in ignored else "compared"


def repeated_name_faults(have: str, names: list[str]) -> list[str]:
    """For each name that stands more than once in whatever case. `have`: subject and verb of the sentence."""
    lower = [name.lower() for name in names]
    return [
        f"{have} column '{name}' {lower.count(name)} times, each name may stand once"
        for name in sorted({name for name in lower if lower.count(name) > 1})
    ]


def _name_faults(names: list[str], failing: Mapping[str, str]) -> list[str]:
    """Names of the data that are taken, or that a table fails by (`failing`: as in Settings)."""
    faults = repeated_name_faults("the data have", names)
    names = list(dict.fromkeys(names))
    faults += [
        f"the data have a column '{name}', which hash_diff adds itself: rename it in the model"
        for name in names
        if name.lower() in ADDED or name.lower().startswith("_dbt_cdc_")
    ]
    for pattern, fault in failing.items():
        faults += [fault % name for name in names if re.fullmatch(pattern, name.lower())]
    return faults


def _unknown_name_faults(settings: Settings, names: list[str], stored: list[str]) -> dict[str, list[str]]:
    """The faults of options that name a column that is not there, by option. `names`: of the data.

    A column that an earlier load has brought may be named too, except as a key: it is NULL.
    """
    lower = [name.lower() for name in names]
    listed = {
        "unique_key": settings.unique_key,
        "ignore_columns": settings.ignore_columns,
        "sensitive_columns": settings.sensitive_columns,
        "columns with a data_type": list(settings.types),
    }
    faults: dict[str, list[str]] = {}
    for option, wanted in listed.items():
        for name in wanted:
            kept = option != "unique_key" and name.lower() in {n.lower() for n in stored}
            if name.lower() not in lower and not kept:
                hint = did_you_mean(name, names)
                fault = f"{option}: the data have no column '{name}'{hint} They have: {', '.join(names)}"
                faults.setdefault(option, []).append(fault)
    return faults


def _partition_faults(settings: Settings, layout: Layout) -> list[str]:
    """Names in partition_by that the tables don't have; what is more than a name (`days(ts)`) is left to Spark."""
    names = [*(column.name for column in layout.stored), "operation", "eff_start_date"]
    known = {name.lower() for name in names}
    return [
        f"partition_by: the table has no column '{name}'{did_you_mean(name, names)} It has: {', '.join(names)}"
        for name in (part.strip("`") for part in settings.partition_by if "(" not in part)
        if name.lower() not in known
    ]


def _gone_faults(stored: Stored) -> list[str]:
    """Columns that others have renamed or dropped: the digests of the rows count their values."""
    there = {name.lower() for name in stored.columns}
    gone = [name for name in stored.last.columns if name.lower() not in there]
    if not gone:
        return []
    lost = (
        f"the tables have lost columns ({', '.join(gone)}), whose values the rows' digests count. Rename them back, or "
    )
    return [lost + "add them again if they had none, or rebuild with --full-refresh"]


def _stored_faults(settings: Settings, layout: Layout, stored: Stored, unknown: Mapping[str, list[str]]) -> list[str]:
    """What the tables were made with otherwise; lists that name unknown columns have their fault already."""
    faults, last = _gone_faults(stored), stored.last
    now, made = layout.properties(settings), dict(stored.properties)
    # the tables may spell them in another case, as a beaten run does which had added them first
    there = {name.lower(): name for name in stored.columns}
    spelled = {name: there[name.lower()] for name in last.columns if name.lower() in there}
    for role, names in layout.roles(spelled.values()).items():
        now[role] = _names_text(names)
        made[role] = _names_text(sorted(spelled[name] for name in getattr(last, role) if name in spelled))
    for name, current in now.items():
        label, back = name.removeprefix("dbt_cdc."), "Set it back"
        before = made.get(name, "none")
        if label == "hash_rule":
            label, back = "the hash rule", "Install a version of dbt_cdc that has that one"
        if before != current and label not in unknown:
            faults.append(
                f"{label} is {current}, the table was made with {before}. {back}, or rebuild with --full-refresh"
            )
    return faults


def _change_faults(settings: Settings, layout: Layout, added: list[str]) -> list[str]:
    missing = [column.name for column in layout.columns if column.source is None]
    if settings.on_schema_change != "fail" or not (added or missing):
        return []
    changes = {"new columns": added, "missing columns": missing}
    said = ", ".join(f"{what} ({', '.join(names)})" for what, names in changes.items() if names)
    return [f"on_schema_change is 'fail': {said}. Give the columns of the table, or change on_schema_change"]

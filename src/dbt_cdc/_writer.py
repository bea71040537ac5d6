"""Writes a Python model's frame as dbt-spark writes a SQL model: one ``create table … as select``.

The clauses are those of dbt-spark's SQL path (``spark__create_table_as``), from the same configs and with the same
meaning: what users write as SQL there (``partition_by: days(ts)``) is SQL here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt_common.exceptions import DbtRuntimeError

from dbt_cdc._formats import format_of
from dbt_cdc._frames import viewed
from dbt_cdc._sql import inner_fields, is_odd_name, literal, plain_type, quote
from dbt_cdc._types import unkept_faults

if TYPE_CHECKING:  # pragma: no cover
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Target:
    """The table to write, with its model's alias, description and configs."""

    relation: str
    alias: str
    description: str
    config: Mapping[str, Any]

    @property
    def is_intermediate(self) -> bool:
        """Is this the table of new rows that an incremental model adds to its target?"""
        return not self.relation.replace("`", "").endswith(f".{self.alias}")

    @property
    def is_batch(self) -> bool:
        """Is this the batch of an apply_changes model, which casts it to the types of its table?"""
        return self.config.get("materialized") == "apply_changes"


def write(frame: DataFrame, target: Target, *, replace: bool = True) -> None:
    """Create the target from the frame, or replace it where its format can and that is wanted."""
    session = frame.sparkSession
    if target.is_batch:
        frame = _typed(frame)
    names = [path[-1] for path in inner_fields(frame.schema)]
    if target.is_intermediate:
        session.sql(f"drop table if exists {target.relation}")
    properties, later = _table_properties(session, target.config, names)
    if target.is_intermediate:
        properties |= format_of(target.config.get("file_format")).main_branch
    with viewed(frame) as view:
        session.sql(create_statement(target, f"select * from {view}", properties, replace=replace))
    if later:
        session.sql(f"alter table {target.relation} set {_properties('tblproperties', later)}")


def _typed(frame: DataFrame) -> DataFrame:
    """The frame with columns of NULLs alone, and of texts with a collation, as text: not every table takes them.

    Columns of types that none takes are an error.
    """
    from pyspark.sql.functions import col

    faults = [fault for field in frame.schema.fields for fault in unkept_faults(field.name, field.dataType)]
    if faults:
        raise DbtRuntimeError(
            "\n".join(["dbt_cdc: the batch can't be written:", *(f"  - {fault}" for fault in faults)])
        )
    types = {field.name: plain_type(field.dataType) for field in frame.schema.fields}
    if all(types[field.name] == field.dataType for field in frame.schema.fields):
        return frame
    return frame.select(*(col(quote(name)).cast(kind).alias(name) for name, kind in types.items()))


def create_statement(target: Target, query: str, properties: Mapping[str, Any], *, replace: bool) -> str:
    """The statement that makes the target from a query, with these table properties.

    An intermediate table gets what decides about its columns (format, options, properties), not where and how the
    target lies: at the target's location it would destroy the target.
    """
    config = target.config
    file_format = config.get("file_format")
    clauses = [
        f"create {'or replace ' if replace and format_of(file_format).replaceable else ''}table {target.relation}",
        f"using {file_format}" if file_format else "",
        _properties("options", _options(config)),
        _properties("tblproperties", properties),
    ]
    if not target.is_intermediate:
        clauses += [_partitions(config), _buckets(config), _location(target), _comment(target)]
    return "\n".join([*filter(None, clauses), "as", query])


def _options(config: Mapping[str, Any]) -> dict[str, Any]:
    options = dict(config.get("options") or {})
    if format_of(config.get("file_format")).keyed and config.get("unique_key"):
        options.setdefault("primaryKey", ",".join(_names(config["unique_key"])))
    return options


def _table_properties(
    session: SparkSession, config: Mapping[str, Any], names: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Those that a table with columns of these names, those in structs among them, is made with, and gets then."""
    kind = format_of(config.get("file_format"))
    needed = kind.column_names if any(map(is_odd_name, names)) else {}
    properties = {**needed, **(config.get("tblproperties") or {})}
    asked = {name: properties.get(name, session.conf.get(default, None)) for name, default in kind.set_later.items()}
    later = {name: value for name, value in asked.items() if str(value).lower() == "true"}
    is_mapped = kind.column_names.keys() & properties.keys()
    if not later or not (is_mapped or session.conf.get(kind.column_names_by, "none") != "none"):
        return properties, {}
    return {**properties, **dict.fromkeys(later, "false")}, later


def _properties(keyword: str, properties: Mapping[str, Any]) -> str:
    if not properties:
        return ""
    pairs = (f"{_literal(name)} = {_literal(value)}" for name, value in properties.items())
    return f"{keyword} ({', '.join(pairs)})"


def _partitions(config: Mapping[str, Any]) -> str:
    names = _names(config.get("partition_by"))
    return f"partitioned by ({', '.join(names)})" if names else ""


def _buckets(config: Mapping[str, Any]) -> str:
    names, buckets = _names(config.get("clustered_by")), config.get("buckets")
    return f"clustered by ({', '.join(names)}) into {buckets} buckets" if names and buckets else ""


def _location(target: Target) -> str:
    root = target.config.get("location_root")
    return f"location {_literal(f'{root}/{target.alias}')}" if root else ""


def _comment(target: Target) -> str:
    persist_docs = target.config.get("persist_docs") or {}
    return f"comment {_literal(target.description)}" if persist_docs.get("relation") else ""


def _names(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [str(name) for name in value or ()]


def _literal(value: Any) -> str:
    return literal(property_text(value))


def property_text(value: Any) -> Any:
    """A value of an option or a table property, a YAML boolean as the text that Spark takes."""
    return str(value).lower() if isinstance(value, bool) else value

"""The tables of a hash_diff model: base, history, sensitive, and the view (or table) that is the model.

The base table holds the last state of every key and one marker row (keyhash ''): the extract type and the effective
date of the last load, the load's id with the names of the columns, and as nonkeyhash the number of current rows. A load
is one commit of the base table, marker included; the history is then made from it (_hash_diff_history).
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dbt.adapters.events.logging import AdapterLogger

from dbt_cdc._formats import format_of
from dbt_cdc._frames import viewed
from dbt_cdc._hash_diff_compare import merge_source
from dbt_cdc._hash_diff_conflicts import is_conflict, raise_other_run, unless_beaten
from dbt_cdc._hash_diff_layout import (
    IS_ENDED,
    IS_KEY,
    IS_MARKER,
    LOAD,
    PENDING,
    SUPPLIED,
    Layout,
    Marker,
    Settings,
    Stored,
    fail,
)
from dbt_cdc._sql import inner_fields, is_odd_name, literal, quote, quoted, type_text
from dbt_cdc._types import kept_as
from dbt_cdc._writer import Target, write

if TYPE_CHECKING:  # pragma: no cover
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField

OWN = "dbt_cdc."
#: Property of a base table and of its history: the first load of the base table.
FIRST_LOAD = "dbt_cdc.first_load"
#: Property of the model and of what shows its sensitive columns, views or tables: the base table of their rows.
MODEL_OF = "dbt_cdc.model_of"

#: How often an idempotent write is tried where another run's commit comes in between.
ATTEMPTS = 3

_log = AdapterLogger("dbt_cdc")


class Tables:
    """Reads and writes the tables of one model."""

    def __init__(self, spark: SparkSession, settings: Settings) -> None:
        self.spark, self.settings = spark, settings
        self.catalog = quote(spark.catalog.currentCatalog())

    def exists(self, table: str) -> bool:
        return bool(self.spark.catalog.tableExists(self._in_catalog(table)))

    def _in_catalog(self, table: str) -> str:
        """The name with its catalog: of one without, Spark asks Hive's metastore first, and Derby takes one process."""
        return table if len(_parts(table)) > 2 else f"{self.catalog}.{table}"

    def marker(self, at: str = "", *, pending: bool = False) -> Marker | None:
        """The last load; None where there is none (no table, or, unless `pending`, a first load that never ended).

        `at`: SQL after the table's name, such as " version as of 3"; then the table is not looked up first.
        """
        if not at:
            if not self.exists(self.settings.base):
                return None
            self.refresh(self.settings.base)
        rows = self.spark.sql(
            f"select {LOAD}, cast(eff_start_date as string), cast(nonkeyhash as bigint) "
            f"from {self.settings.base}{at} where {IS_MARKER}"
        ).collect()
        if not rows or (rows[0][0].startswith(PENDING) and not pending):
            return None
        load, _, told = rows[0][0].removeprefix(PENDING).partition(" ")
        return Marker(load, *rows[0][1:], **json.loads(told or "{}"))

    def refresh(self, table: str) -> None:
        """Let Spark see what another process has written: for half a minute it may show a table as it knows it."""
        if format_of(self.settings.format).remembered:
            self.spark.sql(f"refresh table {table}")

    def version(self, table: str) -> str:
        """What `version as of` takes for a table as it is now."""
        kind = format_of(self.settings.format)
        self.refresh(table)
        for part in kind.remembered_apart if "." in _parts(table)[-1] else ():
            self.spark.sql(f"refresh table {table}.{part}")
        return str(self.spark.sql(kind.current_version.format(table)).collect()[0][0])

    def stored(self, last: Marker) -> Stored:
        """Columns and properties of the base table, and its sensitive columns: those that loads have brought."""
        base, kept = self.settings.base, self.settings.sensitive_base
        own = {name.lower() for name in last.columns}
        apart = {name.lower(): name for name in last.sensitive_columns}  # a beaten run may have left some here, too
        columns = {f.name: f.dataType for f in self.spark.table(base).schema if f.name.lower() not in apart}
        if apart:
            if not self.exists(kept):
                fail(self.settings.node, [f"{kept} is gone. Bring it back, or start anew with --full-refresh"])
            self.refresh(kept)
            values = self.spark.table(kept).schema
            columns.update({apart[f.name.lower()]: f.dataType for f in values if f.name.lower() in apart})
        brought = {name: kind for name, kind in columns.items() if name.lower() in own}
        return Stored(brought, self.properties(base), last)

    def properties(self, table: str) -> dict[str, str]:
        """All properties of a table, ours without the blanks that they are stored with."""
        rows = self.spark.sql(f"show tblproperties {table}").collect()
        hidden = [name for name, value in rows if name.startswith(OWN) and "(redacted)" in value]
        if hidden:
            matched = "spark.sql.redaction.options.regex or spark.redaction.regex matches it"
            said = f"Spark hides the table property '%s': {matched}. Give the session a pattern that does not"
            fail(self.settings.node, [said % name for name in hidden])
        return {name: value[::2] if name.startswith(OWN) else value for name, value in rows}

    def create(
        self,
        table: str,
        frame: DataFrame,
        properties: dict[str, str],
        partition_by: Sequence[str] = (),
        *,
        replace: bool = True,
    ) -> None:
        """Create the table from a frame, in one commit; `replace`: in the place of one that is there, which else fails.

        `partition_by`: names of columns, or transforms such as `days(born)`.
        """
        settings = self.settings
        config = {
            "file_format": settings.format,
            "location_root": settings.location_root,
            "partition_by": [part if "(" in part else quote(part.strip("`")) for part in partition_by],
            "persist_docs": {"relation": bool(settings.description)},
            "tblproperties": {**settings.table_properties, **_spaced(properties)},
        }
        target = Target(table, table.strip("`").rpartition("`")[2], settings.description, config)
        write(self._commented(frame), target, replace=replace)

    def create_base(self, frame: DataFrame, properties: dict[str, str], *, replace: bool) -> None:
        """The base table of a first load, which `properties` name.

        Delta commits before the catalog is told: where another run has told it of the table meanwhile, the statement
        fails though its rows stand in the place of the other's. And it refuses a folder that a killed run has left.
        """
        base, settings = self.settings.base, self.settings
        try:
            self.create(base, frame, properties, settings.partition_by, replace=replace)
        except Exception as problem:
            if not is_conflict(problem, settings):
                raise
            there = self.exists(base)
            if there and self.is_first(properties[FIRST_LOAD]):
                return
            if there or replace or not settings.replace_conflicts:
                raise
            self.create_base(frame, properties, replace=True)

    def _commented(self, frame: DataFrame) -> DataFrame:
        """The frame with the columns' comments, which come with the table then, each later one being a commit."""
        from pyspark.sql.functions import col

        comments = self.settings.comments
        metadata = {name: {"comment": comments[name.lower()]} for name in frame.columns if name.lower() in comments}
        if not metadata:
            return frame
        return frame.select(
            *[col(quote(n)).alias(n, metadata=metadata[n]) if n in metadata else col(quote(n)) for n in frame.columns]
        )

    def holds_views(self) -> bool:
        """Whether the model is a view, or is to be one: a probe view shows whether the catalog takes any."""
        if self.settings.model_type:
            return self.settings.model_type == "view"
        probe = self.settings.base.removesuffix("`") + "_probe`"
        try:
            self.spark.sql(f"create or replace view {probe} as select 1 as one")
            self.spark.sql(f"drop view if exists {probe}")  # another run may have done so
        except Exception as problem:
            reason = str(problem).strip().partition("\n")[0]
            _log.info(
                f"{self.settings.node}: the catalog makes no view ({reason}): a table, written whole by each load"
            )
            return False
        return True

    def add_columns(self, table: str, fields: Sequence[StructField]) -> None:
        """Add columns (StructFields) at the end of a table; those that it has already are left.

        Another run may have added one meanwhile, of a type that would change this run's values, whose digests are made.
        The history has its columns of a version of the base table.
        """
        have = {f.name.lower(): f.dataType for f in self.spark.table(table).schema.fields}
        there = [f for f in fields if f.name.lower() in have] if table != self.settings.history else []
        if not all(kept_as(f.dataType, have[f.name.lower()]) for f in there):
            raise_other_run(self.settings)
        new = [field for field in fields if field.name.lower() not in have]
        if not new:
            return
        names = [path[-1] for field in new for path in [(field.name,), *inner_fields(field.dataType)]]
        types = {field.name: type_text(field.dataType) for field in new}
        format_ = format_of(self.settings.format)
        needed: dict[str, str] = {}
        if any(map(is_odd_name, names)):
            kept = self.properties(table)  # Delta takes none from a mapping by `id` to one by name
            needed.update({n: mode for n, mode in format_.column_names.items() if kept.get(n, "none") == "none"})
        if any("timestamp_ntz" in kind for kind in types.values()):
            needed.update(format_.timestamp_ntz)
        if needed:
            self.set_properties(table, needed)
        listed = ", ".join(f"{quote(name)} {kind}" for name, kind in types.items())
        self.spark.sql(f"alter table {table} add columns ({listed})")

    def set_properties(self, table: str, properties: dict[str, str]) -> None:
        self.spark.sql(f"alter table {table} set tblproperties ({_listed(properties)})")

    def remember(self, now: Mapping[str, str], stored: Stored, load: str) -> None:
        """Set properties that the base table has otherwise, if `load` is still its last."""
        news = {name: value for name, value in now.items() if stored.properties.get(name) != value}
        if news:
            self.check_last(load)
            self.set_properties(self.settings.base, news)

    def confirm(self, load: str, rows: int) -> None:
        """Turn the marker of a first load from pending to done; fails if another run has taken the table over."""
        self.mark(load, PENDING + load, {LOAD: f"substr({LOAD}, {len(PENDING) + 1})", "nonkeyhash": literal(str(rows))})

    def mark(self, load: str, seen: str, values: Mapping[str, str]) -> None:
        """Let the marker tell of a load by values (as SQL) by column, where it still names what it was seen to name."""
        sets = ", ".join(f"{name} = {value}" for name, value in values.items())
        still = f"{IS_MARKER} and startswith({LOAD}, {literal(seen)})"
        with unless_beaten(self.settings):
            self.spark.sql(f"update {self.settings.base} set {sets} where {still}")
        self.check_last(load)

    def check_last(self, load: str) -> None:
        """Fail if another run has taken the table over."""
        marker = self.marker()
        if marker is None or marker.load != load:
            raise_other_run(self.settings)

    def discard(self, load: str) -> None:
        """Drop the base table of a first load, unless it is another run's by now."""
        if self.is_first(load):
            self.spark.sql(f"drop table {self.settings.base}")

    def is_first(self, load: str) -> bool:
        """Whether it is still this load that has made the base table."""
        self.refresh(self.settings.base)
        return self.properties(self.settings.base).get(FIRST_LOAD) == load

    def add_sensitive(self, rows: DataFrame, count: int, layout: Layout, load: str) -> None:
        """Add so many rows (keyhash, nonkeyhash, sensitive columns) of a load to those that are there, by both digests.

        Rows of another run stay: equal digests have equal values (those that are compared), so runs can't mix here.
        A full refresh replaces them, as long as the base table is its own.
        """
        settings, anew = self.settings, self.settings.full_refresh
        for attempt in range(1, ATTEMPTS + 1):
            try:
                if self.exists(settings.sensitive_base) and not anew:
                    self._merge_sensitive(rows, count, layout)
                else:
                    # another run's table refuses a plain `create`, as does on Delta a folder that a killed one left
                    last = settings.replace_conflicts and attempt == ATTEMPTS
                    self.create(settings.sensitive_base, rows, {}, replace=anew or last)
                return
            except Exception as problem:
                if not is_conflict(problem, settings):
                    raise
                if attempt == ATTEMPTS or (anew and not self.is_first(load)):
                    raise_other_run(settings, problem)
                time.sleep(1)

    def _merge_sensitive(self, rows: DataFrame, count: int, layout: Layout) -> None:
        settings, names = self.settings, [column.name for column in layout.sensitive]
        self.add_columns(settings.sensitive_base, [column.struct_field for column in layout.sensitive])
        if not count:
            return
        sets = ", ".join(f"{quote(name)} = s.{quote(name)}" for name in names)
        with viewed(rows) as view:
            self.spark.sql(f"""
merge into {settings.sensitive_base} as t
using {merge_source(view, count, settings)} as s
on t.keyhash = s.keyhash and t.nonkeyhash = s.nonkeyhash
when matched then update set {sets}
when not matched then insert (keyhash, nonkeyhash, {", ".join(quoted(names))})
    values (s.keyhash, s.nonkeyhash, {", ".join(quoted(names, "s"))})""")

    def create_model(self, layout: Layout, *, as_view: bool) -> None:
        """The model itself: rows that the last load did not change read N, or X where it did not supply them."""
        base = self.settings.base
        names = ["keyhash", "nonkeyhash", *(column.name for column in layout.stored)]
        query = f"""with last_load as (
    select
        *,
        (
            select struct(eff_start_date as effective_date, operation as extract_type)
            from {base}
            where {IS_ENDED}
        ) as _dbt_cdc_last
    from {base}
    where {IS_KEY} and operation <> 'D'
)
select
    {", ".join(quoted(names))},
    case
        when eff_start_date = _dbt_cdc_last.effective_date then operation
        when _dbt_cdc_last.extract_type = 'full' or {SUPPLIED} = _dbt_cdc_last.effective_date then 'N'
        else 'X'
    end as operation,
    eff_start_date
from last_load
where _dbt_cdc_last is not null"""
        self._show(self.settings.model, [*names, "operation", "eff_start_date"], query, as_view)

    def create_sensitive(self, layout: Layout, *, as_view: bool) -> None:
        """keyhash and the sensitive columns of the current rows; NULL where a row is older than the columns."""
        names = ["keyhash", *(column.name for column in layout.sensitive)]
        base = self.settings.base
        query = f"""select b.keyhash, {", ".join(quoted(names[1:], "s"))}
from {base} as b
left join {self.settings.sensitive_base} as s on b.keyhash = s.keyhash and b.nonkeyhash = s.nonkeyhash
where b.keyhash <> '' and b.operation <> 'D'
    and exists (select 1 from {base} where {IS_ENDED})"""
        self._show(self.settings.sensitive, names, query, as_view)

    def is_foreign(self, name: str) -> bool:
        """Whether a table or view that is not ours has a name that is to be our view's (or, without views, table's)."""
        try:
            return MODEL_OF not in self.properties(name)
        except Exception as problem:  # to Spark's catalog a view of Iceberg's is nothing that exists
            if "TABLE_OR_VIEW_NOT_FOUND" in str(problem):
                return False
            raise

    def drop_sensitive(self, *, as_view: bool) -> None:
        """What a model that has no sensitive columns any more (since a full refresh) kept of them."""
        settings = self.settings
        last = self.marker(pending=True) if self.exists(settings.sensitive_base) else None
        if last is None or last.sensitive_columns:
            return  # nothing, or another run's, which has taken the model over
        if {"keyhash", "nonkeyhash"} <= {*self.spark.table(settings.sensitive_base).columns}:
            self.spark.sql(f"drop {'view' if as_view else 'table'} if exists {settings.sensitive}")
            self.spark.sql(f"drop table {settings.sensitive_base}")

    def drop_rejects(self, since: str | None) -> None:
        """What loads since a date (None: of all dates) rejected, where the model rejects no more."""
        rejects = self.settings.rejects
        own = ["eff_start_date", "keyhash", "fault", "incoming_row"]
        if not self.exists(rejects) or self.spark.table(rejects).columns != own:
            return
        if since is None:
            self.spark.sql(f"drop table {rejects}")
        elif not self.spark.table(rejects).where(f"eff_start_date >= {since}").isEmpty():
            self.spark.sql(f"delete from {rejects} where eff_start_date >= {since}")

    def _show(self, name: str, columns: list[str], query: str, as_view: bool) -> None:
        if not as_view:
            for _ in range(ATTEMPTS):  # a table that comes late must not stand in place of a later load's
                marker = self.marker()
                if self.exists(self.settings.sensitive_base):
                    self.refresh(self.settings.sensitive_base)
                self.create(name, self.spark.sql(query), {MODEL_OF: self.settings.base})
                if self.marker() == marker:
                    break
            return
        comments = self.settings.comments
        listed = [
            quote(column) + (f" comment {literal(comments[column.lower()])}" if comments.get(column.lower()) else "")
            for column in columns
        ]
        description = self.settings.description
        comment = f" comment {literal(description)}" if description else ""
        own = f" tblproperties ({_listed({MODEL_OF: self.settings.base})})"
        self.spark.sql(f"create or replace view {name} ({', '.join(listed)}){comment}{own} as\n{query}")


def _parts(table: str) -> list[str]:
    """The parts of a table's name, with their backticks."""
    return re.findall(r"(?:`[^`]*`)+|[^.`]+", table)


def _spaced(properties: dict[str, str]) -> dict[str, str]:
    """As they are stored: a blank after each letter of ours, as Spark hides values with words such as url or token."""
    return {name: " ".join(value) if name.startswith(OWN) else value for name, value in properties.items()}


def _listed(properties: dict[str, str]) -> str:
    """As a statement has them between brackets."""
    return ", ".join(f"{literal(name)} = {literal(value)}" for name, value in _spaced(properties).items())

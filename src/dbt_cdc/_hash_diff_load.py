"""One load of a hash_diff model: read, compare, write, count."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from dbt_cdc import _hash_diff_checks as checks
from dbt_cdc import _hash_diff_compare as comparison
from dbt_cdc._frames import kept_on_disk, release, to_spark, viewed
from dbt_cdc._hash_diff_conflicts import is_conflict, raise_other_run, raise_other_write, unless_beaten
from dbt_cdc._hash_diff_guard import (
    branch_faults,
    date_faults,
    foreign_faults,
    history_faults,
    leftover_faults,
    narrow_faults,
    setting_faults,
)
from dbt_cdc._hash_diff_history import History
from dbt_cdc._hash_diff_incoming import FAULT, cast_faults, kept_rows, rejected, stage
from dbt_cdc._hash_diff_layout import (
    IS_KEY,
    LOAD,
    PENDING,
    SUPPLIED,
    Layout,
    Marker,
    Settings,
    Stored,
    fail,
    resolve,
)
from dbt_cdc._hash_diff_tables import FIRST_LOAD, Tables
from dbt_cdc._sql import literal, quote, quoted, row_of
from dbt_cdc._submission import Outcome

if TYPE_CHECKING:  # pragma: no cover
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

OPERATIONS = ("I", "U", "D", "X", "N")
_log = AdapterLogger("dbt_cdc")


def run(model: Callable[[Any, Any], Any], dbt: Any, spark: SparkSession, settings: str) -> Outcome:
    """Run the model and load what it returns; `settings` is the JSON text of Settings."""
    return Load(spark, Settings(**json.loads(settings))).run(to_spark(model(dbt, spark), spark, typed=False))


class Load:
    """The steps of one load, each written so that the next run mends what a killed one left."""

    def __init__(self, spark: SparkSession, settings: Settings) -> None:
        self.spark, self.settings = spark, settings
        self.id = uuid.uuid4().hex
        self.tables = Tables(spark, settings)
        self.history = History(self.tables)
        self.held: list[DataFrame] = []

    def run(self, frame: DataFrame) -> Outcome:
        faults = setting_faults(self.spark, self.settings.format)
        fail(self.settings.node, faults + foreign_faults(self.tables) + branch_faults(self.tables))
        marker = self.tables.marker()
        previous = None if self.settings.full_refresh else marker  # the load that this one follows
        stored = self.tables.stored(previous) if previous else None
        types, faults = self._declared()
        faults += history_faults(self.tables, marker) + narrow_faults(self.tables, stored)
        faults += date_faults(self.settings, previous)
        layout = resolve(self.settings, frame.schema, types, stored, faults)
        fail(self.settings.node, cast_faults(self.spark, layout) + leftover_faults(self.tables, layout, stored))
        if stored and self.settings.on_schema_change == "ignore":
            frame = frame.select(*[quote(column.source) for column in layout.columns if column.source])
        again = previous is not None and self.settings.effective_date <= previous.effective_date
        lacking = [column.name for column in layout.columns if not column.source]
        self._log_stage(
            f"reads and compares the {self.settings.extract_type} load of {self.settings.effective_date}"
            + (", in place of what was loaded for that date and since" if again else "")
            + (f"; the data have no column {', '.join(lacking)}: NULL there" if lacking else "")
        )
        try:
            if self.settings.reads_a_part:
                # dbt's dry run: no rows of an upstream mean nothing, least of all that every key is gone
                return self._dry(frame.limit(0), layout, stored, marker)
            if self.settings.on_cast_error == "rejects":
                frame = self._hold(frame)  # what is rejected is told from it once more
            if stored and previous:
                counts = self._next(frame, layout, stored, previous, again=again)
            else:
                counts = self._first(frame, layout, marker)
        finally:
            for held in self.held:
                release(held)
        self._log_stage(f"brings {self.settings.history} up to the load")
        first = previous.first if previous else self.id
        latest = self.history.sync(Marker(self.id, self.settings.effective_date, first=first), marker, own=True)
        if latest is not None and latest.load != self.id:  # another run's, whose view this one may have replaced
            self._create_model(self.tables.stored(latest).layout)
        return Outcome(
            message=f"{self.settings.extract_type} load of {self.settings.effective_date}: {_listed(counts)}"
            + self._listed_rejects(),
            operations=counts,
        )

    def _log_stage(self, text: str) -> None:
        _log.info(f"{self.settings.node}: {text}")

    def _listed_rejects(self) -> str:
        if self.settings.on_cast_error != "rejects":
            return ""
        date = self.settings.date
        return f", {self.spark.table(self.settings.rejects).where(f'eff_start_date = {date}').count()} rejected"

    # -- before anything is written -------------------------------------------------------------------------------

    def _declared(self) -> tuple[dict[str, DataType], list[str]]:
        """The DataTypes of the model's data_type entries, asked of Spark, and what it does not know."""
        texts, types, faults = self.settings.types, {}, []
        try:
            return dict(zip(texts, self._types_of(texts.values()), strict=True)) if texts else {}, []
        except Exception:
            _log.debug(f"{self.settings.node}: asks for each data_type by itself, as Spark does not know them all")
        for name, text in texts.items():
            try:
                types[name] = self._types_of([text])[0]
            except Exception as problem:  # of many classes, by what is wrong with the type
                reason = str(problem).strip().partition("\n")[0]
                faults.append(f"column '{name}': Spark takes no data_type '{text}' (in the model's YAML): {reason}")
        return types, faults

    def _types_of(self, texts: Iterable[str]) -> list[DataType]:
        nulls = ", ".join(f"cast(null as {text})" for text in texts)
        return [field.dataType for field in self.spark.sql(f"select {nulls}").schema.fields]

    def _hold(self, frame: DataFrame) -> DataFrame:
        """Keep a frame on disk, so that its input is read once."""
        self.held.append(kept_on_disk(frame))
        return self.held[-1]

    # -- the first load ---------------------------------------------------------------------------------------------

    def _dry(self, frame: DataFrame, layout: Layout, stored: Stored | None, marker: Marker | None) -> Outcome:
        """`--empty`, `--sample`: tables without rows where there are none; no load, so the first is still to come."""
        if not stored:
            self._first(frame, layout, marker)
            if self.settings.full_refresh or not self.tables.exists(self.settings.history):
                self.history.create_empty()
        elif self.settings.model_type is None or not self.tables.exists(self.settings.history):
            # a first load that was killed after its commit has not come to make them
            self._create_model(layout.known)
            self.history.sync(marker)
        return Outcome("--empty or --sample: nothing loaded", dict.fromkeys(OPERATIONS, 0))

    def _first(self, frame: DataFrame, layout: Layout, marker: Marker | None) -> dict[str, int]:
        settings = self.settings
        staged = stage(frame, layout, settings)
        # a table that is dropped leaves its files under a location_root: there rows are checked before they are written
        at_own_place = settings.location_root is not None
        there = settings.full_refresh or self.tables.exists(settings.base)
        careful = there or bool(layout.sensitive) or settings.on_cast_error == "rejects" or at_own_place
        count = None
        if careful:
            staged = self._hold(staged)
            count = checks.check_first(staged, layout, settings)
        # what is shown with the table's own commit: what has been checked, and has no other table to wait for
        whole = count is not None and not layout.sensitive and not settings.reads_a_part
        with unless_beaten(settings):
            self._write_rejects(frame, layout, anew=True)
        rows = self._first_rows(staged, layout, count if whole else None)
        properties = {**settings.base_properties, **layout.properties(settings), FIRST_LOAD: self.id}
        if self.tables.marker() != marker:
            raise_other_run(settings)
        self._log_stage(f"writes {settings.base}")
        with unless_beaten(settings):
            if settings.before_restart:
                self.spark.sql(settings.before_restart)
            replace = settings.full_refresh or (there and settings.replace_conflicts)
            if there and not replace:
                # left by a first load that never ended: to replace it would not heed another run's table
                self.history.outdate()
                self.spark.sql(f"drop table if exists {settings.base}")
            self.tables.create_base(rows, properties, replace=replace)
        if count is None:
            rows = self.spark.table(settings.base).where(IS_KEY).withColumnRenamed(LOAD, FAULT)
            try:
                count = checks.check_first(rows, layout, settings)
            except Exception:
                self.tables.discard(self.id)
                raise
        if settings.full_refresh and layout.sensitive and not self.tables.is_first(self.id):
            raise_other_run(settings)
        self._write_sensitive(staged.where(f"{FAULT} is null"), count, layout)
        if whole:
            self.tables.check_last(self.id)
        elif not settings.reads_a_part:
            self.tables.confirm(self.id, count)
        self._create_model(layout, first=True)
        return {**dict.fromkeys(OPERATIONS, 0), "I": count}

    def _first_rows(self, staged: DataFrame, layout: Layout, count: int | None) -> DataFrame:
        """All rows as I, their faults in the column of the load's id until these are checked, and the marker.

        `count`: the number of rows, where the load is done with these; None: the marker is pending.
        """
        settings = self.settings
        date = settings.date
        names = [column.name for column in layout.stored]
        rows = staged.where(kept_rows(settings)).selectExpr(
            "keyhash", "nonkeyhash", *quoted(names), "'I' as operation", f"{date} as eff_start_date",
            f"cast(null as date) as {SUPPLIED}", f"{FAULT} as {LOAD}",
        )  # fmt: skip
        values = {
            "keyhash": "''",
            "operation": literal(settings.extract_type),
            "eff_start_date": date,
            LOAD: literal((PENDING if count is None else "") + layout.told(self.id, self.id)),
            **({} if count is None else {"nonkeyhash": literal(str(count))}),
        }
        return rows.unionByName(self.spark.range(1).selectExpr(*row_of(rows.schema.fields, values)))

    # -- every other load ---------------------------------------------------------------------------------------------

    def _next(self, frame: DataFrame, layout: Layout, stored: Stored, marker: Marker, *, again: bool) -> dict[str, int]:
        """`marker`: of the load before; `again`: whether it, and maybe others before it, are taken back first."""
        settings, delta = self.settings, self.settings.extract_type == "delta"
        self.history.sync(marker)
        if self.history.written:
            self._create_model(layout.known)  # what shows the load before may be older, too
        staged = stage(frame, layout, settings)
        if again:
            checks.check_past(self.spark, settings)
            keys = self._hold(comparison.touched_since(self.spark, settings))
            touched = self._hold(comparison.with_past(keys, keys.count(), settings))
            before = comparison.rewound(touched, settings)
        else:
            before = comparison.state(self.spark, settings)
        known = None if again else marker.rows
        if known is None:
            known = before.where("_dbt_cdc_old_operation <> 'D'").count()
        if delta:
            staged = self._hold(staged)
            before = comparison.only_supplied(before, staged, staged.count())
        compared = comparison.compare(staged, before, settings)
        if again:
            compared = self._hold(compared)
            counted = comparison.changes(compared, layout, settings)
            rows = self._hold(comparison.restored(counted, compared, touched, settings))
        else:
            # what is ignored stays as it is in the table, so such rows can't be written from the data
            changed = comparison.changes(compared, layout, settings, mark=bool(layout.of("ignored")))
            counted = rows = self._hold(changed)
        counts, purged, written = checks.count_operations(counted, known, layout, settings)
        checks.check_deletes(counts["D"], known, rows if again else None, settings)
        self._log_stage(f"writes {_listed(counts)} to {settings.base}")
        with unless_beaten(settings):
            self._write_rejects(frame, layout, anew=False)
        news = f"{comparison.ACTION} = 'put' and operation in ('I', 'U')"
        today = f"eff_start_date = {settings.date}"
        self._write_sensitive(rows.where(f"{news} and {today}"), counts["I"] + counts["U"], layout)
        with unless_beaten(settings):
            self.tables.remember(settings.late_properties, stored, marker.load)
            self.tables.add_columns(settings.base, [column.struct_field for column in layout.stored if column.new])
        marks = again or counts["D"] > 0 or (delta and bool(layout.of("ignored")))
        actions = {name for name, some in (("mark", marks), ("remove", again or purged > 0)) if some}
        left = known + counts["I"] - counts["D"]
        self._merge(rows, rows.count() if again else written, layout, marker, left, actions)
        self._create_model(layout)
        return counts

    def _merge(self, rows: DataFrame, count: int, layout: Layout, marker: Marker, left: int, actions: set[str]) -> None:
        """The load's one commit: so many rows, and the marker, which must still name the load that was compared with.

        `left`: the number of current rows after it.
        `actions`: those that rows may have beside `put`. Each clause of a merge is evaluated for every column of every
        row, and one that keeps a part of the table's row has the table read with all its columns.
        """
        settings, action = self.settings, comparison.ACTION
        told = {"nonkeyhash": literal(str(left)), "operation": literal(settings.extract_type),
                "eff_start_date": settings.date}  # fmt: skip
        named = literal(layout.told(self.id, marker.first))
        if not count:
            with self._committing(marker):
                self.tables.mark(self.id, marker.load, {LOAD: named, **told})
            return
        names = ["nonkeyhash", *(column.name for column in layout.stored), "operation", "eff_start_date", SUPPLIED]
        written = {"operation": f"coalesce({comparison.KEPT}, operation) as operation"}
        source = rows.selectExpr(action, "keyhash", *[written.get(name, quote(name)) for name in names])
        own = self.spark.range(1).selectExpr(*row_of(source.schema.fields, {action: "'put'", "keyhash": "''", **told}))
        sets = ", ".join(f"{quote(name)} = s.{quote(name)}" for name in names)
        error = "cast(raise_error('dbt_cdc: another run of this model was first') as string)"
        load = f"case when startswith(t.{LOAD}, {literal(marker.load)}) then {named} else {error} end"
        mark = f"""
when matched and s.{action} = 'mark' then update set
    operation = coalesce(s.operation, t.operation),
    eff_start_date = coalesce(s.eff_start_date, t.eff_start_date),
    {SUPPLIED} = s.{SUPPLIED}"""
        remove = f"""
when matched and s.{action} = 'remove' then delete"""
        more = (mark if "mark" in actions else "") + (remove if "remove" in actions else "")
        with self._committing(marker), viewed(source.unionByName(own)) as view:
            self.spark.sql(f"""
merge into {settings.base} as t
using {comparison.merge_source(view, count, settings)} as s
on t.keyhash = s.keyhash
when matched and s.{action} = 'put' then update set
    {sets},
    {LOAD} = case when s.keyhash = '' then {load} end{more}
when not matched and s.{action} = 'put' then insert (keyhash, {", ".join(quoted(names))}, {LOAD})
    values (s.keyhash, {", ".join(quoted(names, "s"))}, case when s.keyhash = '' then {error} end)""")

    @contextmanager
    def _committing(self, marker: Marker) -> Iterator[None]:
        """Tell by the marker what has become of a statement that fails: it was committed, or another one was first."""
        try:
            yield
        except Exception as problem:
            after = self.tables.marker()
            if after is not None and after.load == self.id:
                return  # the load was committed: what failed came after it
            if not isinstance(problem, DbtRuntimeError):
                if after is None or after.load != marker.load:
                    raise_other_run(self.settings, problem)
                if is_conflict(problem, self.settings):
                    raise_other_write(self.settings, problem)
            raise

    def _write_sensitive(self, rows: DataFrame, count: int, layout: Layout) -> None:
        """Add the sensitive values of so many rows, by both digests; without the load's commit none is read."""
        if layout.sensitive:
            names = [column.name for column in layout.sensitive]
            apart = rows.selectExpr("keyhash", "nonkeyhash", *quoted(names))
            self.tables.add_sensitive(apart, count, layout, self.id)

    def _write_rejects(self, frame: DataFrame, layout: Layout, *, anew: bool) -> None:
        """The rows that do not cast, in place of those of earlier attempts at this date and of later dates."""
        settings = self.settings
        if settings.on_cast_error != "rejects":
            self.tables.drop_rejects(None if anew else settings.date)
            return
        from pyspark.sql.functions import col, lit

        rows = rejected(frame, layout, settings)
        if not anew and self.tables.exists(settings.rejects):
            since = col("eff_start_date") >= lit(settings.effective_date).cast("date")
            rows.writeTo(settings.rejects).overwrite(since)
        else:
            self.tables.create(settings.rejects, rows, {}, ["eff_start_date"])

    def _create_model(self, layout: Layout, *, first: bool = False) -> None:
        as_view = self.tables.holds_views()
        if first and self.settings.foreign:
            self.spark.sql(f"drop table if exists {self.settings.model}")
        self.tables.create_model(layout, as_view=as_view)
        if layout.sensitive:
            self.tables.create_sensitive(layout, as_view=as_view)
        else:
            self.tables.drop_sensitive(as_view=as_view)


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{counts[name]} {name}" for name in OPERATIONS)

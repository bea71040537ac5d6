"""The history of a hash_diff model: what each load changed, as the partition of its date.

Made from the base table once a load is committed there; its properties name the load that it holds. A run that is
killed in between leaves it naming the load before, and the next run brings it up first.
"""

from __future__ import annotations

from dbt_common.exceptions import DbtRuntimeError

from dbt_cdc._formats import format_of
from dbt_cdc._hash_diff_conflicts import is_conflict
from dbt_cdc._hash_diff_layout import IS_KEY, LOAD, PENDING, SUPPLIED, Marker
from dbt_cdc._hash_diff_tables import ATTEMPTS, FIRST_LOAD, Tables
from dbt_cdc._sql import literal

#: Property: the load that a history holds.
_HELD_LOAD = "dbt_cdc.load"


class History:
    """Keeps one model's history in step with its base table, whatever other runs do meanwhile."""

    def __init__(self, tables: Tables) -> None:
        self.tables, self.spark, self.settings = tables, tables.spark, tables.settings
        self.written = False

    def sync(self, marker: Marker | None, before: Marker | None = None, *, own: bool = False) -> Marker | None:
        """Bring the history to the base table's last load, unless it is there already; the load that it was brought to.

        `before`: the load before that of this run, if the history was seen to hold that: then it has no later date than
        those two.
        `own`: it is the load of this run, behind which another may have loaded by now.
        """
        attempts = 0
        while marker is not None:
            try:
                shown, settled = self._bring_up(marker, before, own=own, last=attempts == ATTEMPTS)
            except Exception as problem:
                attempts += 1
                if not is_conflict(problem, self.settings):
                    raise
                if attempts > ATTEMPTS:
                    raise self._given_up(f"other runs kept writing {self.settings.history}") from problem
                continue
            if settled:
                return marker
            # another run may have moved on meanwhile: then its load is the one to hold
            latest = self.tables.marker()
            if latest == marker and shown == marker:
                return marker
            if latest == marker:
                attempts += 1  # a version that is not the table as it is read
            if attempts > ATTEMPTS:
                raise self._given_up("the versions of that table do not show it")
            marker, before = latest, None
        return None

    def _given_up(self, reason: str) -> DbtRuntimeError:
        return DbtRuntimeError(
            f"dbt_cdc: {self.settings.node}: the last load in {self.settings.base} is not in the history yet: "
            f"{reason}. The next run brings the history up to it; start one"
        )

    def _bring_up(self, marker: Marker, before: Marker | None, *, own: bool, last: bool) -> tuple[Marker | None, bool]:
        """The load that the base table's version of now shows, and whether the history holds that for certain.

        It is written where it is the load of `marker`; certain if no other version has come since.
        `last`: it is not tried again.
        """
        have = self._properties()
        rebuild = have.get(FIRST_LOAD) != marker.first
        if not rebuild and have.get(_HELD_LOAD) == marker.load:
            return marker, not own  # another run has written this run's, and may have loaded since
        # partitions that come once the version is chosen are of loads after it, and stay
        until = "" if rebuild else self._newest(marker, before, have.get(_HELD_LOAD))
        version = self.tables.version(self.settings.base)
        shown = self.tables.marker(f" version as of {version}")
        if shown != marker:
            return shown, False
        # a history that was not there makes way only at the last: till then it is another run's, of more loads
        replace = bool(have) or (last and self.settings.replace_conflicts)
        self._write(marker, version, until, replace=replace)
        return shown, self.tables.version(self.settings.base) == version

    def _properties(self) -> dict[str, str]:
        history = self.settings.history
        if not self.tables.exists(history):
            return {}
        self.tables.refresh(history)
        return self.tables.properties(history)

    def _newest(self, marker: Marker, before: Marker | None, held: str | None) -> str:
        """The date of the history's last partition, or the load's own if that is later; `held`: the load it has."""
        if before is not None and held == before.load:
            return max(marker.effective_date, before.effective_date)
        later = self.spark.table(self.settings.history).where(f"eff_start_date > date{literal(marker.effective_date)}")
        return later.selectExpr("cast(max(eff_start_date) as string)").collect()[0][0] or marker.effective_date

    def _write(self, marker: Marker, version: str, until: str, *, replace: bool) -> None:
        """The rows of a load, as a version of the base table has them, become the partitions from its date `until`.

        Without `until` they become the history. Whoever has loaded since has written them, and more: then nothing is.
        """
        from pyspark.sql.functions import col, lit

        self.written = True
        history, date = self.settings.history, f"date{literal(marker.effective_date)}"
        # its columns are that version's: a run that was beaten may have added some since
        held = self.spark.sql(f"select * from {self.settings.base} version as of {version}")
        rows = held.where(f"{IS_KEY} and eff_start_date = {date}").drop(SUPPLIED, LOAD)
        properties = {FIRST_LOAD: marker.first, _HELD_LOAD: marker.load}
        if not until:
            if self.tables.marker() == marker:
                self.tables.create(history, rows, properties, ["eff_start_date"], replace=replace)
            return
        self.tables.add_columns(history, rows.schema.fields)
        own = col("eff_start_date").between(lit(marker.effective_date).cast("date"), lit(until).cast("date"))
        since = format_of(self.settings.format).overwrite_since
        seen = self.tables.version(history) if since else ""
        options = {name: value.format(seen) for name, value in since.items()}
        if self.tables.marker() == marker:
            rows.writeTo(history).options(**options).overwrite(own)
            self.tables.set_properties(history, {**properties, **self.settings.late_properties})

    def outdate(self) -> None:
        """Mark a history that is older than the base table: alone it would be that of a table that was taken away."""
        first = self._properties().get(FIRST_LOAD, "")
        if first and not first.startswith(PENDING):
            self.tables.set_properties(self.settings.history, {FIRST_LOAD: PENDING + first})

    def create_empty(self) -> None:
        """A history of no load; the first load makes it anew. (Iceberg keeps properties that are not named.)"""
        rows = self.spark.table(self.settings.base).where("false").drop(SUPPLIED, LOAD)
        self.tables.create(self.settings.history, rows, {FIRST_LOAD: "", _HELD_LOAD: ""}, ["eff_start_date"])

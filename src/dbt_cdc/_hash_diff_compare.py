"""Compares the incoming data set with the state before its effective date and tells what each key needs.

All joins are on key hashes. `changes` has one row for every key that must be written: `_dbt_cdc_action` is `put`
(insert the row or replace it), `mark` (the row keeps its data: deleted, or supplied as it is) or `remove`.
What is written by `put` alone lets the merge read only keys of the table, not whole rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt_cdc._formats import format_of
from dbt_cdc._hash_diff_incoming import FAULT, kept_rows
from dbt_cdc._hash_diff_layout import IS_KEY, SUPPLIED, Layout, Settings
from dbt_cdc._sql import quote, quoted, row_of

if TYPE_CHECKING:  # pragma: no cover
    from pyspark.sql import DataFrame, SparkSession

ACTION, COPIES = "_dbt_cdc_action", "_dbt_cdc_copies"
#: The operation that a row keeps in the table; NULL where it is the load's own.
KEPT = "_dbt_cdc_kept"

#: How many rows without a fault have the row's key: a row beside one that can't be taken is no copy.
SOUND_COPIES = f"count_if({FAULT} is null) over (partition by keyhash)"

#: Rows of a delta, or to be merged, up to this number are sent whole to every task that reads the table.
BROADCAST_ROWS = 500_000


def compare(staged: DataFrame, before: DataFrame, settings: Settings) -> DataFrame:
    """All incoming rows and, in a full load, all keys that are gone, with operation I, U, D, N or P (purge).

    `before`: what `state` gives; `_dbt_cdc_old_operation` is D where the key was deleted in an earlier load.
    """
    counted = staged.selectExpr("*", f"{SOUND_COPIES} as {COPIES}")
    how = "full_outer" if settings.extract_type == "full" else "left"
    joined = counted.join(before, on=counted["keyhash"] == before["_dbt_cdc_old_keyhash"], how=how)
    was_deleted = "_dbt_cdc_old_operation = 'D'"
    return joined.selectExpr("*", f"{operation(was_deleted=was_deleted, faulty=f'{FAULT} is not null')} as operation")


def operation(*, gone: str = "D", was_deleted: str = "false", faulty: str = "false") -> str:
    """SQL text of what a key's two sides come to, by digests: keyhash, nonkeyhash and the `_dbt_cdc_old_` ones.

    `gone`: of a key that is not supplied. `was_deleted`, `faulty`: conditions for a key that the state has as deleted,
    and for a row that can't be taken.
    """
    return f"""case
        when keyhash is null and {was_deleted} then 'P'
        when keyhash is null then '{gone}'
        when {faulty} then 'N'
        when _dbt_cdc_old_keyhash is null or {was_deleted} then 'I'
        when nonkeyhash <> _dbt_cdc_old_nonkeyhash then 'U'
        else 'N'
    end"""


def changes(compared: DataFrame, layout: Layout, settings: Settings, *, mark: bool = True) -> DataFrame:
    """The rows to write, and those at fault (for the check that comes before writing).

    `mark`: whether a delta's unchanged rows are only marked as supplied or written again as they are (`put`).
    """
    faulty = f"({kept_rows(settings)} and ({FAULT} is not null or {COPIES} > 1))"
    delta = settings.extract_type == "delta"
    seen = f" or (operation = 'N' and {FAULT} is null)" if delta else ""
    date = settings.date
    unchanged = "mark" if mark else "put"
    return compared.where(f"operation in ('I', 'U', 'D', 'P') or {faulty}{seen}").selectExpr(
        f"case operation when 'D' then 'mark' when 'N' then '{unchanged}' when 'P' then 'remove' else 'put' end "
        f"as {ACTION}",
        "coalesce(keyhash, _dbt_cdc_old_keyhash) as keyhash",
        "nonkeyhash",
        *[quote(column.name) for column in layout.columns],
        "operation",
        f"case when operation = 'N' then _dbt_cdc_old_operation end as {KEPT}",
        f"case when operation = 'N' then _dbt_cdc_old_eff_start_date else {date} end as eff_start_date",
        f"{date if delta else 'cast(null as date)'} as {SUPPLIED}",
        FAULT,
        COPIES,
    )


def state(spark: SparkSession, settings: Settings, where: str = "true") -> DataFrame:
    """The base table's digests, named for `compare`."""
    return spark.sql(
        "select keyhash as _dbt_cdc_old_keyhash, nonkeyhash as _dbt_cdc_old_nonkeyhash, "
        "operation as _dbt_cdc_old_operation, eff_start_date as _dbt_cdc_old_eff_start_date "
        f"from {settings.base} where operation in ('I', 'U', 'D') and {where}"
    )


def only_supplied(before: DataFrame, staged: DataFrame, rows: int) -> DataFrame:
    """What a delta needs of the state: the keys that it supplies."""
    from pyspark.sql.functions import broadcast

    keys = staged.selectExpr("keyhash as _dbt_cdc_key")
    small = broadcast(keys) if rows <= BROADCAST_ROWS else keys
    return before.join(small, on=before["_dbt_cdc_old_keyhash"] == small["_dbt_cdc_key"], how="left_semi")


def merge_source(view: str, rows: int, settings: Settings) -> str:
    """What a merge reads: a view of so many rows, small ones sent whole to every task that looks for their keys.

    Of a frame that is held, Spark's own guess of its size is that of what it was joined from.
    """
    is_sent = rows <= BROADCAST_ROWS and format_of(settings.format).sends_merged
    return f"(select /*+ broadcast({view}) */ * from {view})" if is_sent else view


def touched_since(spark: SparkSession, settings: Settings) -> DataFrame:
    """touched_key: keys that a load of the date or since has touched."""
    date = settings.date
    return spark.sql(
        f"select keyhash as touched_key from {settings.base} where {IS_KEY} and eff_start_date >= {date} "
        f"union select keyhash from {settings.history} where eff_start_date >= {date}"
    )


def with_past(touched: DataFrame, count: int, settings: Settings) -> DataFrame:
    """touched_key, past: so many keys with their row before the date (or NULL).

    The history's rows are whole ones: they are not shuffled where the keys can be sent to them.
    """
    from pyspark.sql.functions import broadcast, expr

    history = touched.sparkSession.table(settings.history).where(f"eff_start_date < {settings.date}")
    apart = {name.lower() for name in ("keyhash", *settings.sensitive_columns)}  # may be left there, of another type
    small = broadcast(touched) if count <= BROADCAST_ROWS else touched
    names = [name for name in history.columns if name.lower() not in apart]
    last = expr(f"max_by(struct({', '.join(quoted(names))}), eff_start_date)").alias("past")
    rows = history.join(small, on=history["keyhash"] == small["touched_key"], how="left_semi")
    past = rows.groupBy("keyhash").agg(last).where("past.operation <> 'D'")
    return touched.join(past, on=touched["touched_key"] == past["keyhash"], how="left").select("touched_key", "past")


def rewound(touched: DataFrame, settings: Settings) -> DataFrame:
    """For a load of a date that the tables have passed: the state before it (see `with_past`)."""
    untouched = state(touched.sparkSession, settings, f"eff_start_date < {settings.date}")
    known = touched.where("past is not null").selectExpr(
        "touched_key as _dbt_cdc_old_keyhash",
        "past.nonkeyhash as _dbt_cdc_old_nonkeyhash",
        "past.operation as _dbt_cdc_old_operation",
        "past.eff_start_date as _dbt_cdc_old_eff_start_date",
    )
    return untouched.unionByName(known)


def has_lost_its_past(spark: SparkSession, settings: Settings) -> bool:
    """Whether a key's first change since the date is no insert, though the history has nothing of it before.

    Its last change stands in the base table too, whatever was removed from the history.
    """
    date = settings.date
    lost = spark.sql(f"""
        select since.keyhash
        from (
            select keyhash, min_by(operation, eff_start_date) as operation
            from (
                select keyhash, operation, eff_start_date from {settings.history}
                union all select keyhash, operation, eff_start_date from {settings.base} where {IS_KEY}
            )
            where eff_start_date >= {date}
            group by keyhash
        ) as since
        left anti join (select keyhash from {settings.history} where eff_start_date < {date}) as past
            on since.keyhash = past.keyhash
        where since.operation <> 'I'
    """)
    return bool(lost.limit(1).collect())


def restored(own: DataFrame, compared: DataFrame, touched: DataFrame, settings: Settings) -> DataFrame:
    """The changes of a repeated load: its own (see `changes`), and touched keys that go back to what they were."""
    date = settings.date
    keys = touched.select("touched_key")
    back_again = (own["keyhash"] == keys["touched_key"]) & (own[ACTION] != "put")
    plain = own.join(keys, on=back_again, how="left_anti")
    now = _now(compared, settings)
    back = touched.join(now, on=touched["touched_key"] == now["now_key"], how="left")
    seen = "now_operation = 'N'" if settings.extract_type == "delta" else "false"
    spelled = {name.lower(): name for name in own.columns}  # the history may have them in another case
    values = {
        **{spelled.get(name.lower(), name): f"past.{quote(name)}" for name in touched.selectExpr("past.*").columns},
        ACTION: "case when past is null then 'remove' else 'put' end",
        "keyhash": "touched_key",
        "operation": "case when now_operation = 'D' then 'D' else past.operation end",
        "eff_start_date": f"case when now_operation = 'D' then {date} else past.eff_start_date end",
        SUPPLIED: f"case when {seen} then {date} end",
    }
    gone = back.where("coalesce(now_operation, '') not in ('I', 'U')").selectExpr(*row_of(own.schema.fields, values))
    return plain.unionByName(gone).unionByName(_unmarked(own, now, settings))


def taken_away(rows: DataFrame, settings: Settings) -> tuple[int, int]:
    """How many of the current rows a repeated load ends (`rows`: what `restored` gives), and how many there are."""
    ended = rows.where(f"{ACTION} = 'remove' or operation = 'D'").selectExpr("keyhash as ended_key")
    current = state(rows.sparkSession, settings, "operation <> 'D'")
    both = current.join(ended, on=current["_dbt_cdc_old_keyhash"] == ended["ended_key"], how="left")
    found = both.selectExpr("count(ended_key) as ended", "count(*) as current").collect()[0]
    return found.ended, found.current


def _now(compared: DataFrame, settings: Settings) -> DataFrame:
    """now_key and now_operation, a row for each key that the load supplies or finds gone; rejected rows supply nothing.

    A known key whose rows are all rejected is not here: it goes back to what it was, like one that a delta leaves.
    """
    return compared.where(kept_rows(settings)).selectExpr(
        "coalesce(keyhash, _dbt_cdc_old_keyhash) as now_key", "operation as now_operation"
    )


def _unmarked(own: DataFrame, now: DataFrame, settings: Settings) -> DataFrame:
    """Keys that a load of this date or since had marked as supplied and this one does not mark."""
    date = settings.date
    marked = own.sparkSession.sql(
        f"select keyhash as marked_key from {settings.base} "
        f"where {IS_KEY} and {SUPPLIED} >= {date} and eff_start_date < {date}"
    )
    # a full load marks none
    now = now if settings.extract_type == "delta" else now.where("now_operation <> 'N'")
    left = marked.join(now, on=marked["marked_key"] == now["now_key"], how="left_anti")
    return left.selectExpr(*row_of(own.schema.fields, {ACTION: "'mark'", "keyhash": "marked_key"}))

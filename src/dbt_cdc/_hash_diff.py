"""The classifying of hash_diff as a function, for use outside dbt."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from dbt_cdc._sql import literal, quote, quoted
from dbt_cdc.hashing import ALGORITHMS, hash_expression, pre_image

_ADDED = ("keyhash", "nonkeyhash", "operation", "eff_start_date")


def hash_diff(
    current: Any,
    incoming: Any,
    *,
    keys: str | Sequence[str],
    extract_type: str = "full",
    effective_date: str | datetime.date | None = None,
    ignore_columns: Sequence[str] = (),
    hash_algorithm: str = "md5",
) -> Any:
    """Compare a data set with the current state, by digests of key and non-key columns.

    Gives a DataFrame with `keyhash`, `nonkeyhash` (strings of hex digits), the data columns, `operation` and
    `eff_start_date` (date): one row for each key of either side. I and U carry the incoming row and the effective date
    (default: today in UTC), D (full) the current row and the effective date, N and X (delta) the current row with the
    `eff_start_date` that it had (NULL where `current` has none).

    `current` may be None (a first load: all I) and may lack the digests; those that it has are used as they are.
    Raises ValueError for unknown columns or options, for a NULL in a key, and for a key that either side has twice.
    """
    keys = [keys] if isinstance(keys, str) else list(keys)
    ignore_columns = [ignore_columns] if isinstance(ignore_columns, str) else list(ignore_columns)
    date = str(effective_date or datetime.datetime.now(datetime.timezone.utc).date())
    _check_options(incoming, keys, extract_type, date, ignore_columns, hash_algorithm)
    fields = [f for f in incoming.schema.fields if f.name.lower() not in _ADDED]
    new = _hashed(incoming, fields, keys, ignore_columns, hash_algorithm)
    _check_keys(new, fields, keys, "incoming")
    if current is None:
        old = new.limit(0).selectExpr("*", "cast(null as date) as eff_start_date")
    else:
        have = {f.name.lower() for f in fields}
        own = [f for f in current.schema.fields if f.name.lower() not in _ADDED]
        fields = fields + [f for f in own if f.name.lower() not in have]
        old = _state(current, own, keys, ignore_columns, hash_algorithm)
        _check_keys(old, own, keys, "current")
    return _classified(old, new, [f.name for f in fields], extract_type, date)


def _check_options(
    incoming: Any, keys: list[str], extract_type: str, date: str, ignored: list[str], algorithm: str
) -> None:
    faults = []
    names = {name.lower(): name for name in incoming.columns}
    for option, listed in (("keys", keys), ("ignore_columns", ignored)):
        for name in listed:
            if name.lower() not in names:
                near = get_close_matches(name.lower(), names, 1)
                hint = f", did you mean '{names[near[0]]}'?" if near else ";"
                faults.append(f"{option}: no column '{name}' in incoming{hint} it has: {', '.join(incoming.columns)}")
    if not keys:
        faults.append("keys: name at least one column")
    both = sorted({key.lower() for key in keys} & {name.lower() for name in ignored})
    if both:
        faults.append(f"ignore_columns: {', '.join(both)} also in keys")
    if extract_type not in ("full", "delta"):
        faults.append(f"extract_type must be full or delta, got {extract_type!r}")
    if algorithm not in ALGORITHMS:
        faults.append(f"hash_algorithm must be one of {', '.join(ALGORITHMS)}, got {algorithm!r}")
    try:
        datetime.date.fromisoformat(date)
    except ValueError:
        faults.append(f"effective_date must be a date like 2019-06-18, got {date!r}")
    if faults:
        raise ValueError("dbt_cdc.hash_diff: " + "; ".join(faults))


def _hashed(frame: Any, fields: list[Any], keys: list[str], ignored: list[str], algorithm: str, *more: str) -> Any:
    """keyhash, nonkeyhash, the data columns, and `more` expressions."""
    key_names, ignored_names = ({name.lower() for name in names} for names in (keys, ignored))
    key_fields = [f for f in fields if f.name.lower() in key_names]
    compared = [f for f in fields if f.name.lower() not in key_names | ignored_names]
    return frame.selectExpr(
        f"{hash_expression(key_fields, algorithm)} as keyhash",
        f"{hash_expression(compared, algorithm)} as nonkeyhash",
        *quoted(f.name for f in fields),
        *more,
    )


def _state(current: Any, fields: list[Any], keys: list[str], ignored: list[str], algorithm: str) -> Any:
    """keyhash, nonkeyhash, the data columns, eff_start_date; the digests are computed where `current` lacks them."""
    have = {name.lower() for name in current.columns}
    date = f"{'cast(eff_start_date as date)' if 'eff_start_date' in have else 'cast(null as date)'} as eff_start_date"
    if {"keyhash", "nonkeyhash"} <= have:
        return current.selectExpr("keyhash", "nonkeyhash", *quoted(f.name for f in fields), date)
    return _hashed(current, fields, keys, ignored, algorithm, date)


def _check_keys(frame: Any, fields: list[Any], keys: list[str], side: str) -> None:
    """Raise for NULLs in keys and for keys that stand twice: one pass over the key columns."""
    key_fields = [f for f in fields if f.name.lower() in {key.lower() for key in keys}]
    null = " or ".join(f"{quote(f.name)} is null" for f in key_fields)
    shown = frame.selectExpr("keyhash", f"{pre_image(key_fields)} as shown", f"{null} as null_part")
    counted = shown.groupBy("keyhash").agg({"*": "count", "shown": "max", "null_part": "max"})
    wrong = counted.toDF("keyhash", *("copies" if "count" in n else "shown" if "shown" in n else "null_part"
                                      for n in counted.columns[1:]))  # fmt: skip
    wrong = wrong.where("copies > 1 or null_part")
    some = wrong.orderBy("shown").limit(5).collect()
    if some:
        rows = wrong.selectExpr("sum(copies)").collect()[0][0]
        examples = "; ".join(f"{row.shown} {row.copies} times" if not row.null_part else row.shown for row in some)
        raise ValueError(
            f"dbt_cdc.hash_diff: {rows} rows of {side} have NULL in a key part or a key that stands more than once: "
            f"{examples}"
        )


def _classified(old: Any, new: Any, names: list[str], extract_type: str, date: str) -> Any:
    """One row for each key of either side: the incoming row where it is I or U, else the current one."""
    old = old.withColumnsRenamed({name: f"_old_{name}" for name in old.columns})
    joined = new.join(old, on=new["keyhash"] == old["_old_keyhash"], how="full_outer")
    gone = "D" if extract_type == "full" else "X"
    marked = joined.selectExpr(
        "*",
        f"""case when keyhash is null then '{gone}' when _old_keyhash is null then 'I'
            when nonkeyhash <> _old_nonkeyhash then 'U' else 'N' end as operation""",
    )
    have = set(joined.columns)

    def side(name: str) -> str:
        new_value = quote(name) if name in have else "null"
        old_value = quote(f"_old_{name}") if f"_old_{name}" in have else "null"
        return f"case when operation in ('I', 'U') then {new_value} else {old_value} end as {quote(name)}"

    return marked.selectExpr(
        side("keyhash"),
        side("nonkeyhash"),
        *map(side, names),
        "operation",
        f"case when operation in ('N', 'X') then _old_eff_start_date else date{literal(date)} end as eff_start_date",
    )

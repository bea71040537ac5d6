"""The classifying of hash_diff as a function, for use outside dbt."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt_cdc._hash_diff_compare import operation
from dbt_cdc._hash_diff_guard import setting_faults
from dbt_cdc._hash_diff_layout import ADDED, repeated_name_faults
from dbt_cdc._hints import did_you_mean
from dbt_cdc._sql import literal, quote, quoted, type_text
from dbt_cdc._types import widens
from dbt_cdc.hashing import ALGORITHMS, hash_expression, shown_text

if TYPE_CHECKING:  # pragma: no cover
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField


def hash_diff(
    current: DataFrame | None,
    incoming: DataFrame,
    *,
    keys: str | Sequence[str],
    extract_type: str = "full",
    effective_date: str | datetime.date | None = None,
    ignore_columns: Sequence[str] = (),
    hash_algorithm: str = "md5",
) -> DataFrame:
    """Compare a data set with the current state, by digests of key and non-key columns.

    Gives one row for each key of either side: `keyhash` and `nonkeyhash` (strings of hex digits), the data columns,
    `operation` (string) and `eff_start_date` (date). I and U carry the incoming row and the effective date, D (full)
    the current row and the effective date, N and X (delta) the current row with the `eff_start_date` that it had (NULL
    where `current` has none). Names match whatever their case. A column of two types takes the wider one.

    Args:
        current: The state so far. None for a first load (all I), or what this function gave before: rows with
            operation D count as gone. Digests are made anew from its columns; those that it has are used only where it
            lacks a column of `incoming`, as the table of a model with sensitive columns does. There `ignore_columns`
            must be those that they were made with, which nothing can check: with others every row is U.
        incoming: The new extract.
        keys: Names of the key columns.
        extract_type: `full` (a key that is not supplied is D) or `delta` (it is X).
        effective_date: The business date of this load; without it today's, in UTC.
        ignore_columns: Names of columns that are not compared. A row that differs only there is N and stays as it was.
        hash_algorithm: `md5`, `sha2_256` or `xxhash64`.

    Raises:
        ValueError: What is given is no Spark DataFrame; an option or a column is unknown; `incoming` has a column
            with a name that is added here, or either side has a name twice; two columns' types can't be compared; a
            key has a NULL part or stands twice on one side; or the key digests of `current` were made in another way
            and can't be made anew there. The message lists the faults, and counts and shows some rows.
    """
    keys, ignore_columns = _names(keys), _names(ignore_columns)
    _check_kinds(incoming, current, keys, ignore_columns)
    _refuse(setting_faults(incoming.sparkSession))
    date = _date_text(effective_date)
    _check_options(incoming, current, keys, extract_type, date, ignore_columns, hash_algorithm)
    rule = _Rule({name.lower() for name in keys}, {name.lower() for name in ignore_columns}, hash_algorithm)
    old, new, names = _sides(current, incoming, rule)
    return _classified(old, new, names, extract_type, date)


def _sides(current: DataFrame | None, incoming: DataFrame, rule: _Rule) -> tuple[DataFrame, DataFrame, list[str]]:
    """Both sides with digests, their keys checked, and the names of the data columns of either."""
    faults = []
    if current is None:
        fields = _data_fields(incoming)
        new = rule.hashed(incoming, fields)
        old = new.limit(0).selectExpr("*", "cast(null as date) as eff_start_date")
    else:
        current = _current_rows(current)
        incoming, current = _with_common_types(incoming, current, rule)
        fields, own = _data_fields(incoming), _data_fields(current)
        new, old = rule.hashed(incoming, fields), _state(current, own, _lacking(incoming, current, rule), rule)
        faults = rule.key_faults(old, own, "current")
        have = {f.name for f in fields}
        fields = fields + [f for f in own if f.name not in have]
    _refuse(faults + rule.key_faults(new, _data_fields(incoming), "incoming"))
    return old, new, [f.name for f in fields]


def _refuse(faults: list[str]) -> None:
    """Raise one error that lists all faults, if there are any."""
    if faults:
        raise ValueError("dbt_cdc.hash_diff: " + "; ".join(faults))


def _names(given: str | Sequence[str] | None) -> list[str]:
    several = isinstance(given, (list, tuple, set, frozenset))
    return [] if given is None else list(given) if several else [given]  # type: ignore[list-item]


def _check_kinds(incoming: object, current: object, keys: list[str], ignored: list[str]) -> None:
    faults = []
    for side, frame in {"incoming": incoming, "current": current}.items():
        if not hasattr(frame, "selectExpr") and (frame is not None or side == "incoming"):
            kind = f"{type(frame).__module__}.{type(frame).__qualname__}"
            faults.append(f"{side} must be a Spark DataFrame, got a {kind}")
    for option, names in {"keys": keys, "ignore_columns": ignored}.items():
        if not all(isinstance(name, str) for name in names):
            faults.append(f"{option} must be names of columns, got {names!r}")
        elif len({name.lower() for name in names}) < len(names):
            faults.append(f"{option}: each column may stand once, got {', '.join(names)}")
    _refuse(faults)


def _check_options(
    incoming: DataFrame,
    current: DataFrame | None,
    keys: list[str],
    extract_type: str,
    date: str,
    ignored: list[str],
    algorithm: str,
) -> None:
    own = [name for name in incoming.columns if name.lower() in ADDED]
    faults = [f"incoming has a column '{name}', which hash_diff adds itself: rename or drop it" for name in own]
    kept = current.columns if current is not None else []
    faults += repeated_name_faults("incoming has", incoming.columns) + repeated_name_faults("current has", kept)
    names = {name.lower() for name in incoming.columns}
    either = [*incoming.columns, *(name for name in kept if name.lower() not in names)]
    sides = "incoming" if current is None else "either side"
    for option, listed, side, known in (
        ("keys", keys, "incoming", incoming.columns),
        ("ignore_columns", ignored, sides, either),
    ):
        for name in listed:
            if name.lower() not in {each.lower() for each in known}:
                hint = did_you_mean(name, known)
                faults.append(f"{option}: no column '{name}' in {side}{hint} Known: {', '.join(known)}")
    if not keys:
        faults.append("keys: name at least one column")
    both = sorted({key.lower() for key in keys} & {name.lower() for name in ignored})
    if both:
        faults.append(f"ignore_columns: {', '.join(both)} also in keys")
    if extract_type not in ("full", "delta"):
        faults.append(f"extract_type must be full or delta, got {extract_type!r}")
    if algorithm not in [*ALGORITHMS]:  # a list: a dict takes nothing that has no hash
        faults.append(f"hash_algorithm must be one of {', '.join(ALGORITHMS)}, got {algorithm!r}")
    if not _is_date(date):
        faults.append(f"effective_date must be a date like 2019-06-18, got {date!r}")
    _refuse(faults)


def _date_text(given: object) -> str:
    """The date as text, today's for None; a moment that is midnight stands for its day."""
    if given is None:
        return str(datetime.datetime.now(datetime.timezone.utc).date())
    if isinstance(given, datetime.datetime) and given.time() == datetime.time():
        return str(given.date())
    return str(given)


def _is_date(text: str) -> bool:
    """Year, month and day: what else `fromisoformat` takes depends on the version of Python."""
    try:
        return str(datetime.date.fromisoformat(text)) == text
    except ValueError:
        return False


@dataclass(frozen=True)
class _Rule:
    """How digests are made: names of columns in lower case, and the algorithm."""

    keys: set[str]
    ignored: set[str]
    algorithm: str

    def key_fields(self, fields: list[StructField]) -> list[StructField]:
        return [f for f in fields if f.name.lower() in self.keys]

    def keyhash(self, fields: list[StructField]) -> str:
        return hash_expression(self.key_fields(fields), self.algorithm)

    def compared(self, fields: list[StructField]) -> list[StructField]:
        return [f for f in fields if f.name.lower() not in self.keys | self.ignored]

    def hashed(self, frame: DataFrame, fields: list[StructField], *more: str) -> DataFrame:
        """keyhash, nonkeyhash, the data columns, and `more` expressions."""
        return frame.selectExpr(
            f"{self.keyhash(fields)} as keyhash",
            f"{hash_expression(self.compared(fields), self.algorithm)} as nonkeyhash",
            *quoted(f.name for f in fields),
            *more,
        )

    def key_faults(self, frame: DataFrame, fields: list[StructField], side: str) -> list[str]:
        """NULLs in keys, and keys that stand twice: one pass over the key columns."""
        from pyspark.sql.functions import expr

        key_fields = self.key_fields(fields)
        nulls = ", ".join(f"if({quote(f.name)} is null, {literal(f.name)}, null)" for f in key_fields)
        counted = frame.groupBy("keyhash").agg(
            expr("count(*)").alias("copies"),
            expr(f"max({shown_text(key_fields)})").alias("key"),
            expr(f"max(concat_ws(', ', {nulls}))").alias("nulls"),
        )
        kinds = {
            "nulls <> ''": ("have NULL in a key part", "concat(nulls, ' in ', key)", "give every row a whole key"),
            "nulls = '' and copies > 1": (
                "share their key with another row", "concat(key, ' ', copies, ' times')", "supply each key once"),
        }  # fmt: skip
        totals = counted.selectExpr(*(f"sum(if({where}, copies, 0))" for where in kinds)).collect()[0]
        faults = []
        for (where, (problem, shown, remedy)), rows in zip(kinds.items(), totals, strict=True):
            if rows:
                some = counted.where(where).selectExpr(f"{shown} as shown").orderBy("shown").limit(5).collect()
                faults.append(f"{rows} row(s) of {side} {problem}: {'; '.join(row[0] for row in some)}; {remedy}")
        return faults


def _data_fields(frame: DataFrame) -> list[StructField]:
    return [f for f in frame.schema.fields if f.name.lower() not in ADDED]


def _current_rows(current: DataFrame) -> DataFrame:
    """Without the keys that an earlier comparison found gone; an `operation` that stands alone is somebody else's."""
    have = {name.lower() for name in current.columns}
    marked = "operation" in have and ("eff_start_date" in have or {"keyhash", "nonkeyhash"} <= have)
    return current.where("operation is null or operation <> 'D'") if marked else current


def _lacking(incoming: DataFrame, current: DataFrame, rule: _Rule) -> list[str]:
    """The compared columns without which the digests that `current` has can't be made anew."""
    have = {name.lower() for name in current.columns}
    compared = rule.compared(_data_fields(incoming))
    return [f.name for f in compared if f.name.lower() not in have] if {"keyhash", "nonkeyhash"} <= have else []


def _with_common_types(incoming: DataFrame, current: DataFrame, rule: _Rule) -> tuple[DataFrame, DataFrame]:
    """Both sides with the names that incoming has and, column by column, one type."""
    given = {f.name.lower(): f for f in _data_fields(incoming)}
    own = {f.name.lower(): f for f in _data_fields(current)}
    fixed = bool(_lacking(incoming, current, rule))
    faults = [f"current has no key column '{given[key].name}'" for key in sorted(rule.keys - own.keys())]
    types = {}
    for name in sorted(given.keys() & own.keys()):
        new, old = type_text(given[name].dataType), type_text(own[name].dataType)
        types[name] = new if not fixed and _holds(new, old) else old
        if not _holds(types[name], new):
            kinds = [fields[name].dataType.simpleString() for fields in (given, own)]
            faults.append(
                f"column '{given[name].name}' is {kinds[0]} in incoming and {kinds[1]} in current: cast one of them"
            )
    _refuse(faults)

    def shown(field: StructField) -> str:
        name = field.name.lower()
        same = types.get(name) in (None, type_text(field.dataType))
        value = quote(field.name) if same else f"cast({quote(field.name)} as {types[name]})"
        return f"{value} as {quote(given[name].name if name in given else field.name)}"

    return incoming.selectExpr(*map(shown, incoming.schema.fields)), current.selectExpr(
        *map(shown, current.schema.fields)
    )


def _holds(wide: str, narrow: str) -> bool:
    """Whether a type holds all values of the other: NULLs are of any, a text is no number until somebody says so."""
    return narrow == "void" or widens(narrow, wide)


def _state(current: DataFrame, own: list[StructField], lacking: list[str], rule: _Rule) -> DataFrame:
    """keyhash, nonkeyhash, the data columns, eff_start_date; the digests made anew unless columns are lacking."""
    have = {name.lower() for name in current.columns}
    date = f"{'cast(eff_start_date as date)' if 'eff_start_date' in have else 'cast(null as date)'} as eff_start_date"
    if not lacking:
        return rule.hashed(current, own, date)
    if current.where(f"not keyhash <=> {rule.keyhash(own)}").limit(1).collect():
        made = f"are not {rule.algorithm} of these keys, and it lacks columns to make them anew: {', '.join(lacking)}"
        _refuse([f"the digests of current {made}"])
    return current.selectExpr("keyhash", "nonkeyhash", *quoted(f.name for f in own), date)


def _classified(old: DataFrame, new: DataFrame, names: list[str], extract_type: str, date: str) -> DataFrame:
    """One row for each key of either side: the incoming row where it is I or U, else the current one."""
    old = old.withColumnsRenamed({name: f"_dbt_cdc_old_{name}" for name in old.columns})
    joined = new.join(old, on=new["keyhash"] == old["_dbt_cdc_old_keyhash"], how="full_outer")
    marked = joined.selectExpr("*", f"{operation(gone='D' if extract_type == 'full' else 'X')} as operation")
    have = set(joined.columns)

    def side(name: str) -> str:
        new_value = quote(name) if name in have else "null"
        old_value = quote(f"_dbt_cdc_old_{name}") if f"_dbt_cdc_old_{name}" in have else "null"
        return f"case when operation in ('I', 'U') then {new_value} else {old_value} end as {quote(name)}"

    return marked.selectExpr(
        side("keyhash"),
        side("nonkeyhash"),
        *map(side, names),
        "operation",
        f"case when operation in ('N', 'X') then _dbt_cdc_old_eff_start_date else date{literal(date)} end "
        "as eff_start_date",
    )

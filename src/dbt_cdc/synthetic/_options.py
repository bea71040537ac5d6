"""The shipped models' way in: options as the var ``dbt_cdc: {synthetic: {…}}`` gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from dbt_cdc._hints import did_you_mean
from dbt_cdc.synthetic._checks import integer_faults, raise_faults
from dbt_cdc.synthetic._columns import Columns
from dbt_cdc.synthetic._loads import BOUNDS, incremental, incremental_faults, initial, shape_of
from dbt_cdc.synthetic._series import Series, share_faults

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOADS = ("initial", "incremental")
_INITIAL = ("no_init_recs", "no_keys", "no_nonkeys")
_INCREMENTAL = (*_INITIAL, "no_incr_recs", "pct_del", "pct_upd", "pct_unchanged")
_SERIES = ("no_init_recs", "no_incr_recs", "pct_del", "pct_upd", "pct_unchanged")
_COLUMNS = ("types", "null_share", "skew")
_OPTIONAL = ("seed", "load", "num_partitions")


def from_options(spark: SparkSession, load: Literal["initial", "incremental"], options: Any) -> DataFrame:
    """The initial or an incremental load, from one mapping that holds the options of both.

    Options are the arguments of :func:`initial` and :func:`incremental`, and those of :class:`Columns`.
    Raises SyntheticError for unknown and missing ones, and for what those functions refuse.
    """
    required = _INITIAL if load == "initial" else _INCREMENTAL
    given = dict(options) if isinstance(options, Mapping) else {}
    columns = Columns(**{name: given[name] for name in _COLUMNS if name in given})
    raise_faults(load, [*_load_faults(load), *_name_faults(required, options), *_value_faults(given, columns)])
    optional = [name for name in _OPTIONAL if load == "incremental" or name != "load"]
    arguments = {name: given[name] for name in (*required, *optional) if name in given}
    return (initial if load == "initial" else incremental)(spark, columns=columns, **arguments)


def _load_faults(load: object) -> Iterator[str]:
    if load not in _LOADS:
        yield f"the load must be one of {', '.join(_LOADS)}, got {load!r}"


def _value_faults(given: dict[str, Any], columns: Columns) -> list[str]:
    """Of all values together where none is missing, else of each by itself."""
    no_keys, no_nonkeys, seed = (given.get(name, 1) for name in ("no_keys", "no_nonkeys", "seed"))
    shape = shape_of(no_keys, no_nonkeys, seed, given.get("num_partitions"))
    # what the later load will refuse is told before the first one is written
    if all(name in given for name in _INCREMENTAL):
        series = Series(*(given[name] for name in _SERIES))
        return incremental_faults(series, given.get("load", 1), shape, columns)
    numbers = {name: (given[name], *bounds) for name, bounds in BOUNDS.items() if name in given}
    faults = [*integer_faults({**numbers, **shape}), *columns.faults()]
    return faults + [fault for name in _SERIES[2:] if name in given for fault in share_faults(name, given[name])]


def _name_faults(required: tuple[str, ...], options: Any) -> Iterator[str]:
    if not isinstance(options, Mapping):
        example = "vars: {dbt_cdc: {synthetic: {no_init_recs: 1000, …}}}"
        yield f"the var dbt_cdc needs a mapping `synthetic`, got {options!r}; give it as {example}"
        return
    known = (*_INCREMENTAL, *_COLUMNS, *_OPTIONAL)
    for name in options:
        if name not in known:
            yield f"unknown option {name!r}{did_you_mean(str(name), known)} Known: {', '.join(known)}"
    for name in required:
        if name not in options:
            yield f"option {name!r} is required"

"""Loads of a hash_diff model without dbt around them, and a model of what they must give, in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from dbt_cdc._hash_diff_layout import Settings
from dbt_cdc._hash_diff_load import Load

Rows = dict[int, tuple[Any, ...]]

#: What the materialization asks of the tables of a format.
PROPERTIES = {
    "delta": {"delta.enableDeletionVectors": "true"},
    "iceberg": {
        "format-version": "2",
        "write.merge.mode": "merge-on-read",
        "write.update.mode": "merge-on-read",
        "write.delete.mode": "merge-on-read",
        "write.distribution-mode": "none",
    },
}


@dataclass
class Expected:
    """Replays loads key by key: what the current table and the history must hold."""

    current: dict[int, tuple[Any, ...]] = field(default_factory=dict)  # key -> (values, operation, date)
    history: list[tuple[Any, ...]] = field(default_factory=list)  # (key, values, operation, date)
    counts: dict[str, int] = field(default_factory=dict)

    def load(self, day: str, rows: Rows, extract: str) -> None:
        before, after = self.current, {}
        self.counts = dict.fromkeys("IUDXN", 0)
        for key in {**before, **rows}:
            old = before.get(key)
            if key not in rows:
                operation = "D" if extract == "full" else "X"
            elif old is None:
                operation = "I"
            else:
                operation = "N" if old[0] == rows[key] else "U"
            self.counts[operation] += 1
            values, date = (rows[key], day) if operation in "IU" else (old or ())[0::2]
            if operation != "D":
                after[key] = (values, operation, date)
            if operation in "IUD":
                self.history.append((key, values, operation, day))
        self.current = after

    @staticmethod
    def of(loads: list[tuple[str, Rows, str]]) -> Expected:
        expected = Expected()
        for load in loads:
            expected.load(*load)
        return expected


class Model:
    """One model's tables in a schema; columns id int, v string and, if asked for, s string (sensitive)."""

    def __init__(self, spark: Any, schema: str, table_format: str, properties: dict[str, str], **options: Any) -> None:
        self.spark, self.schema = spark, schema
        self.table = options.pop("table", "t")
        self.options = {"format": table_format, "table_properties": properties, **options}
        self.sensitive = bool(options.get("sensitive_columns"))

    def settings(self, day: str, extract: str, **options: Any) -> Settings:
        tables = {
            name: f"`{self.schema}`.`{self.table}{'' if name == 'view' else '__' + name}`"
            for name in ("view", "base", "history", "sensitive", "sensitive_base", "rejects")
        }
        defaults: dict[str, Any] = {
            "node": f"model.consumer.{self.table}",
            "replaces": self.options["format"] == "delta",
            "extract_type": extract,
            "effective_date": day,
            "unique_key": ["id"],
            "hash_algorithm": "md5",
            "on_schema_change": "append_new_columns",
            "on_cast_error": "error",
            "model_type": "view",
        }
        return Settings(**{**defaults, **tables, **self.options, **options})

    def frame(self, rows: Rows) -> Any:
        schema = "id int, v string" + (", s string" if self.sensitive else "")
        return self.spark.createDataFrame([(key, *values) for key, values in rows.items()], schema)

    def load(self, day: str, rows: Rows, extract: str = "full", **options: Any) -> dict[str, int]:
        return Load(self.spark, self.settings(day, extract, **options)).run(self.frame(rows)).operations

    def current(self) -> dict[int, tuple[Any, ...]]:
        values = "t.v, s.s" if self.sensitive else "t.v"
        join = f"left join {self.schema}.{self.table}__sensitive s on t.keyhash = s.keyhash" if self.sensitive else ""
        query = f"select t.id, t.operation, cast(t.eff_start_date as string), {values} from {self.schema}.{self.table} t {join}"
        rows = self.spark.sql(query).collect()
        assert len({row[0] for row in rows}) == len(rows)
        return {row[0]: (tuple(row[3:]), row[1], row[2]) for row in rows}

    def history(self) -> list[tuple[Any, ...]]:
        values = "h.v, s.s" if self.sensitive else "h.v"
        on = "h.keyhash = s.keyhash and h.nonkeyhash = s.nonkeyhash"
        join = f"left join {self.schema}.{self.table}__sensitive_base s on {on}" if self.sensitive else ""
        query = f"select h.id, h.operation, cast(h.eff_start_date as string), {values} from {self.schema}.{self.table}__history h"
        return [(row[0], tuple(row[3:]), row[1], row[2]) for row in self.spark.sql(f"{query} {join}").collect()]

    def check(self, expected: Expected) -> None:
        assert self.current() == expected.current
        assert sorted(self.history(), key=str) == sorted(expected.history, key=str)


class Killed(BaseException):
    """What a killed process does: nothing more."""


def kill(monkeypatch: pytest.MonkeyPatch, place: type, name: str, *, after: bool) -> None:
    """From now on a run ends before or right after the named step."""
    step: Callable[..., Any] = getattr(place, name)

    def killed(*arguments: Any, **options: Any) -> Any:
        if after:
            step(*arguments, **options)
        raise Killed

    monkeypatch.setattr(place, name, killed)

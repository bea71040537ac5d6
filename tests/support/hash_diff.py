"""Loads of a hash_diff model without dbt around them, and what they must give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from dbt_cdc._hash_diff_layout import Settings
from dbt_cdc._hash_diff_load import Load
from tests.support.loads_oracle import Given, Row, replay

Rows = dict[int, tuple[Any, ...]]
#: Day, rows, kind of extract.
Extract = tuple[str, Rows, str]

OTHER_WON = "another run of this model wrote at the same time and was first"

#: What the materialization asks of the tables of a format.
PROPERTIES = {
    "delta": {"delta.enableDeletionVectors": "true"},
    "iceberg": {
        "write.wap.enabled": "false",
        "write.merge.isolation-level": "serializable",
        "write.merge.mode": "merge-on-read",
        "write.update.mode": "merge-on-read",
        "write.delete.mode": "merge-on-read",
        "write.distribution-mode": "none",
    },
}


@dataclass
class Expected:
    """What the current table and the history must hold after some loads, and what the last of them counts."""

    current: dict[Any, tuple[Any, ...]]  # key -> (values, operation, date)
    history: list[tuple[Any, ...]]  # (key, values, operation, date)
    counts: dict[str, int]

    @staticmethod
    def of(loads: list[Extract]) -> Expected:
        tables = replay([Given(day, extract, {key: Row(v) for key, v in rows.items()}) for day, rows, extract in loads])
        return Expected(
            {key: (kept.row.compared, kept.operation, kept.day) for key, kept in tables.current.items()},
            [(kept.key, kept.row.compared, kept.operation, kept.day) for kept in tables.history],
            {**dict.fromkeys("IUDXN", 0), **tables.counts},
        )


class Model:
    """One model's tables in a schema; columns id int, v string and, if asked for, s string (sensitive)."""

    def __init__(self, spark: Any, schema: str, table_format: str, **options: Any) -> None:
        self.spark, self.schema = spark, schema
        self.table = options.pop("table", "t")
        self.options = {"format": table_format, "table_properties": PROPERTIES[table_format], **options}
        self.sensitive = bool(options.get("sensitive_columns"))

    def settings(self, day: str, extract: str, **options: Any) -> Settings:
        tables = {
            name: f"`{self.schema}`.`{self.table}{'' if name == 'model' else '__' + name}`"
            for name in ("model", "base", "history", "sensitive", "sensitive_base", "rejects")
        }
        defaults: dict[str, Any] = {
            "node": f"model.consumer.{self.table}",
            "replace_conflicts": self.options["format"] == "delta",
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
        return self.load_frame(day, self.frame(rows), extract, **options)

    def load_row(self, day: str, values: str, **options: Any) -> dict[str, int]:
        """A full load of one row: id 1, and values as SQL."""
        return self.load_frame(day, self.spark.sql(f"select 1 as id, {values}"), **options)

    def load_frame(self, day: str, frame: Any, extract: str = "full", **options: Any) -> dict[str, int]:
        return Load(self.spark, self.settings(day, extract, **options)).run(frame).operations

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


def kill(monkeypatch: pytest.MonkeyPatch, place: type | ModuleType, name: str, *, after: bool) -> None:
    """From now on a run ends before or right after the named step."""
    step: Callable[..., Any] = getattr(place, name)

    def killed(*arguments: Any, **options: Any) -> Any:
        if after:
            step(*arguments, **options)
        raise Killed

    monkeypatch.setattr(place, name, killed)

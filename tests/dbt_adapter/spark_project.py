"""What dbt's adapter tests need to run on Spark: their Postgres statements, one at a time, in Spark's words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import sqlglot
from dbt.tests.fixtures.project import TestProjInfo
from sqlglot import exp


def spark_statements(sql: str, schema: str, file_format: str) -> Iterator[str]:
    """The statements of a Postgres script for Spark."""
    sql = sql.format(schema=schema, database="postgres")
    for statement in sqlglot.parse(sql, read="postgres"):
        if statement is None:
            continue
        for table in statement.find_all(exp.Table):  # Spark has no database above the schema
            table.set("catalog", None)
        if isinstance(statement, exp.Create):
            statement.set("properties", exp.Properties(expressions=[using(file_format)]))
        if isinstance(statement, exp.Insert):  # a string is no timestamp to Iceberg
            statement = statement.transform(timestamp_of_text)
        defaults = [d for d in statement.find_all(exp.ColumnDef) if isinstance(statement, exp.Alter)]
        values = {column.name: drop_default(column) for column in defaults}
        yield statement.sql(dialect="spark")
        # neither Delta nor Iceberg gives existing rows the default of a column that is added: write it
        for column, value in values.items():
            if value is not None and not isinstance(value, exp.Null):
                yield f"update {statement.this.sql(dialect='spark')} set {column} = {value.sql(dialect='spark')}"


def using(file_format: str) -> exp.FileFormatProperty:
    return exp.FileFormatProperty(this=exp.Var(this=file_format))


def timestamp_of_text(node: exp.Expression) -> exp.Expression:
    """A literal that reads as a moment, as one."""
    if isinstance(node, exp.Literal) and node.is_string and re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", node.this):
        return exp.cast(node.copy(), "timestamp")
    return node


def drop_default(column: exp.ColumnDef) -> exp.Expression | None:
    """Take the default out of a column's definition; what it was."""
    default = next((c for c in column.constraints if isinstance(c.kind, exp.DefaultColumnConstraint)), None)
    if default is None:
        return None
    column.set("constraints", [c for c in column.constraints if c is not default])
    return default.kind.this


def spark_snapshot(text: str, file_format: str) -> str:
    """A snapshot's file with no database (Spark has none) and with the format in its own config."""
    text = re.sub(r"\{\{\s*target\.database\s*\}\}\.", "", text)
    return re.sub(r"\bconfig\(", f"config(file_format='{file_format}', ", text, count=1)


class SparkProject(TestProjInfo):
    """dbt's own test project whose `run_sql` takes Postgres statements."""

    __test__ = False
    file_format = "delta"

    def drop_test_schema(self) -> None:
        """What lies in it goes with the warehouse of the run."""

    def run_sql(self, sql: str, fetch: str | None = None) -> Any:
        result = None
        for statement in spark_statements(sql, self.test_schema, self.file_format):
            result = super().run_sql(statement.replace("{", "{{").replace("}", "}}"), fetch)
        return result

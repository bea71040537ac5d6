"""A consumer's dbt project in a folder of its own, run in process against the session of the test run."""

from __future__ import annotations

import json
import os
import re
import shutil
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from dbt.cli.main import dbtRunner, dbtRunnerResult
from pyspark.sql import SparkSession

from tests.support.spark import ROOT

os.environ.setdefault("DBT_SEND_ANONYMOUS_USAGE_STATS", "false")

DISPATCH = [{"macro_namespace": "dbt", "search_order": ["consumer", "dbt_cdc", "dbt"]}]


class DbtFailed(AssertionError):
    """A dbt command that was expected to succeed did not."""


def words_of(statement: str) -> str:
    """The words of a statement that dbt sends, without its comment."""
    return " ".join(re.sub(r"/\*.*?\*/", "", statement, flags=re.S).split())


class Project:
    """Write files, run dbt, read rows: one schema per project, so that tests never meet."""

    def __init__(self, folder: Path, spark: SparkSession, schema: str, target: Mapping[str, Any]) -> None:
        self.folder, self.spark, self.schema = folder, spark, schema
        self.log_file, self.logged = folder / "logs/dbt.log", 0
        self.file_format = str(target["file_format"])
        folder.mkdir(parents=True, exist_ok=True)
        packages = folder / "dbt_packages"
        packages.mkdir()
        (packages / "dbt_cdc").symlink_to(ROOT)
        (folder / "packages.yml").write_text(yaml.safe_dump({"packages": [{"local": str(ROOT)}]}))
        output = {**target["output"], "schema": schema}
        profiles = {"consumer": {"target": "test", "outputs": {"test": output}}}
        (folder / "profiles.yml").write_text(yaml.safe_dump(profiles))
        self.configure()

    def configure(self, *, dispatch: bool = True, **settings: Any) -> None:
        """(Re)write dbt_project.yml; `settings` are its top-level keys (models, snapshots, vars …)."""
        project = {
            "name": "consumer",
            "version": "1.0.0",
            "config-version": 2,
            "profile": "consumer",
            "flags": {
                "send_anonymous_usage_stats": False,
                # dbt asks the root project alone whether to check packages' macros, and only warns
                "validate_macro_args": True,
                "warn_error_options": {"error": ["InvalidMacroAnnotation"]},
            },
            # behind a statement, where Spark may take it for a part of that; the integration project has dbt's default, in front
            "query-comment": {"comment": "of {{ target.name }}; it's \"dbt's\"", "append": True},
            "models": {"+file_format": self.file_format},
            "seeds": {"+file_format": self.file_format},
            "snapshots": {"+file_format": self.file_format},
            **({"dispatch": DISPATCH} if dispatch else {}),
        }
        for key, value in settings.items():
            both_maps = isinstance(value, dict) and isinstance(project.get(key), dict)
            project[key] = {**project[key], **value} if both_maps else value  # type: ignore[dict-item]
        (self.folder / "dbt_project.yml").write_text(yaml.safe_dump(project))

    def write(self, files: Mapping[str, str]) -> None:
        """Write files by their path in the project (`models/a.sql`), indentation removed."""
        for path, text in files.items():
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(text))

    def remove(self, path: str) -> None:
        file = self.folder / path
        shutil.rmtree(file) if file.is_dir() else file.unlink()

    def invoke(self, *arguments: str) -> dbtRunnerResult:
        """Run a dbt command, whatever comes of it."""
        folder = str(self.folder)
        self.logged = self.log_file.stat().st_size if self.log_file.exists() else 0
        command = [*arguments, "--project-dir", folder, "--profiles-dir", folder]
        return dbtRunner().invoke([*command, "--log-path", folder + "/logs", "--no-use-colors", "--quiet"])

    def dbt(self, *arguments: str) -> dbtRunnerResult:
        """Run a dbt command that must succeed."""
        result = self.invoke(*arguments)
        if not result.success:
            raise DbtFailed(f"dbt {' '.join(arguments)}: {self.messages(result)}")
        return result

    def error(self, *arguments: str) -> str:
        """Run a dbt command that must fail; what it says."""
        result = self.invoke(*arguments)
        if result.success:
            raise DbtFailed(f"dbt {' '.join(arguments)} was expected to fail")
        return self.messages(result)

    @staticmethod
    def messages(result: dbtRunnerResult) -> str:
        if result.exception is not None:
            return str(result.exception)
        return "\n".join(f"{r.node.name}: {r.message}" for r in getattr(result.result, "results", []) if r.message)

    def run_results(self) -> dict[str, Any]:
        """run_results.json of the last command, by node name."""
        results = json.loads((self.folder / "target/run_results.json").read_text())["results"]
        return {result["unique_id"].split(".")[2]: result for result in results}

    def written(self, model: str, folder: str = "compiled") -> str:
        """A model as dbt has compiled it, or in the folder `run` what it has sent for it."""
        return (self.folder / f"target/{folder}/consumer/models/{model}.sql").read_text()

    def place(self, table: str) -> Path:
        """Where the files of a Delta table lie."""
        (detail,) = self.spark.sql(f"describe detail {self.schema}.{table}").collect()
        return Path(detail["location"].removeprefix("file:"))

    def log(self) -> str:
        """What all commands so far have logged."""
        return self.log_file.read_text()

    def new_log(self) -> str:
        """What the last command has logged."""
        return self.log_file.read_bytes()[self.logged :].decode()

    def sql(self, statement: str) -> None:
        """Run a statement with `{schema}` filled in."""
        self.spark.sql(statement.replace("{schema}", self.schema))

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Rows of a query (`{schema}` filled in) as plain tuples."""
        return [tuple(row) for row in self.spark.sql(query.replace("{schema}", self.schema)).collect()]

    def columns(self, table: str) -> list[tuple[str, str]]:
        """Names and types of a table's columns, in order."""
        return [(f.name, f.dataType.simpleString()) for f in self.spark.table(f"{self.schema}.{table}").schema]

    def contents(self, table: str) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]]]:
        """A table's columns and rows, in one order."""
        return self.columns(table), sorted(self.rows(f"select * from {{schema}}.{table}"), key=repr)

    def tables(self) -> set[str]:
        """All tables and views of the project's schema."""
        tables = self.spark.sql(f"show tables in {self.schema}").collect()
        views = self.spark.sql(f"show views in {self.schema}").collect()
        return {row[1] for row in [*tables, *views] if not row.isTemporary}

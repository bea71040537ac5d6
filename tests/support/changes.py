"""Tables with a known past, and questions about their changes asked through models."""

from __future__ import annotations

import datetime
import os
import time
from typing import Any

from pyspark.sql import Row

from tests.support.project import Project
from tests.support.spark import session_conf

FEED_ON = {
    "delta": "delta.enableChangeDataFeed = 'True'",  # as dbt writes a YAML `true`
    "iceberg": "'write.format.default' = 'parquet'",
    "hudi": "'hoodie.table.cdc.enabled' = 'true'",
}
#: Writes that leave the data files as they are and note beside them which rows are gone.
MERGE_ON_READ = {
    "delta": "'delta.enableDeletionVectors' = 'true'",
    "iceberg": ", ".join(f"'write.{what}.mode' = 'merge-on-read'" for what in ("delete", "update", "merge")),
    "hudi": "type = 'mor'",
}

#: Rewrites the files of a table and changes no row; "{compact}" among statements.
COMPACT = {
    "delta": "optimize {t}",
    "iceberg": "call spark_catalog.system.rewrite_data_files(table => '{t}', options => map('rewrite-all', 'true'))",
    "hudi": "call run_clustering(table => '{t}')",
}
COMPACT_MERGE_ON_READ = {
    **COMPACT,
    "hudi": "call run_compaction(op => 'scheduleAndExecute', table => '{t}',"
    " options => 'hoodie.compact.inline.max.delta.commits=1')",
}

#: Writes to a table (id int, v string), one commit each: all kinds that there are.
HISTORY = (
    "insert into {t} values (1, 'a'), (2, 'b')",
    "update {t} set v = 'c' where id = 1",
    "delete from {t} where id = 2",
    "merge into {t} t using (select * from values (1, 'd'), (3, null) as s (id, v)) s on t.id = s.id"
    " when matched then update set v = s.v when not matched then insert *",
    "insert overwrite {t} select * from values (1, 'd'), (3, 'f'), (4, 'g')",
    "insert overwrite {t} select /*+ repartition(1) */ * from values (4, 'g'), (3, 'f'), (1, 'd')",
    "delete from {t} where id = 99",
    "update {t} set v = v where id = 4",
    "insert into {t} values (5, 'x')",
    "{compact}",
    "delete from {t} where id = 5",
    "insert into {t} values (5, 'y')",
)

#: What they are, whatever the format: op, before, after.
EVERY_CHANGE = [
    ("i", None, (1, "a")),
    ("i", None, (2, "b")),
    ("u", (1, "a"), (1, "c")),
    ("d", (2, "b"), None),
    ("i", None, (3, None)),
    ("u", (1, "c"), (1, "d")),
    ("i", None, (4, "g")),
    ("u", (3, None), (3, "f")),
    ("i", None, (5, "x")),
    ("d", (5, "x"), None),
    ("i", None, (5, "y")),
]
LATEST_STATE = [
    ("d", (2, "b"), None),
    ("u", (1, "c"), (1, "d")),
    ("i", None, (4, "g")),
    ("u", (3, None), (3, "f")),
    ("i", None, (5, "y")),
]
NET = [("i", None, (1, "d")), ("i", None, (3, "f")), ("i", None, (4, "g")), ("i", None, (5, "y"))]

#: Commits of which each key of a net change has all pairs of a first and a last operation, after one with keys 4 to 9;
#: the last one touches key 5 only.
PAIRS = (
    "insert into {t} values (4, 'a'), (5, 'a'), (6, 'a'), (7, 'a'), (8, 'a'), (9, 'a')",
    *(
        f"merge into {{t}} t using (select * from values {rows} as s (id, v)) s on t.id = s.id"
        " when matched and s.v is null then delete when matched and s.v is not null then update set *"
        " when not matched then insert *"
        for rows in (
            "(1, 'p'), (2, 'p'), (3, 'p'), (4, 'p'), (5, 'p'), (6, 'p'), (7, null), (8, null), (9, null)",
            "(1, null), (4, null), (8, 'q'), (9, 'q')",
            "(1, 'r'), (4, 'r'), (7, 'r'), (2, 'r'), (5, 'r'), (8, 'r'), (3, null), (6, null), (9, null)",
        )
    ),
    "update {t} set v = 's' where id = 5",
)
NET_OF_PAIRS = [
    ("d", (6, "a"), None),
    ("d", (9, "a"), None),
    ("i", None, (1, "r")),
    ("i", None, (2, "r")),
    ("u", (4, "a"), (4, "r")),
    ("u", (5, "a"), (5, "s")),
    ("u", (7, "a"), (7, "r")),
    ("u", (8, "a"), (8, "r")),
]

#: Hooks that keep a log of a model of dbt's own, which as an option is refused there: tests write such a table by hand.
LOG_HOOKS = """
    pre_hook="{% if execute %}{% do model.config.meta.update({'dbt_cdc': {'change_log': MODE}}) %}{% endif %}
              {{ dbt_cdc._open_change_log(this, restart=flags.FULL_REFRESH) or '' }}
              {{ (dbt_cdc._restart_change_log(this) if execute and flags.FULL_REFRESH else none) or '' }}",
    post_hook="{{ dbt_cdc._keep_change_log(this, restart=flags.FULL_REFRESH) or '' }}"
"""


class Changes:
    """Writes tables of the format under test, and asks for their changes through models."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.format = project.file_format

    def create(self, table: str, columns: str, *, feed: bool = True, properties: str = "") -> None:
        """An empty table, with the format's change feed on unless told otherwise. Hudi's are kept by their `id`."""
        key = "primaryKey = 'id'" if self.format == "hudi" and "primaryKey" not in properties else ""
        asked = ", ".join(filter(None, [FEED_ON[self.format] if feed else "", key, properties]))
        tail = f"tblproperties ({asked})" if asked else ""
        self.project.sql(f"create table {{schema}}.{table} ({columns}) using {self.format} {tail}")

    def write(self, table: str, *statements: str) -> None:
        """Run statements, one commit each; `{t}` stands for the table, `{compact}` for a statement that compacts it."""
        for statement in statements:
            if statement == "{compact}":
                self._compact(table)
            else:
                self.project.sql(statement.replace("{t}", f"{{schema}}.{table}"))

    def _compact(self, table: str) -> None:
        kind = self.project.rows(f"show tblproperties {{schema}}.{table}")
        statements = COMPACT_MERGE_ON_READ if ("type", "mor") in kind else COMPACT
        before = len(self.versions(table))
        self.write(table, statements[self.format])
        assert len(self.versions(table)) == before + 1, "there was nothing to compact"

    def commits(self, table: str) -> list[tuple[str, Any]]:
        """Id and commit time of the table's commits, oldest first."""
        if self.format == "delta":
            rows = self.project.spark.sql(f"describe history {self.project.schema}.{table}").collect()
            return [(str(row["version"]), row["timestamp"]) for row in reversed(rows)]
        if self.format == "hudi":
            instants = sorted(row[0] for row in self.project.rows(f"call show_commits('{{schema}}.{table}', 1000)"))
            return [(instant, datetime.datetime.strptime(instant, "%Y%m%d%H%M%S%f")) for instant in instants]
        query = "select cast(snapshot_id as string), committed_at from {schema}.%s.snapshots order by committed_at"
        return [(version, moment) for version, moment in self.project.rows(query % table)]

    def versions(self, table: str) -> list[str]:
        return [version for version, _ in self.commits(table)]

    def ask(self, **calls: str) -> None:
        """A model for each question; `{schema}` is filled in."""
        kept_as = (
            ", file_format='parquet'" if self.format == "hudi" else ""
        )  # an answer is no table of the format under test
        body = "{{ config(materialized='table'" + kept_as + ") }} select * from {{ dbt_cdc.table_changes(%s) }}"
        files = {
            f"models/{name}.sql": body % call.replace("{schema}", self.project.schema) for name, call in calls.items()
        }
        self.project.write(files)

    def rows(self, model: str, table: str) -> list[Row]:
        """Rows of an answer, oldest commit first."""
        places = {version: place for place, version in enumerate(self.versions(table))}
        rows = self.project.spark.sql(f"select * from {self.project.schema}.{model}").collect()
        return sorted(rows, key=lambda row: (places[row["version"]], row["op"], str(row["before"]), str(row["after"])))

    def answer(self, model: str, table: str) -> list[tuple[Any, Any, Any]]:
        """op, before and after of an answer's rows as plain values, oldest commit first."""
        return [(row["op"], _plain(row["before"]), _plain(row["after"])) for row in self.rows(model, table)]


def vacuum(project: Project, *tables: str) -> None:
    """Take away the files that only older versions of Delta tables have."""
    with session_conf(project.spark, {"spark.databricks.delta.retentionDurationCheck.enabled": "false"}):
        for table in tables:
            project.sql(f"vacuum {{schema}}.{table} retain 0 hours")


def age_commits(project: Project, table: str, *days: float) -> None:
    """Let the first commits of a Delta table be so many days old: a commit's time is that of its file."""
    log = project.place(table) / "_delta_log"
    for version, ago in enumerate(days):
        os.utime(log / f"{version:020}.json", (time.time() - ago * 86400,) * 2)


def _plain(image: Row | None) -> Any:
    return None if image is None else tuple(image.asDict(recursive=True).values())

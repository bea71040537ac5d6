"""A catalog that does not list its tables: Iceberg's SparkSessionCatalog over a Hadoop catalog. dbt takes every table for
new there, so that a second run shows whether a capability goes on with what it has.

`python -m tests.functional.test_catalog_without_listing FOLDER` runs dbt twice in a process with that catalog and tells rows.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from integration_tests.quick_spark import parse_macros_once
from tests.support.processes import environment
from tests.support.shared import own_project
from tests.support.spark import settings_for_tests

READER = """
    {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
    select id, v, _op, '{{ var('run') }}' as run
    from {{ dbt_cdc.ref_changes(source('raw', 'orders'), by='version', unique_key='id') }}
"""
MODELS = {
    "models/sources.yml": "sources: [{name: raw, schema: s, tables: [{name: orders}]}]",
    "models/by_version.sql": READER,
    "models/by_column.sql": READER.replace(", by='version', unique_key='id'", ", column='seq'").replace(
        "_op", "'i' as _op"
    ),
    "models/in_python.py": """
        from dbt_cdc.edges import ref_changes

        def model(dbt, spark):
            dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="id")
            dbt.source("raw", "orders")
            rows = ref_changes(dbt, spark, "raw", "orders", by="version", unique_key="id")
            return rows.select("id", "v", "_op")
    """,
    "models/applied.sql": """
        {{ config(materialized='apply_changes', unique_key='id', meta={'dbt_cdc': {
            'sequence_by': 'seq', 'change_log': 'key_op'}}) }}
        select * from {{ source('raw', 'orders') }}
    """,
    "models/told.sql": """
        {{ config(materialized='table') }}
        select op, before.v as old, after.v as new from {{ dbt_cdc.table_changes('s.orders', 'earliest', format='net', unique_key='id') }}
    """,
    "models/hashed.py": """
        def model(dbt, spark):
            dbt.config(materialized="hash_diff", unique_key="id")
            return dbt.source("raw", "orders")
    """,
    "models/hashed.yml": """
        models:
          - name: hashed
            config: {meta: {dbt_cdc: {effective_date: "2020-01-0{{ var('run') }}", sensitive_columns: [seq], change_log: data_before}}}
    """,
    "snapshots/kept.yml": """
        snapshots:
          - name: kept
            relation: source('raw', 'orders')
            config:
              unique_key: id
              strategy: check
              check_cols: all
              hard_deletes: invalidate
              meta: {dbt_cdc: {operational_metadata: true, change_log: data_before_after}}
    """,
}
TOLD = {
    "by_version": "select id, v, _op, run from s.by_version order by id",
    "by_column": "select id, v, _op, run from s.by_column order by id",
    "in_python": "select id, v, _op from s.in_python order by id",
    "applied": "select id, v, seq from s.applied order by id",
    "hashed": "select id, v, operation, cast(eff_start_date as string) from s.hashed order by id",
    "hashed__history": "select id, v, operation from s.hashed__history order by eff_start_date, id",
    "hashed__sensitive": "select seq from s.hashed__sensitive order by seq",
    "kept": "select id, v, dbt_valid_to is null from s.kept order by id, dbt_valid_from",
    "told": "select * from s.told order by new",
    "applied__changes": "select op, key.id from s.applied__changes order by 1, 2",
    "hashed__changes": "select op, before.v from s.hashed__changes order by 1, 2",
    "kept__changes": "select op, before.v, after.v from s.kept__changes order by 1, 2, 3",
}


@pytest.mark.one_format("iceberg")
def test_each_capability_goes_on_with_tables_that_the_catalog_does_not_list(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.functional.test_catalog_without_listing", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    told = json.loads(done.stdout.rpartition("@@")[2])
    assert told == {
        "by_version": [[1, "a", "i", "1"], [2, "B", "u", "2"], [3, "c", "d", "2"], [4, "d", "i", "2"]],
        "by_column": [[1, "a", "i", "1"], [2, "B", "i", "2"], [3, "c", "i", "1"], [4, "d", "i", "2"]],
        "in_python": [[1, "a", "i"], [2, "B", "u"], [3, "c", "d"], [4, "d", "i"]],
        "applied": [[1, "a", 1], [2, "B", 2], [3, "c", 1], [4, "d", 2]],
        "hashed": [[1, "a", "N", "2020-01-01"], [2, "B", "U", "2020-01-02"], [4, "d", "I", "2020-01-02"]],
        "kept": [[1, "a", True], [2, "b", False], [2, "B", True], [3, "c", False], [4, "d", True]],
        "hashed__history": [
            [1, "a", "I"],
            [2, "b", "I"],
            [3, "c", "I"],
            [2, "B", "U"],
            [3, "c", "D"],
            [4, "d", "I"],
        ],
        "hashed__sensitive": [[1], [2], [2]],
        "told": [["i", None, "B"], ["i", None, "a"], ["i", None, "d"]],
        "applied__changes": [["i", 1], ["i", 2], ["i", 3], ["i", 4], ["u", 2]],
        "hashed__changes": [["d", "c"], ["i", None], ["i", None], ["i", None], ["i", None], ["u", "b"]],
        "kept__changes": [*(["i", None, v] for v in "Babcd"), ["u", "b", "b"], ["u", "c", "c"]],
    }


def _run(folder: Path) -> dict[str, list[Any]]:
    parse_macros_once()
    settings = settings_for_tests("iceberg", folder / "warehouse", short_lived=True)
    catalog = "spark.sql.catalog.spark_catalog"
    settings = {name: value for name, value in settings.items() if not name.startswith(catalog)}
    settings |= {
        catalog: "org.apache.iceberg.spark.SparkSessionCatalog",
        f"{catalog}.type": "hadoop",
        f"{catalog}.warehouse": str(folder / "warehouse"),
    }
    project = own_project(folder, "iceberg", settings, "s")
    project.write(MODELS)
    project.sql("create table s.orders (id int, v string, seq int) using iceberg")
    project.sql("insert into s.orders values (1, 'a', 1), (2, 'b', 1), (3, 'c', 1)")
    assert project.tables() == set()
    project.dbt("build", "--vars", "{run: 1}")
    project.sql("update s.orders set v = 'B', seq = 2 where id = 2")
    project.sql("delete from s.orders where id = 3")
    project.sql("insert into s.orders values (4, 'd', 2)")
    project.dbt("build", "--vars", "{run: 2}")
    return {name: project.rows(query) for name, query in TOLD.items()}


if __name__ == "__main__":
    print("@@" + json.dumps(_run(Path(sys.argv[1]))))

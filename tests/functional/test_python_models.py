"""Python models write tables as SQL models do, whatever kind of frame they return."""

from __future__ import annotations

from tests.support.project import Project

SCHEMA_YML = """
    models:
      - name: sql_twin
        description: &text "It's a twin; a twin's"
        columns: [{name: id, description: "the 'key'"}]
      - name: python_twin
        description: *text
        columns: [{name: id, description: "the 'key'"}]
"""

TWIN_CONFIG = """
    materialized="table", partition_by=["part"], location_root="{root}/{twin}",
    tblproperties={{"dbt_cdc.note": "kept"}}, persist_docs={{"relation": True, "columns": True}},
    grants={{}}
"""


def described(project: Project, table: str) -> dict[str, str]:
    """What Spark says about a table, without what differs between any two tables."""
    rows = project.spark.sql(f"describe table extended {project.schema}.{table}").collect()
    told = {row[0]: row[1] for row in rows}
    properties = dict(p.partition("=")[::2] for p in told.get("Table Properties", "[]")[1:-1].split(","))
    moving = ("delta.lastCommitTimestamp", "delta.lastUpdateVersion", "uuid", "current-snapshot-id")
    return {
        **{key: told.get(key, "") for key in ("id", "v", "part", "Provider", "Comment", "Type")},
        **{key: value for key, value in properties.items() if key not in moving},
        "id comment": next(row[2] for row in rows if row[0] == "id"),
        "partitions": str([row[1] for row in rows if row[0] in ("Part 0", "part")]),
        "Location": told.get("Location", "").replace(table, "twin"),
    }


def twins(project: Project, file_format: str) -> tuple[dict[str, str], dict[str, str]]:
    """A SQL and a Python model of the same content and configs, built twice."""
    folder = project.folder / "elsewhere"
    sql_config = TWIN_CONFIG.format(root=folder, twin="sql_twin")
    python_config = TWIN_CONFIG.format(root=folder, twin="python_twin")
    project.configure(models={"+file_format": file_format})
    project.write(
        {
            "models/schema.yml": SCHEMA_YML,
            "models/sql_twin.sql": "{{ config(" + sql_config + ") }} select id, 'v' as v, id % 2 as part from range(4)",
            "models/python_twin.py": f"""
                def model(dbt, spark):
                    dbt.config({python_config.strip()})
                    return spark.sql("select id, 'v' as v, id % 2 as part from range(4)")
            """,
        }
    )
    project.dbt("run")
    project.dbt("run")
    return described(project, "sql_twin"), described(project, "python_twin")


def test_a_python_model_makes_the_table_that_a_sql_model_makes(project: Project) -> None:
    sql, python = twins(project, project.file_format)
    assert python == sql
    assert python["Comment"] == "It's a twin; a twin's"
    assert python["id comment"] == "the 'key'"
    assert python["dbt_cdc.note"] == "kept"
    assert python["Location"].endswith("/elsewhere/twin/twin")
    assert project.rows("select id, v, part from {schema}.python_twin order by id") == [
        (0, "v", 0), (1, "v", 1), (2, "v", 0), (3, "v", 1),
    ]  # fmt: skip
    assert project.tables() == {"sql_twin", "python_twin"}

"""What `dbt docs` shows of the package."""

from __future__ import annotations

import json

import pytest

from tests.support.project import Project

OPTIONS = """
    {% macro options() %}
        {% do print(tojson({
            'materialization_apply_changes_spark': dbt_cdc._apply_options() | list,
            'materialization_hash_diff_spark': dbt_cdc._hash_diff_options() | list,
            'default__build_snapshot_table': dbt_cdc._snapshot_options() | list,
        })) %}
    {% endmacro %}
"""
COLUMNS = {
    "materialization_apply_changes_spark": "__START_AT __END_AT __SYSTEM_START_AT __SYSTEM_END_AT",
    "materialization_hash_diff_spark": "keyhash nonkeyhash operation eff_start_date fault incoming_row",
    "default__build_snapshot_table": "insert_process_id update_process_id effective_start_timestamp"
    " effective_end_timestamp insert_timestamp update_timestamp",
    "default__apply_grants": "op ts version key before after",
    "table_changes": "op ts version source before after",
    "ref_changes": "source destination cdc_datetime_updated tracked_by column_name column_type watermark sequence recorded_at"
    " invocation_id metadata_schema",
}


@pytest.mark.one_format("delta")
def test_dbt_docs_show_options_and_columns_where_they_belong(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.write({"macros/options.sql": OPTIONS})
    project.dbt("run-operation", "options")
    options = json.loads(next(line for line in capsys.readouterr().out.splitlines() if line.startswith("{")))
    macros = project.dbt("parse").result.macros.values()  # type: ignore[union-attr]
    said = {macro.name: macro.description for macro in macros if macro.package_name == "dbt_cdc"}
    assert all("doc(" not in text and "<!--" not in text and "-->" not in text for text in said.values())
    assert len(options["materialization_apply_changes_spark"]) > 20
    for macro, names in options.items():
        assert [name for name in names if f"`{name}`" not in said[macro]] == []
    for macro, columns in COLUMNS.items():
        assert [name for name in columns.split() if f"`{name}`" not in said[macro]] == []


@pytest.mark.one_format("delta")
def test_docs_are_made_though_a_model_asks_for_a_range_that_can_not_be_had(project: Project) -> None:
    project.sql(f"create table {{schema}}.orders using {project.file_format} as select 1 as id")
    changes = f"dbt_cdc.table_changes('{project.schema}.orders', end='2999-01-01', unique_key='id')"
    project.write({"models/late.sql": f"select op, after.id from {{{{ {changes} }}}}"})
    assert "goes beyond the last commit" in project.error("run")
    project.dbt("docs", "generate")
    assert (project.folder / "target/catalog.json").exists()

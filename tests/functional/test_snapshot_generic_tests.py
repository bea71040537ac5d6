"""The generic tests for consumers pass on a good snapshot and find what is wrong in a bad one."""

from __future__ import annotations

import pytest
import yaml

from tests.support.project import Project

pytestmark = pytest.mark.one_format("delta")

COLUMNS = "id, insert_process_id, update_process_id, dbt_valid_from, dbt_valid_to, effective_end_timestamp"
#: one closed and one open version of key 1
GOOD = [
    "(1, 'run1', 'run2', timestamp '2024-01-01', timestamp '2024-01-02', timestamp_ntz '2024-01-02')",
    "(1, 'run2', null, timestamp '2024-01-02', null, timestamp_ntz '9999-12-31 23:59:59.999999')",
]
OPEN = "timestamp_ntz '9999-12-31 23:59:59.999999'"
BAD = {
    "one_open_record_per_key": [
        f"(2, 'run1', null, timestamp '{day}', null, {OPEN})" for day in ("2024-01-01", "2024-01-02")
    ],
    "no_overlapping_versions": [
        "(2, 'run1', 'run2', timestamp '2024-01-01', timestamp '2024-01-03', timestamp_ntz '2024-01-03')",
        f"(2, 'run2', null, timestamp '2024-01-02', null, {OPEN})",
    ],
    "open_records_carry_high_date": [
        "(2, 'run1', null, timestamp '2024-01-01', null, null)",
        f"(3, 'run1', 'run2', timestamp '2024-01-01', timestamp '2024-01-02', {OPEN})",
    ],
    "closed_records_carry_process_id": [
        "(2, 'run1', null, timestamp '2024-01-01', timestamp '2024-01-02', timestamp_ntz '2024-01-02')",
        f"(3, null, null, timestamp '2024-01-01', null, {OPEN})",
        f"(4, 'run1', 'run2', timestamp '2024-01-01', null, {OPEN})",
    ],
}
FAILURES = {
    "one_open_record_per_key": 1,
    "no_overlapping_versions": 1,
    "open_records_carry_high_date": 2,
    "closed_records_carry_process_id": 3,
}


def test_each_generic_test_passes_on_good_records_and_counts_the_bad_ones(project: Project) -> None:
    models = []
    for name, rows in BAD.items():
        for table, content in ((f"good_{name}", GOOD), (f"bad_{name}", GOOD + rows)):
            project.write({f"models/{table}.sql": f"select * from values {', '.join(content)} as t({COLUMNS})"})
            keyed = name in ("one_open_record_per_key", "no_overlapping_versions")
            arguments = {"arguments": {"unique_key": ["id"]}} if keyed else {}
            test = {f"dbt_cdc.{name}": {**arguments, "name": f"on_{table}"}}
            models.append({"name": table, "data_tests": [test]})
    # where is_open says neither yes nor no, the record counts as closed
    neither = f"(2, 'run1', null, timestamp '2024-01-01', null, {OPEN})"
    project.write({"models/neither.sql": f"select * from values {neither} as t({COLUMNS})"})
    is_open = {"arguments": {"is_open": "dbt_valid_to = timestamp '9999-12-31'"}}
    on_neither = ("open_records_carry_high_date", "closed_records_carry_process_id")
    tests = [{f"dbt_cdc.{name}": {**is_open, "name": f"on_neither_{name}"}} for name in on_neither]
    models.append({"name": "neither", "data_tests": tests})
    project.write({"models/schema.yml": yaml.safe_dump({"models": models})})
    project.dbt("run")
    project.error("test")
    results = {name: result for name, result in project.run_results().items() if name.startswith("on_")}
    found = {name: (result["status"], result["failures"]) for name, result in results.items()}
    expected = {f"on_good_{name}": ("pass", 0) for name in BAD}
    expected |= {f"on_bad_{name}": ("fail", FAILURES[name]) for name in BAD}
    expected |= {f"on_neither_{name}": ("fail", 1) for name in on_neither}
    assert found == expected

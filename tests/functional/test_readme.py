"""What the README gives to paste works as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.support.project import Project

README = (Path(__file__).parents[2] / "README.md").read_text()
#: blocks that begin with the name of their file
FILES = dict(re.findall(r"```\w+\n(?:#|--) (\S+)\n(.*?)```", README, re.DOTALL))
NAME = "consumer"
UPSTREAMS = {
    "models/employee_events.sql": """
        select * from values
            (1, 'Pat', 'dev', 'INSERT', 1), (1, 'Pat', 'lead', 'UPDATE', 2), (2, 'Lily', 'dev', 'INSERT', 3)
            as events(id, name, role, operation, sequence_number)
    """,
    "models/orders.sql": "select 1 as order_id, 'p' as product_id, 3 as quantity, timestamp '2026-01-01' as updated_at",
    "models/products.sql": "select 'p' as product_id, 5 as price",
    "snapshots/prices.yml": "snapshots: [{name: prices, relation: ref('products'), config: "
    "{unique_key: product_id, strategy: check, check_cols: [price]}}]",
}


@pytest.mark.one_format("delta")
def test_the_blocks_of_the_readme_are_a_project(project: Project, tmp_path: Path) -> None:
    extract = tmp_path / "accounts"
    extract.mkdir()
    (extract / "day.csv").write_text("account_id,owner\n1,ann\n2,bob\n")
    settings = yaml.safe_load(FILES["dbt_project.yml"].replace("my_project", NAME))
    assert settings.pop("dispatch")[0]["search_order"] == [NAME, "dbt_cdc", "dbt"]
    assert settings["models"][NAME] == {"+file_format": project.file_format}
    assert settings["snapshots"][NAME]["+meta"] == {"dbt_cdc": {"operational_metadata": True}}
    project.configure(
        models={"+file_format": "parquet", **settings.pop("models")},
        snapshots={"+file_format": "parquet", **settings.pop("snapshots")},
    )
    assert settings == {}
    models = {path: text.replace("data/accounts", str(extract)) for path, text in FILES.items() if "/" in path}
    assert len(models) == 5
    project.write({**UPSTREAMS, **models})
    project.dbt("build")
    assert project.rows("select product_id, insert_process_id is null, update_process_id from {schema}.prices") == [
        ("p", False, None)
    ]

    assert project.rows("select account_id, owner from {schema}.accounts order by 1") == [("1", "ann"), ("2", "bob")]
    assert project.rows("select id, role, __START_AT, __END_AT from {schema}.employees order by 1, 3") == [
        (1, "dev", 1, 2),
        (1, "lead", 2, None),
        (2, "dev", 3, None),
    ]
    assert project.rows("select order_id, amount from {schema}.order_amounts") == [(1, 15)]
    amounts = "select op, was, became from {schema}.amount_changes"
    assert project.rows(amounts) == [("i", None, 15)]
    project.write(
        {"models/orders.sql": UPSTREAMS["models/orders.sql"].replace("3 as", "4 as").replace("-01-01", "-01-02")}
    )
    project.dbt("run", "--select", "+amount_changes")
    assert project.rows(amounts + " order by became") == [("i", None, 15), ("u", 15, 20)]

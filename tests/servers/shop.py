"""The integration project on a server: over Spark Connect, and with SQL over thrift and Python over Connect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.servers.remote import run
from tests.support.shared import shop_project

#: An extract with a sensitive column, full on day 1 and a delta on day 2
PEOPLE = {
    "models/extracts/people.py": """
        def model(dbt, spark):
            dbt.config(materialized="hash_diff")
            first = "select * from values (1, 'Ann', '555'), (2, 'Bo', '556'), (3, 'Cy', null) as (id, name, phone)"
            later = "select * from values (1, 'Ann', '555'), (2, 'Bo', '5'), (4, 'Di', '557') as (id, name, phone)"
            extract = dbt.config.meta_get("extract")
            return spark.sql(first if extract == "full" else later)
    """,
    "models/extracts/people.yml": """
        models:
          - name: people
            config:
              unique_key: id
              meta:
                extract: "{{ 'full' if var('day') == 1 else 'delta' }}"
                dbt_cdc:
                  extract_type: "{{ 'full' if var('day') == 1 else 'delta' }}"
                  effective_date: "2020-01-0{{ var('day') }}"
                  sensitive_columns: [phone]
    """,
}
#: Readers of changes, in both languages, beside what the shop has
READERS = {
    "models/readers/order_sizes.py": """
        import dbt_cdc


        def model(dbt, spark):
            dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="order_id")
            dbt.ref("orders")
            return dbt_cdc.ref_changes(dbt, spark, "orders").select("order_id", "quantity")
    """,
    "models/readers/net_in_python.py": """
        import dbt_cdc


        def model(dbt, spark):
            dbt.ref("employees")
            changes = dbt_cdc.table_changes(dbt, spark, "employees", begin="earliest", format="net", unique_key="id")
            return changes.selectExpr("op", "before.name as was", "after.name as became")
    """,
    "models/readers/net_in_sql.sql": """
        select op, before.name as was, after.name as became
        from {{ dbt_cdc.table_changes(ref('employees'), begin='earliest', format='net') }}
    """,
}
NET = [["i", "None", name] for name in ("Alex", "Chris", "Gary", "Jessica", "Mikhail")]

OF_PEOPLE = {
    "select p.id, p.name, s.phone, p.operation from {schema}.people p join {schema}.people__sensitive s using (keyhash)"
    " order by 1": [
        ["1", "Ann", "555", "N"],
        ["2", "Bo", "5", "U"],
        ["3", "Cy", "None", "X"],
        ["4", "Di", "557", "I"],
    ],
}
QUERIES = {
    "select operation, count(*) from {schema}.accounts group by all order by 1": [
        ["I", "2000"],
        ["N", "4000"],
        ["U", "4000"],
    ],
    "select cast(eff_start_date as string), operation, count(*) from {schema}.accounts__history group by all"
    " order by 1, 2": [
        ["2019-06-18", "I", "10000"],
        ["2019-06-19", "D", "2000"],
        ["2019-06-19", "I", "2000"],
        ["2019-06-19", "U", "4000"],
    ],
    **OF_PEOPLE,
    "select id, name, role, __START_AT, __END_AT from {schema}.employees_history where id > 4 order by 1, 4": [
        ["5", "Chris", "manager", "5", "6"],
        ["5", "Chris", "owner", "6", "None"],
        ["6", "Pat", "mechanic", "7", "8"],
    ],
    "select op, count(*) from {schema}.employees__changes group by all": [["i", "5"]],
    "select count(*), count(distinct order_id) from {schema}.order_points": [["250", "250"]],
    "select count(*), count(distinct order_id) from {schema}.order_sizes": [["250", "250"]],
    "select * from {schema}.net_in_sql order by became": NET,
    "select * from {schema}.net_in_python order by became": NET,
    "select id, status, cast(weight as string) from {schema}.shipments order by id": [
        ["2", "shipped", "7.30"],
        ["3", "packed", "12.50"],
    ],
    "select id, city, __END_AT is null from {schema}.parcels order by id, __START_AT": [
        ["1", "Rome", "False"],
        ["1", "Paris", "True"],
        ["2", "Oslo", "False"],
        ["3", "Lima", "True"],
    ],
    "select count(*) from {schema}.customer_history where update_process_id is null": [["1010"]],
    "select count(*), count(distinct update_process_id) from {schema}.customer_history"
    " where update_process_id is not null": [["80", "1"]],
}


def builds_two_days(folder: Path, output: dict[str, Any], file_format: str, remote: str) -> None:
    shop = shop_project(folder, None, output["schema"], {"file_format": file_format, "output": output})
    shop.write(PEOPLE | READERS)
    build = ["build", "--profile", "consumer", "--vars"]
    queries = [query.replace("{schema}", output["schema"]) for query in QUERIES]
    told = run(
        shop.folder,
        [[*build, "{day: 1}"], [*build, "{day: 2}", "--exclude", "resource_type:seed"]],
        queries,
        remote=remote,
        environment={"DBT_CDC_FORMAT": file_format},
    )
    assert [success for success, _ in told["dbt"]] == [True, True], told["dbt"]
    assert dict(zip(QUERIES, told["rows"], strict=True)) == QUERIES

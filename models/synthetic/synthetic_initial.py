"""Initial load of synthetic data; sizes come from the var `dbt_cdc: {synthetic: {…}}` (docs/synthetic.md)."""

from dbt_cdc.synthetic import from_options


def model(dbt, spark):
    """The initial load."""
    dbt.config(materialized="table")
    return from_options(spark, "initial", dbt.config.meta_get("dbt_cdc_synthetic"))

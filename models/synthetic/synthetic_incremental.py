"""The load after `synthetic_initial`; sizes come from the var `dbt_cdc: {synthetic: {…}}` (docs/synthetic.md)."""

from dbt_cdc.synthetic import from_options


def model(dbt, spark):
    """The load after it."""
    dbt.config(materialized="table")
    return from_options(spark, "incremental", dbt.config.meta_get("dbt_cdc_synthetic"))

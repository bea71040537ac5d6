from pyspark.sql import functions as F


def model(dbt, spark):
    """Customers with a risk band: a Python model between a SQL model and a snapshot."""
    dbt.config(materialized="table")
    customers = dbt.ref("customers_today")
    band = (
        F.when(F.col("credit_limit") >= 15000, "high").when(F.col("credit_limit") >= 5000, "medium").otherwise("low")
    )
    return customers.withColumn("risk", band)

def model(dbt, spark):
    """Full extracts of synthetic accounts, compared by hash with what is there."""
    initial = dbt.ref("synthetic_initial")
    incremental = dbt.ref("synthetic_incremental")
    return initial if dbt.config.get("extract") == "initial" else incremental

def model(dbt, spark):
    """Full extracts of synthetic accounts, compared by hash with what is there."""
    extract = dbt.config.meta_get("extract")
    if extract == "initial":
        return dbt.ref("synthetic_initial")
    return dbt.ref("synthetic_incremental")

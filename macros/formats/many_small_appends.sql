{#- Table properties for a table that many runs append one row to, several at once: small files are put together by
    the writers themselves or by maintenance, appends that meet are tried again, and old metadata goes. -#}

{%- macro delta__many_small_appends() -%}
    {%- do return(" tblproperties ('delta.autoOptimize.autoCompact' = 'true', 'delta.logRetentionDuration' = 'interval 1 days',"
                  ~ " 'delta.deletedFileRetentionDuration' = 'interval 1 days')") -%}
{%- endmacro -%}


{%- macro iceberg__many_small_appends() -%}
    {%- do return(" tblproperties ('commit.retry.num-retries' = '50', 'commit.retry.max-wait-ms' = '5000',"
                  ~ " 'write.metadata.delete-after-commit.enabled' = 'true', 'write.metadata.previous-versions-max' = '10')") -%}
{%- endmacro -%}


{%- macro hudi__many_small_appends() -%}
    {%- do return(" tblproperties (type = 'cow', 'hoodie.datasource.write.operation' = 'insert')") -%}
{%- endmacro -%}

{#- Table properties for a table that many runs append one row to, several at once: small files are put together by
    the writers themselves or by maintenance, appends that meet are tried again (not on Hudi: docs/hudi.md), and old snapshots go. -#}

{%- macro delta__many_small_appends() -%}
    {%- do return({'delta.autoOptimize.autoCompact': 'true', 'delta.logRetentionDuration': 'interval 1 days',
                   'delta.deletedFileRetentionDuration': 'interval 1 days'}) -%}
{%- endmacro -%}


{%- macro iceberg__many_small_appends() -%}
    {%- do return(dict(dbt_cdc.iceberg__main_branch(), **{
        'commit.retry.num-retries': '50', 'commit.retry.max-wait-ms': '5000',
        'history.expire.max-snapshot-age-ms': '3600000', 'history.expire.min-snapshots-to-keep': '10',
    })) -%}
{%- endmacro -%}


{%- macro hudi__many_small_appends() -%}
    {%- do return({'type': 'cow', 'hoodie.datasource.write.operation': 'insert'}) -%}
{%- endmacro -%}


{#- What puts the small files together; nothing where the writers do so themselves. Two runs may do it at once: with
    partial progress the one that comes second leaves the files to the first. -#}

{%- macro default__compact_small_appends(relation) -%}{%- endmacro -%}


{%- macro iceberg__compact_small_appends(relation) -%}
    {%- if run_query('select count(*) from ' ~ relation ~ '.files')[0][0] > 100 -%}
        {#- a schema may name its catalog, or be a namespace within another -#}
        {%- set catalog, place = relation.schema.split('.')[0], relation.schema ~ '.' ~ relation.identifier -%}
        {%- set elsewhere = '.' in relation.schema and catalog in run_query('show catalogs').columns[0].values() -%}
        {%- set system = 'call ' ~ (dbt_cdc._quote(catalog) ~ '.' if elsewhere else '') ~ 'system.' -%}
        {%- set table = dbt_cdc._literal(place[catalog | length + 1:] if elsewhere else place) -%}
        {%- do run_query(system ~ 'rewrite_data_files(table => ' ~ table
                         ~ ", options => map('partial-progress.enabled', 'true'))") -%}
        {%- if not dbt_cdc._iceberg_keeps_all(dbt_cdc._table_properties(relation)) -%}
            {%- do run_query(system ~ 'expire_snapshots(table => ' ~ table ~ ')') -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}

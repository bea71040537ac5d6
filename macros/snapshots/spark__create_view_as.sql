{#- dbt-spark's own. Only the view of which a snapshot's materialization asks the columns, and which lies in no schema over Iceberg,
    is one of the session where the catalog can hold none: Spark with Iceberg's extensions would ask it to. -#}
{%- macro spark__create_view_as(relation, sql) -%}
    {%- if (model | default({})).resource_type == 'snapshot' and not relation.schema and not dbt_cdc._catalog_holds_views() -%}
        {%- do return('create or replace temporary view ' ~ relation ~ ' as\n' ~ sql) -%}
    {%- endif -%}
    {%- do return(dbt.spark__create_view_as(relation, sql)) -%}
{%- endmacro -%}


{%- macro _catalog_holds_views() -%}
    {#- Of Iceberg's catalogs, named by type or by class, these keep tables alone, and so does a JDBC one in its first schema. -#}
    {%- set without = ['hadoop', 'glue', 'bigquery', 'bigquerymetastore', 'dynamodb', 'ecs', 'snowflake'] -%}
    {%- set catalog = 'spark.sql.catalog.' ~ dbt_cdc._own_catalog() ~ '.' -%}
    {%- for setting in ['type', 'catalog-impl'] -%}
        {%- set kind = dbt_cdc._session_setting('`' ~ catalog ~ setting ~ '`').split('.')[-1] | lower | replace('catalog', '') -%}
        {%- if kind in without -%}{%- do return(false) -%}{%- endif -%}
        {%- if kind == 'jdbc' -%}
            {%- do return(dbt_cdc._session_setting('`' ~ catalog ~ 'jdbc.schema-version`') | upper == 'V1') -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(true) -%}
{%- endmacro -%}

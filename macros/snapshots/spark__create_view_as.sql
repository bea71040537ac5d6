{#- dbt-spark's own. Only the view of which a snapshot's materialization asks the columns, and which lies in no schema over Iceberg,
    is one of the session where the catalog can hold none: Spark with Iceberg's extensions would ask it to. -#}
{%- macro spark__create_view_as(relation, sql) -%}
    {%- if (model | default({})).resource_type == 'snapshot' and not relation.schema and not dbt_cdc._catalog_holds_views() -%}
        {%- do return('create or replace temporary view ' ~ relation ~ ' as\n' ~ sql) -%}
    {%- endif -%}
    {%- do return(dbt.spark__create_view_as(relation, sql)) -%}
{%- endmacro -%}


{%- macro _catalog_holds_views() -%}
    {#- Iceberg's Hadoop catalogs are folders of tables. -#}
    {%- do return(dbt_cdc._session_setting('spark.sql.catalog.' ~ dbt_cdc._own_catalog() ~ '.type') | lower != 'hadoop') -%}
{%- endmacro -%}

{#- What dbt_cdc.changes calls while a Python model runs. -#}
{%- macro _table_changes_of_python(unique_id, upstream, begin, end, format, unique_key) -%}
    {%- do dbt_cdc._lay_out_model(unique_id) -%}
    {%- set schema, identifier = (upstream.replace('`', '').split('.') | list)[-2:] -%}
    {%- set relation = api.Relation.create(schema=schema, identifier=identifier) -%}
    {%- do return(dbt_cdc._table_changes(relation, begin, end, format, unique_key)) -%}
{%- endmacro -%}

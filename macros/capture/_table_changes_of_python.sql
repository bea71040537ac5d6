{#- What dbt_cdc.changes calls while a Python model runs. -#}
{%- macro _table_changes_of_python(unique_id, upstream, begin, end, format, unique_key) -%}
    {%- do dbt_cdc._set_model_context(unique_id) -%}
    {%- do return(dbt_cdc._table_changes(dbt_cdc._relation_called(upstream), begin, end, format, unique_key)) -%}
{%- endmacro -%}

{#- The source's columns, and its rows as tables keep them. -#}

{%- macro _columns_of_source(sql) -%}
    {%- do return(dbt_cdc._whole_columns('(\n' ~ sql ~ '\n) as source_rows')) -%}
{%- endmacro -%}


{%- macro _source_of(sql) -%}
    {#- The source's columns and its query, as tables keep them. -#}
    {%- do return(dbt_cdc._without_collations(sql, dbt_cdc._columns_of_source(sql))) -%}
{%- endmacro -%}

{#- Names of the key columns that a table's format itself keeps; none where it keeps none. -#}

{%- macro default__kept_key(relation) -%}{%- do return(none) -%}{%- endmacro -%}


{%- macro hudi__kept_key(relation) -%}
    {%- set fields = dbt_cdc._hudi_properties(relation).get('hoodie.table.recordkey.fields') -%}
    {%- do return(fields.split(',') | map('trim') | list if fields else none) -%}
{%- endmacro -%}

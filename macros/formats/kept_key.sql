{#- Names of the key columns that a table's format itself keeps; none where it keeps none. -#}

{%- macro default__kept_key(relation) -%}{%- do return(none) -%}{%- endmacro -%}


{%- macro hudi__kept_key(relation) -%}
    {#- A record key may be in several partitions. -#}
    {%- set own = dbt_cdc._hudi_properties(relation) -%}
    {%- set fields = own.get('hoodie.table.recordkey.fields') if not own.get('hoodie.table.partition.fields') else none -%}
    {%- do return(fields.split(',') | map('trim') | list if fields else none) -%}
{%- endmacro -%}

{#- Table properties by which a table is written and read as one, whatever a catalog gives its tables: a session whose writes go to a
    branch, or to none, would lose what a run keeps for itself. -#}
{%- macro default__main_branch() -%}{%- do return({}) -%}{%- endmacro -%}
{%- macro iceberg__main_branch() -%}{%- do return({'write.wap.enabled': 'false'}) -%}{%- endmacro -%}


{%- macro _own_table_properties(format) -%}
    {#- Of tables that only runs write to, by MERGEs among others. -#}
    {%- do return(dict(dbt_cdc._for_format('isolation', format)(), **dbt_cdc._for_format('main_branch', format)())) -%}
{%- endmacro -%}

{%- macro _own_properties(relation) -%}
    {#- What the package keeps in a table's properties, as text by name; nothing for any other table. -#}
    {%- set kept = {} -%}
    {%- for row in run_query('show tblproperties ' ~ relation) if row[0].startswith('dbt_cdc.') -%}
        {%- do kept.update({row[0]: row[1] | string}) -%}
    {%- endfor -%}
    {%- do return(kept) -%}
{%- endmacro -%}

{%- macro _untyped_faults(columns, existing={}) -%}
    {#- New columns of a snapshot's source that are nothing but NULL, without a type. `existing`: the table's types by lower-case name. -#}
    {%- set faults = [] -%}
    {%- for column in columns if dbt_cdc._is_untyped(column.dtype) and column.name | lower not in existing
        and not dbt_cdc._formats().get(config.get('file_format'), {}).get('keeps_untyped') -%}
        {%- do faults.append("column '" ~ column.name ~ "' of the source is " ~ column.dtype ~ ", which is no type, and no table of"
            ~ " format '" ~ config.get('file_format') ~ "' gives it one later: cast it in the snapshot's query") -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}

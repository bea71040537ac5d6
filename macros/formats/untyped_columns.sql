{%- macro _untyped_faults(columns, existing={}) -%}
    {#- New columns of a snapshot's source that are nothing but NULL, without a type. `existing`: the table's types by lower-case name. -#}
    {%- set faults = [] -%}
    {%- for column in columns if dbt_cdc._is_untyped(column.dtype) and column.name | lower not in existing
        and not dbt_cdc._for_format('keeps_untyped', config.get('file_format'))() -%}
        {%- do faults.append("column '" ~ column.name ~ "' of the source is " ~ column.dtype ~ ", which is no type, and no table of"
            ~ " format '" ~ config.get('file_format') ~ "' gives it one later: cast it in the snapshot's query") -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{#- Whether a column may be without a type until its first values come. -#}

{%- macro default__keeps_untyped() -%}{%- do return(false) -%}{%- endmacro -%}


{%- macro delta__keeps_untyped() -%}{%- do return(true) -%}{%- endmacro -%}

{#- Statements that an existing table needs before it can get a column of a type. -#}

{%- macro delta__allow_type(relation, type) -%}
    {#- a Delta table that has no timestamp_ntz yet must be told that its readers will have to know the type -#}
    {%- do return(
        ["alter table " ~ relation ~ " set tblproperties ('delta.feature.timestampNtz' = 'supported')"]
        if type == 'timestamp_ntz' else []) -%}
{%- endmacro -%}


{%- macro iceberg__allow_type(relation, type) -%}
    {%- do return([]) -%}
{%- endmacro -%}


{%- macro hudi__allow_type(relation, type) -%}
    {%- do return([]) -%}
{%- endmacro -%}

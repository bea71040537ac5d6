{%- macro _allow_types(relation, format, types) -%}
    {#- Gives an existing table what it needs to get columns of these types. -#}
    {%- for type in types | unique -%}
        {%- for statement in dbt_cdc._for_format('allow_type', format)(relation, type) -%}{%- do run_query(statement) -%}{%- endfor -%}
    {%- endfor -%}
{%- endmacro -%}


{#- Statements that an existing table needs before it can get a column of a type. -#}

{%- macro delta__allow_type(relation, type) -%}
    {#- a Delta table that has no timestamp_ntz yet must be told that its readers will have to know the type -#}
    {%- do return([dbt_cdc._properties_statement(relation, dbt_cdc._formats().delta.timestamp_ntz)] if 'timestamp_ntz' in type else []) -%}
{%- endmacro -%}


{%- macro default__allow_type(relation, type) -%}{%- do return([]) -%}{%- endmacro -%}


{#- Why an existing table can't get a column of a type; empty if it can. -#}
{%- macro default__type_faults(relation, type) -%}{%- do return([]) -%}{%- endmacro -%}


{%- macro hudi__type_faults(relation, type) -%}
    {#- Hudi would add the column to the table, and Hive's metastore then refuse it -#}
    {%- if 'timestamp_ntz' not in type -%}{%- do return([]) -%}{%- endif -%}
    {%- do return([relation ~ " can't get columns of type timestamp_ntz, which Hive's metastore does not know; set the option"
                   ~ " 'effective_timestamp_type' to timestamp, or cast the source's column"]) -%}
{%- endmacro -%}

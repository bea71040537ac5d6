{#- Why an existing table can't get a column of a type; empty if it can. -#}
{%- macro default__type_faults(relation, type) -%}{%- do return([]) -%}{%- endmacro -%}


{%- macro hudi__type_faults(relation, type) -%}
    {#- Hudi would add the column to the table, and Hive's metastore then refuse it -#}
    {%- if 'timestamp_ntz' not in type -%}{%- do return([]) -%}{%- endif -%}
    {%- do return([relation ~ " can't get columns of type timestamp_ntz, which Hive's metastore does not know; set the option"
                   ~ " 'effective_timestamp_type' to timestamp, or cast the source's column"]) -%}
{%- endmacro -%}

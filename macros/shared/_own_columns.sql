{%- macro _own_columns(existing) -%}
    {#- A table's columns (of the table as it exists) without those that its format or this package keeps in it. -#}
    {%- set columns, format = [], dbt_cdc._format_of(existing) -%}
    {%- for column in dbt_cdc._columns_of(existing) if dbt_cdc._is_own_column(column.name, format) -%}
        {%- do columns.append(column) -%}
    {%- endfor -%}
    {%- do return(columns) -%}
{%- endmacro -%}


{%- macro _plain_columns(existing) -%}
    {#- Without those that its format keeps in it; dbt-spark's own list leaves Hudi's out of the tables of any format. -#}
    {%- set columns, format = [], dbt_cdc._format_of(existing) -%}
    {%- for column in dbt_cdc._columns_of(existing) if not dbt_cdc._is_kept_by(format, column.name) -%}
        {%- do columns.append(column) -%}
    {%- endfor -%}
    {%- do return(columns) -%}
{%- endmacro -%}


{%- macro _is_own_column(name, format) -%}
    {%- do return(not name.startswith('_dbt_cdc_') and not dbt_cdc._is_kept_by(format, name)) -%}
{%- endmacro -%}


{%- macro _is_kept_by(format, name) -%}
    {%- set prefix = dbt_cdc._formats().get(format, {}).get('kept_prefix') -%}
    {%- do return(prefix is not none and name.startswith(prefix)) -%}
{%- endmacro -%}

{#- Statements that take columns out of a table; `columns`: quoted names. History and the other columns stay. -#}

{%- macro delta__drop_columns(relation, columns) -%}
    {#- Delta drops a column without writing the data anew only where columns are mapped by name -#}
    {%- do return(dbt_cdc.delta__map_names(relation)
                  + ["alter table " ~ relation ~ " drop columns (" ~ (columns | join(', ')) ~ ")"]) -%}
{%- endmacro -%}


{%- macro iceberg__drop_columns(relation, columns) -%}
    {%- do return(["alter table " ~ relation ~ " drop columns " ~ (columns | join(', '))]) -%}
{%- endmacro -%}

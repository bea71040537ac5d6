{#- A query's rows for a new table, without what the columns' own tables say of them: lengths, defaults, comments. `kept`: the names, in
    small letters, of columns that stay as they are. -#}

{%- macro default__plain_rows(query, columns, kept) -%}{%- do return(query) -%}{%- endmacro -%}


{%- macro delta__plain_rows(query, columns, kept) -%}
    {#- Delta would hold the new table to them. Where Spark's optimizer finds the mere column again, the statement fails. -#}
    {%- set selected = [] -%}
    {%- for column in columns -%}
        {%- set quoted = dbt_cdc._quote(column.name) -%}
        {%- do selected.append(quoted if column.name | lower in kept else 'element_at(array(' ~ quoted ~ '), 1) as ' ~ quoted) -%}
    {%- endfor -%}
    {%- do return('select ' ~ selected | join(', ') ~ ' from (\n' ~ query ~ '\n) as given') -%}
{%- endmacro -%}

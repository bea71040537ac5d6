{%- macro _bring_up_comments(table, comments) -%}
    {#- `comments`: text by lower-case name of a column. Each is a commit of the table, so only those that differ are set. -#}
    {%- for row in (run_query('describe table ' ~ table) if comments else []) -%}
        {%- set name = row[0] | string -%}
        {%- if comments.get(name | lower) not in [none, row[2] or ''] -%}
            {%- do run_query('alter table ' ~ table ~ ' alter column ' ~ dbt_cdc._quote(name) ~ ' comment '
                             ~ dbt_cdc._literal(comments[name | lower])) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}

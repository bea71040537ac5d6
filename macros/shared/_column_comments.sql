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


{%- macro _comment_clause() -%}
    {#- dbt-spark's own does not escape a backslash. -#}
    {%- if config.persist_relation_docs() and model.description -%}comment {{ dbt_cdc._literal(model.description) }}{%- endif -%}
{%- endmacro -%}

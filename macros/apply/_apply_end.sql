{#- How a run ends: what it says, and what it leaves behind. -#}
{%- macro _apply_report(plan, counts, sql) -%}
    {%- set message = 'APPLY CHANGES (' ~ plan.rows ~ ' events: ' ~ counts.inserted ~ ' inserted, ' ~ counts.updated ~ ' updated, '
                      ~ counts.deleted ~ ' deleted)' -%}
    {%- set operations = {'I': counts.inserted | int, 'U': counts.updated | int, 'D': counts.deleted | int} -%}
    {%- do return({'message': message, 'operations': operations, 'sql': sql}) -%}
{%- endmacro -%}


{%- macro _apply_fail(plan, faults, wrote=none) -%}
    {%- if faults -%}
        {%- do dbt_cdc._apply_drop(plan, []) -%}
        {%- do dbt_cdc._raise_faults(faults, wrote=wrote) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _apply_drop(plan, leftovers) -%}
    {#- This run's temporary tables, and those of killed runs. -#}
    {%- for relation in plan.made + leftovers -%}
        {%- do dbt_cdc._apply_execute(dbt_cdc._drop_temporary(relation)) -%}
    {%- endfor -%}
{%- endmacro -%}


{%- macro _apply_docs(target) -%}
    {#- Of the columns; the table's own description is in the statement that makes it. -#}
    {%- if not config.persist_column_docs() or not model.columns -%}{%- do return(none) -%}{%- endif -%}
    {%- set comments, there = {}, dbt_cdc._columns_of(target) | map(attribute='name') | list -%}
    {%- for name, column in validate_doc_columns(target, model.columns, there).items() -%}
        {%- do comments.update({name | lower: column.description or ''}) -%}
    {%- endfor -%}
    {%- do dbt_cdc._bring_up_comments(target, comments) -%}
{%- endmacro -%}

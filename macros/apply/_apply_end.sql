{#- How a run ends: what it says, and what it leaves behind. -#}
{%- macro _apply_note(plan, sql, counts={}) -%}
    {#- What has been written, also for a run that was killed. -#}
    {%- for operation, rows in counts.items() -%}
        {%- do plan.counts.update({operation: plan.counts[operation] + rows | int}) -%}
    {%- endfor -%}
    {%- do plan.update(sql=plan.sql ~ sql ~ ';\n\n') -%}
{%- endmacro -%}


{%- macro _apply_report(plan) -%}
    {%- set inserted, updated, deleted = plan.counts['insert'], plan.counts['update'], plan.counts['delete'] -%}
    {%- set events = plan.events if plan.options.source_kind == 'snapshot' else plan.rows -%}
    {%- set message = 'APPLY CHANGES (' ~ events ~ ' events: ' ~ inserted ~ ' inserted, ' ~ updated ~ ' updated, '
                      ~ deleted ~ ' deleted)' -%}
    {%- do dbt_cdc._report_outcome(message, {'I': inserted, 'U': updated, 'D': deleted}) -%}
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


{%- macro _apply_anew() -%}
    {#- For errors that propose a full refresh. -#}
    {%- do return("run with --full-refresh, which forgets all events but that run's") -%}
{%- endmacro -%}

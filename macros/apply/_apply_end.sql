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
    {#- This run's temporary tables, and those of killed runs: older than any run that may still be at work. -#}
    {%- set drop = dbt_cdc._for_format('drop_temporary', plan.format) -%}
    {%- for relation in plan.made -%}
        {%- do dbt_cdc._apply_execute(drop(relation)) -%}
    {%- endfor -%}
    {%- for name in leftovers -%}
        {%- do dbt_cdc._apply_execute(drop(plan.target.incorporate(path={'identifier': name}))) -%}
    {%- endfor -%}
{%- endmacro -%}


{%- macro _apply_leftovers(relations) -%}
    {#- Temporary tables begin with the time of their run (_apply_relations). -#}
    {%- set names = [] -%}
    {%- set prefix = (relations.target.identifier ~ '__dbt_tmp_') | lower -%}
    {%- set own = modules.re.escape(prefix) ~ '\\d{8}t\\d{12}_\\w{8}(_images|_touched|_changes)?' -%}
    {%- set a_day_ago = modules.datetime.datetime.now(modules.pytz.utc) - modules.datetime.timedelta(days=1) -%}
    {%- set oldest = prefix ~ a_day_ago.strftime('%Y%m%dt%H%M%S') -%}
    {%- for row in run_query('show tables in ' ~ relations.target.include(identifier=false) ~ ' like '
                             ~ dbt_cdc._literal(relations.target.identifier ~ '__dbt_tmp_*')) -%}
        {%- if modules.re.fullmatch(own, row[1] | lower) and row[1] | lower < oldest -%}{%- do names.append(row[1]) -%}{%- endif -%}
    {%- endfor -%}
    {%- do return(names) -%}
{%- endmacro -%}


{%- macro _apply_docs(target) -%}
    {#- Of the columns; the table's own description is in the statement that makes it. -#}
    {%- if not config.persist_column_docs() or not model.columns -%}{%- do return(none) -%}{%- endif -%}
    {%- set comments, there = {}, adapter.get_columns_in_relation(target) | map(attribute='name') | list -%}
    {%- for name, column in validate_doc_columns(target, model.columns, there).items() -%}
        {%- do comments.update({name | lower: column.description or ''}) -%}
    {%- endfor -%}
    {%- do dbt_cdc._bring_up_comments(target, comments) -%}
{%- endmacro -%}

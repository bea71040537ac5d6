{#- The statements that make the tables of apply_changes. -#}

{%- macro _apply_create_ledger(plan, query) -%}
    {#- `or replace` where it may be there, or the format knows a table by nothing else. Nothing reads its feed. -#}
    {%- set properties = dict(dbt_cdc._apply_properties_of_names(plan), **dbt_cdc._shared_properties()) -%}
    {%- do dbt_cdc._later_properties(properties, plan.format) -%}
    {%- do properties.update(dbt_cdc._own_table_properties(plan.format)) -%}
    {%- do properties.update({'dbt_cdc.generation': plan.generation, 'dbt_cdc.columns': plan.order | tojson}) -%}
    {%- for name, value in plan.properties.items() -%}{%- do properties.update({'dbt_cdc.' ~ name: value}) -%}{%- endfor -%}
    {%- do return(dbt_cdc._create_as(plan.ledger, query, plan.format, properties, 'partitioned by (_dbt_cdc_kind)',
                                     plan.replace or dbt_cdc._formats()[plan.format].replace_conflicts)) -%}
{%- endmacro -%}


{%- macro _apply_make_temporary(plan, relation, query) -%}
    {#- One of the run's own tables, in place of itself where it was made before; _apply_drop drops it. -#}
    {%- if relation in plan.made -%}
        {%- do dbt_cdc._apply_execute(dbt_cdc._drop_temporary(relation)) -%}
    {%- else -%}
        {%- do plan.made.append(relation) -%}
    {%- endif -%}
    {%- do dbt_cdc._apply_execute(dbt_cdc._create_temporary(relation, query)) -%}
{%- endmacro -%}


{%- macro _apply_target_properties(plan) -%}
    {#- `own`: those that the target is made with; `later`: those that it gets once it is made. -#}
    {%- set properties = dict(dbt_cdc._apply_properties_of_names(plan), **dbt_cdc._own_table_properties(plan.format)) -%}
    {%- if dbt_cdc._meta().get('change_log') -%}
        {%- do properties.update(dbt_cdc._for_format('feed_properties', plan.format)(dbt_cdc._apply_target_columns(plan))) -%}
    {%- endif -%}
    {%- do properties.update(config.get('tblproperties') or {}) -%}
    {%- set later = dbt_cdc._later_properties(properties, plan.format) -%}
    {#- done at once where the format refuses a table that another run was faster with, and nothing is left to do; else
        _apply_finish_build says so in the end, and a run that finds it not done builds it anew -#}
    {%- set at_once = dbt_cdc._formats()[plan.format].replace_conflicts and not (later or config.get('contract').enforced) -%}
    {%- do properties.update({'dbt_cdc.generation': plan.generation if at_once else 'not done: ' ~ plan.batch}) -%}
    {%- do return({'own': properties, 'later': later}) -%}
{%- endmacro -%}


{%- macro _apply_layout_faults(plan) -%}
    {#- What the table can't be partitioned or clustered by. Names alone are looked up: Iceberg also takes `days(at)` and a struct's
        field. -#}
    {%- set faults, names = [], dbt_cdc._apply_target_columns(plan) -%}
    {%- for option in ['partition_by', 'clustered_by'] -%}
        {%- for name in dbt_cdc._unquoted_names(config.get(option))
            if dbt_cdc._is_plain_name(name) and name | lower not in names | map('lower') | list -%}
            {%- do faults.append(option ~ ": the table has no such column: " ~ dbt_cdc._unknown_name('column', name, names)) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _apply_create_target(plan, query, properties) -%}
    {#- `or replace`, so that a reader never misses the table. -#}
    {%- set clauses = [partition_cols(label='partitioned by'), clustered_cols(label='clustered by'), location_clause(),
                       dbt_cdc._comment_clause()] -%}
    {%- do return(dbt_cdc._create_as(
        plan.target, get_select_subquery(query) if config.get('contract').enforced else query, plan.format, properties,
        clauses | map('trim') | select | join('\n'), true)) -%}
{%- endmacro -%}


{%- macro _apply_properties_of_names(plan) -%}
    {#- Of the ledger and the target: names of columns, in structs among them and in the moments. -#}
    {%- set types = plan.moments.values() | map(attribute='type') | list -%}
    {%- for name in plan.key -%}{%- do types.append(plan.types[name | lower]) -%}{%- endfor -%}
    {%- for column in plan.payload -%}{%- do types.append(plan.types.get(column.source | lower, column.type)) -%}{%- endfor -%}
    {%- do return(dbt_cdc._properties_of_names(dbt_cdc._apply_target_columns(plan), plan.format, types)) -%}
{%- endmacro -%}

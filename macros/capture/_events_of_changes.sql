{#- Changes that become events: what table_changes asks of the apply_changes model that reads it. -#}

{%- macro _as_events(table, unique_key) -%}
    {#- The table, with the reader's key where it has none: without one an update is a `d` and an `i` of one sequence, at which the
        delete wins. `unique_key`: of the call; an empty list says that its rows have none. -#}
    {%- set node = model | default({}) -%}
    {%- if node.get('config', {}).get('materialized') != 'apply_changes' -%}{%- do return(table) -%}{%- endif -%}
    {%- if 'version' not in dbt_cdc._types_by_name(table.columns) -%}
        {%- do dbt_cdc._of_this_run().setdefault('readers of commits', {}).update({model.unique_id: true}) -%}
    {%- endif -%}
    {%- if table.key or unique_key is not none -%}{%- do return(table) -%}{%- endif -%}
    {%- do return(dict(table, key=dbt_cdc._key_of_reader(table, 'table_changes'), taken_for_key=true)) -%}
{%- endmacro -%}


{%- macro _commit_order_faults(plan) -%}
    {#- A commit's id is a text, which does not sort. -#}
    {%- set faults, reads_commits = [], model.unique_id in dbt_cdc._of_this_run().get('readers of commits', {}) -%}
    {%- for option in ['sequence_by', 'system_sequence_by'] if reads_commits and plan.types.get('version') == 'string'
        and 'version' in dbt_cdc._unquoted_names(plan.options[option]) | map('lower') | list -%}
        {%- do faults.append(option ~ " can't be the `version` of table_changes, a commit's id as text, which does not sort: take"
            ~ " its `ts`, or give a column of your own another name") -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}

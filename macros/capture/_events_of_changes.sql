{#- Changes that become events: what table_changes asks of the apply_changes model that reads it. -#}

{%- macro _as_events(table, unique_key) -%}
    {#- The table, with the reader's key where it has none: without one an update is a `d` and an `i` of one sequence, at which the
        delete wins. `unique_key`: of the call; an empty list says that its rows have none. -#}
    {%- set node = model | default({}) -%}
    {%- if node.get('config', {}).get('materialized') != 'apply_changes' -%}{%- do return(table) -%}{%- endif -%}
    {%- do dbt_cdc._raise_faults(dbt_cdc._commit_order_faults(table)) -%}
    {%- if table.key or unique_key is not none -%}{%- do return(table) -%}{%- endif -%}
    {%- do return(dict(table, key=dbt_cdc._key_of_reader(table, 'table_changes'), taken_for_key=true)) -%}
{%- endmacro -%}


{%- macro _commit_order_faults(table) -%}
    {#- A commit's id is a text, which does not sort. (A column of that name may be the table's own.) -#}
    {%- set faults = [] -%}
    {%- for option in ['sequence_by', 'system_sequence_by']
        if 'version' in dbt_cdc._unquoted_names(dbt_cdc._meta().get(option)) | map('lower') | list
        and 'version' not in dbt_cdc._types_by_name(table.columns) -%}
        {%- do faults.append(option ~ " can't be the `version` of table_changes, a commit's id as text, which does not sort: take"
            ~ " its `ts`, or give a column of your own another name") -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}

{#- Changes that become events: what table_changes asks of the apply_changes model that reads it. -#}

{%- macro _as_events(table, unique_key) -%}
    {#- The table, with the reader's key where it has none: without one an update is a `d` and an `i` of one sequence, at which the
        delete wins. `unique_key`: of the call; an empty list says that its rows have none. -#}
    {%- set node = model | default({}) -%}
    {%- if node.get('config', {}).get('materialized') != 'apply_changes' -%}{%- do return(table) -%}{%- endif -%}
    {%- if table.key or unique_key is not none -%}{%- do return(table) -%}{%- endif -%}
    {%- do return(dict(table, key=dbt_cdc._key_of_reader(table, 'table_changes'), taken_for_key=true)) -%}
{%- endmacro -%}

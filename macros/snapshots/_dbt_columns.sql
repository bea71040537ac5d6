{#- dbt's own columns of a snapshot. `node`: the snapshot, where it is not the one that runs (in an operation). -#}

{%- macro _snapshot_columns(node=none) -%}
    {%- if node is none -%}
        {%- do return(config.get('snapshot_table_column_names') or get_snapshot_table_column_names()) -%}
    {%- endif -%}
    {%- set names = {} -%}
    {%- set renamed = node.config.get('snapshot_meta_column_names') or {} -%}
    {%- for name, standard in get_snapshot_table_column_names().items() -%}
        {%- do names.update({name: renamed.get(name) or standard}) -%}
    {%- endfor -%}
    {%- do return(names) -%}
{%- endmacro -%}


{%- macro _written_columns(strategy) -%}
    {#- The names of those that a run writes: one that says of each record whether it stands for a deletion is not always. -#}
    {%- set names = [] -%}
    {%- for standard, name in dbt_cdc._snapshot_columns().items() -%}
        {%- if standard != 'dbt_is_deleted' or strategy.hard_deletes == 'new_record' -%}{%- do names.append(name) -%}{%- endif -%}
    {%- endfor -%}
    {%- do return(names) -%}
{%- endmacro -%}


{%- macro _dbt_column_faults(strategy, target) -%}
    {#- dbt-spark looks for the others. -#}
    {%- set existing = adapter.get_columns_in_relation(target) | map(attribute='name') | map('lower') | list -%}
    {%- set absent = [] -%}
    {%- for name in dbt_cdc._written_columns(strategy) if name | lower not in existing -%}{%- do absent.append(name) -%}{%- endfor -%}
    {%- if not absent -%}{%- do return([]) -%}{%- endif -%}
    {%- do return([target ~ " has no column(s) " ~ (absent | join(', ')) ~ ", which its strategy and hard_deletes: "
        ~ strategy.hard_deletes ~ " ask for: add them by `alter table` (dbt_is_deleted is a string, 'True' or 'False'), or set"
        ~ " back what was changed"]) -%}
{%- endmacro -%}


{%- macro _is_open(relation='', node=none) -%}
    {#- The condition that finds the open records. -#}
    {%- set valid_to = dbt_cdc._quote(dbt_cdc._snapshot_columns(node).dbt_valid_to) -%}
    {%- set valid_to = relation ~ '.' ~ valid_to if relation else valid_to -%}
    {%- set current = config.get('dbt_valid_to_current') if node is none else node.config.get('dbt_valid_to_current') -%}
    {%- do return('(' ~ valid_to ~ ' = ' ~ current ~ ' or ' ~ valid_to ~ ' is null)' if current else valid_to ~ ' is null') -%}
{%- endmacro -%}

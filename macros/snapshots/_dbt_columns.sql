{#- dbt's own columns of a snapshot. -#}

{%- macro _dbt_columns(node=none) -%}
    {#- Standard name -> name in the table. `node`: a snapshot that is not the one at work. -#}
    {%- set names, renamed = {}, (node or model).config.get('snapshot_meta_column_names') or {} -%}
    {%- for name in get_snapshot_table_column_names() -%}{%- do names.update({name: renamed.get(name) or name}) -%}{%- endfor -%}
    {%- do return(names) -%}
{%- endmacro -%}


{%- macro _written_columns(strategy) -%}
    {#- The names of those that a run writes: one that says of each record whether it stands for a deletion is not always. -#}
    {%- set names = [] -%}
    {%- for standard, name in dbt_cdc._dbt_columns().items() -%}
        {%- if standard != 'dbt_is_deleted' or strategy.hard_deletes == 'new_record' -%}{%- do names.append(name) -%}{%- endif -%}
    {%- endfor -%}
    {%- do return(names) -%}
{%- endmacro -%}


{%- macro _has_deletion_records(strategy, existing, source_columns) -%}
    {#- Whether dbt_is_deleted says of the table's records that they stand for deletions, also since hard_deletes was changed from
        new_record: unless the source has a column of that name. `source_columns`: names. -#}
    {%- set name = dbt_cdc._dbt_columns().dbt_is_deleted | lower -%}
    {%- do return(strategy.hard_deletes == 'new_record'
                  or (existing.get(name) == 'string' and name not in source_columns | map('lower'))) -%}
{%- endmacro -%}


{%- macro _deletion_column_faults(strategy, target, existing, source_columns) -%}
    {#- `source_columns`: names in small letters. -#}
    {%- if strategy.hard_deletes != 'new_record' -%}{%- do return([]) -%}{%- endif -%}
    {%- set name = dbt_cdc._dbt_columns().dbt_is_deleted -%}
    {%- if name | lower in existing -%}{%- do return([]) -%}{%- endif -%}
    {%- if existing.get('dbt_is_deleted') == 'string' and 'dbt_is_deleted' not in source_columns -%}
        {%- do return([target ~ " has no column '" ~ name ~ "', but dbt_is_deleted: 'snapshot_meta_column_names' was changed after the"
            ~ " table was made; set it back, or rename the column there"]) -%}
    {%- endif -%}
    {%- do return([target ~ " has no column '" ~ name ~ "', which hard_deletes: new_record needs: add it (alter table " ~ target
        ~ " add columns (" ~ name ~ " string)), or set hard_deletes back"]) -%}
{%- endmacro -%}


{%- macro _end_of_record(existing) -%}
    {#- dbt_valid_to in the type of dbt_valid_from. `dbt_valid_to_current` may have given it another one (text, or an instant beside
        wall clocks): what closes a record is cast to that by the session's time zone, and so back. -#}
    {%- set columns = dbt_cdc._dbt_columns() -%}
    {%- set valid_to, start = dbt_cdc._quote(columns.dbt_valid_to), existing[columns.dbt_valid_from | lower] -%}
    {%- if existing[columns.dbt_valid_to | lower] == start -%}{%- do return(valid_to) -%}{%- endif -%}
    {%- do return('try_cast(' ~ valid_to ~ ' as ' ~ dbt_cdc._type_text(start) ~ ')') -%}
{%- endmacro -%}


{%- macro _is_open(relation='') -%}
    {#- The condition that finds the open records. -#}
    {%- set valid_to = dbt_cdc._quote(dbt_cdc._dbt_columns().dbt_valid_to) -%}
    {%- set valid_to = relation ~ '.' ~ valid_to if relation else valid_to -%}
    {%- set current = model.config.get('dbt_valid_to_current') -%}
    {%- do return('(' ~ valid_to ~ ' = ' ~ current ~ ' or ' ~ valid_to ~ ' is null)' if current else valid_to ~ ' is null') -%}
{%- endmacro -%}

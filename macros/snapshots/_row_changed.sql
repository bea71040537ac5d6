{#- The strategy's condition for a changed row, mended where dbt's own says less or more than it means. -#}

{%- macro _row_changed(strategy, source_columns, existing) -%}
    {%- set condition = strategy.row_changed | trim -%}
    {%- set everything_changed = modules.re.sub('[\\s()]', '', condition) == get_true_sql() | trim -%}
    {#- dbt quotes a name as it stands -#}
    {%- set has_backticks = '`' in existing | join -%}
    {%- set checked = [] -%}
    {%- for column in source_columns if dbt_cdc._is_checked(column.name) -%}{%- do checked.append(column) -%}{%- endfor -%}
    {%- set leaves_out = config.get('check_cols') is string and checked | length < source_columns | length -%}
    {%- if dbt_cdc._goes_by_start(strategy) -%}
        {%- do return(dbt_cdc._row_changed_by_time(strategy, condition)) -%}
    {%- elif dbt_cdc._goes_by_columns()
            and (everything_changed or has_backticks or leaves_out or dbt_cdc._become_text(source_columns, existing)) -%}
        {%- do return(dbt_cdc._row_changed_by_columns(checked, existing) or condition) -%}
    {%- endif -%}
    {%- do return(condition) -%}
{%- endmacro -%}


{%- macro _goes_by_start(strategy) -%}
    {#- Whether it compares dbt_valid_from, as dbt's timestamp strategy does, and those of a project that are made of it. -#}
    {%- do return(('snapshotted_data.' ~ dbt_cdc._dbt_columns().dbt_valid_from) in strategy.row_changed) -%}
{%- endmacro -%}


{%- macro _goes_by_columns() -%}
    {#- Whether it is dbt's check strategy, which may be called by its package, too. -#}
    {%- do return(config.get('strategy') in ['check', 'dbt.check']) -%}
{%- endmacro -%}


{%- macro _row_changed_by_time(strategy, condition) -%}
    {#- dbt takes updated_at for a column's name where it may be an expression, and compares NULL with nothing: a row that was
        without a time and has one now has changed. -#}
    {%- set updated_at = modules.re.escape('source_data.' ~ strategy.updated_at) ~ '(?!\\w)' -%}
    {%- do return(modules.re.sub(updated_at, 'source_data.dbt_cdc_updated_at', condition)
        ~ ' or (snapshotted_data.dbt_cdc_had_no_time and source_data.dbt_cdc_updated_at is not null)') -%}
{%- endmacro -%}


{%- macro _had_no_time(strategy, source_columns, existing) -%}
    {#- Whether the row of an open record had no updated_at. A history that was made by hand may lack it in dbt_updated_at alone: the
        record's own values tell, where the table has those that updated_at is made of, and as the source has them. -#}
    {%- set columns, updated_at = dbt_cdc._dbt_columns(), strategy.updated_at | trim -%}
    {%- set no_start = dbt_cdc._quote(columns.dbt_valid_from) ~ ' is null' -%}
    {%- if columns.dbt_updated_at | lower not in existing -%}{%- do return(no_start) -%}{%- endif -%}
    {%- set none_recorded = dbt_cdc._quote(columns.dbt_updated_at) ~ ' is null' -%}
    {%- set others = source_columns | map(attribute='name') | map('lower') | reject('in', existing) | list
                     + dbt_cdc._become_text(source_columns, existing) -%}
    {%- if others and updated_at | replace('`', '') | lower not in existing -%}{%- do return(none_recorded) -%}{%- endif -%}
    {%- do return('if(' ~ none_recorded ~ ', ' ~ no_start ~ ' or (' ~ updated_at ~ ') is null, false)') -%}
{%- endmacro -%}


{%- macro _row_changed_by_columns(checked, existing) -%}
    {#- Where a checked column is new, dbt takes every row for changed; it looks for names letter by letter, so that one whose
        case has changed is new to it. None where there is a new one indeed. -#}
    {%- set differ = [] -%}
    {%- for column in checked -%}
        {%- if column.name | lower not in existing -%}{%- do return(none) -%}{%- endif -%}
        {%- do differ.append('not (snapshotted_data.' ~ dbt_cdc._quote(column.name) ~ ' <=> '
            ~ dbt_cdc._given_value(column, existing) ~ ')') -%}
    {%- endfor -%}
    {%- do return('(' ~ differ | join(' or ') ~ ')' if differ else none) -%}
{%- endmacro -%}


{%- macro _become_text(source_columns, existing) -%}
    {#- The columns that the table keeps as text, and the source has as something else. -#}
    {%- set found = [] -%}
    {%- for column in source_columns
        if dbt_cdc._family_of_type(existing.get(column.name | lower, '')) == 'text' != dbt_cdc._family_of_type(column.dtype) -%}
        {%- do found.append(column.name) -%}
    {%- endfor -%}
    {%- do return(found) -%}
{%- endmacro -%}


{%- macro _given_value(column, existing) -%}
    {#- The source's value as the table keeps it: Spark would compare 'n/a' with a number as NULL, and find nothing changed. -#}
    {%- set value = 'source_data.' ~ dbt_cdc._quote(column.name) -%}
    {%- do return('cast(' ~ value ~ ' as string)' if dbt_cdc._become_text([column], existing) else value) -%}
{%- endmacro -%}

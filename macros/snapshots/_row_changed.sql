{#- The strategy's condition for a changed row, mended where dbt's own says less or more than it means. -#}

{%- macro _row_changed(strategy, source_sql, target) -%}
    {%- set condition = strategy.row_changed | trim -%}
    {%- set everything_changed = modules.re.sub('[\\s()]', '', condition) == get_true_sql() | trim -%}
    {%- set existing = dbt_cdc._types_by_name(adapter.get_columns_in_relation(target)) -%}
    {#- dbt quotes a name as it stands -#}
    {%- set has_backticks = '`' in existing | join -%}
    {%- if config.get('strategy') == 'timestamp' -%}
        {%- do return(dbt_cdc._row_changed_by_time(strategy, condition, existing)) -%}
    {%- elif config.get('strategy') == 'check' and (everything_changed or has_backticks) -%}
        {%- do return(dbt_cdc._row_changed_by_columns(source_sql, existing) or condition) -%}
    {%- endif -%}
    {%- do return(condition) -%}
{%- endmacro -%}


{%- macro _row_changed_by_time(strategy, condition, existing) -%}
    {#- dbt takes updated_at for a column's name where it may be an expression, and compares NULL with nothing: a row that was
        without a time and has one now has changed. -#}
    {%- set own = dbt_cdc._snapshot_columns().dbt_updated_at -%}
    {%- set had_no_time = 'snapshotted_data.' ~ (dbt_cdc._quote(own) if own | lower in existing else 'dbt_cdc_valid_from') ~ ' is null' -%}
    {%- set updated_at = modules.re.escape('source_data.' ~ strategy.updated_at) ~ '(?!\\w)' -%}
    {%- do return(modules.re.sub(updated_at, 'source_data.dbt_cdc_updated_at', condition)
        ~ ' or (' ~ had_no_time ~ ' and source_data.dbt_cdc_updated_at is not null)') -%}
{%- endmacro -%}


{%- macro _row_changed_by_columns(source_sql, existing) -%}
    {#- Where a checked column is new, dbt takes every row for changed; it looks for names letter by letter, so that one whose
        case has changed is new to it. None where there is a new one indeed. -#}
    {%- set checked = config.get('check_cols') -%}
    {%- if checked is not string -%}
        {%- set source_sql = 'select ' ~ (checked | join(', ')) ~ ' from (\n' ~ source_sql ~ '\n) as source_rows' -%}
    {%- endif -%}
    {%- set differ = [] -%}
    {%- for name in get_columns_in_query(source_sql) -%}
        {%- if name | lower not in existing -%}{%- do return(none) -%}{%- endif -%}
        {%- set quoted = dbt_cdc._quote(name) -%}
        {%- do differ.append('not (snapshotted_data.' ~ quoted ~ ' <=> source_data.' ~ quoted ~ ')') -%}
    {%- endfor -%}
    {%- do return('(' ~ differ | join(' or ') ~ ')') -%}
{%- endmacro -%}

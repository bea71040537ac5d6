{#- dbt's own first load, with the operational columns beside it where the snapshot asks for them. -#}
{%- macro default__build_snapshot_table(strategy, sql) -%}
    {%- set options = dbt_cdc._snapshot_settings() -%}
    {%- if execute -%}
        {%- do dbt_cdc._raise_faults(
            dbt_cdc._source_shape_faults(strategy, sql, dbt_cdc._columns_of_source(sql), options)
            + dbt_cdc._source_faults(strategy, sql)) -%}
    {%- endif -%}
    {%- if not options.operational_metadata -%}
        {%- do return(dbt.default__build_snapshot_table(strategy, sql)) -%}
    {%- endif -%}
    {%- set names = dbt_cdc._operational_columns() -%}
    {%- set start = dbt_cdc._quote(dbt_cdc._snapshot_columns().dbt_valid_from) -%}
    select
        *
        {%- for name, value in dbt_cdc._open_values(start, snapshot_get_time(), options.effective_timestamp_type).items() %},
        {{ value }} as {{ dbt_cdc._quote(names[name]) }}
        {%- endfor %}
    from (
        {{ dbt.default__build_snapshot_table(strategy, sql) }}
    ) as first_load
{%- endmacro -%}

{#- dbt's own first load, with the operational columns beside it where the snapshot asks for them. -#}
{%- macro default__build_snapshot_table(strategy, sql) -%}
    {%- if not dbt_cdc._on_spark() -%}{%- do return(dbt_cdc._stock('build_snapshot_table')(strategy, sql)) -%}{%- endif -%}
    {%- set options = dbt_cdc._snapshot_settings() -%}
    {%- if execute -%}
        {%- set source = dbt_cdc._source_of(sql) -%}
        {%- set columns, sql = source.columns, source.sql -%}
        {%- set faults = dbt_cdc._source_shape_faults(strategy, sql, columns, options) + dbt_cdc._untyped_faults(columns)
            + dbt_cdc._source_faults(strategy, sql) + dbt_cdc._blank_partition_faults(strategy, sql, columns)
            + dbt_cdc._for_format('new_snapshot_faults', config.get('file_format'))() -%}
        {%- if options.operational_metadata and strategy.updated_at | trim != snapshot_get_time() | trim
               and dbt_cdc._type_of_expression(strategy.updated_at, columns, sql) == 'string' -%}
            {%- do faults.extend(dbt_cdc._updated_at_faults(
                strategy, '(select ' ~ strategy.updated_at ~ ' as dbt_cdc_updated_at from (\n' ~ sql ~ '\n) as source_rows) as times')) -%}
        {%- endif -%}
        {%- if dbt_cdc._load_relation(this) is not none -%}
            {%- do faults.append("another run has made " ~ this ~ " while this one looked at the source, its history would be lost:"
                                 ~ " run the snapshot again") -%}
        {%- endif -%}
        {%- do dbt_cdc._raise_faults(faults) -%}
        {%- do model.update({'_dbt_cdc_first_load': true}) -%}
        {#- of a key it is to be known later that it was filled up with spaces -#}
        {%- set sql = dbt_cdc._for_format('plain_rows', config.get('file_format'))(
            sql, columns, dbt_cdc._text_keys(strategy, dbt_cdc._types_by_name(columns))) -%}
    {%- endif -%}
    {%- set strategy = dict(strategy, scd_id=dbt_cdc._scd_id(strategy)) -%}
    {%- if not options.operational_metadata -%}
        {%- do return(dbt.default__build_snapshot_table(strategy, sql)) -%}
    {%- endif -%}
    {%- set start = dbt_cdc._quote(dbt_cdc._dbt_columns().dbt_valid_from) -%}
    select
        *
        {%- for name, value in dbt_cdc._open_values(start, snapshot_get_time(), options.effective_timestamp_type).items() %},
        {{ value }} as {{ dbt_cdc._quote(name) }}
        {%- endfor %}
    from (
        {{ dbt.default__build_snapshot_table(strategy, sql) }}
    ) as first_load
{%- endmacro -%}

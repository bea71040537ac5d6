{#- What a snapshot run will change, worked out once.

    dbt-spark would make a view of what this macro returns, to be evaluated again and again. So the changes are computed here,
    in one join of the source and the open records, and kept in a table of this run's own, from which the merge reads; the
    view is never made (spark__create_view_as), but where a project's own macro makes it: of the table without rows.
    All that can be wrong is found here too, in the same table, before the target is touched. -#}
{%- macro default__snapshot_staging_table(strategy, source_sql, target_relation) -%}
    {%- if not dbt_cdc._on_spark() -%}
        {%- do return(dbt_cdc._stock('snapshot_staging_table')(strategy, source_sql, target_relation)) -%}
    {%- endif -%}
    {%- if not execute -%}{%- do return('') -%}{%- endif -%}
    {%- set options, source = dbt_cdc._snapshot_settings(), dbt_cdc._source_of(source_sql) -%}
    {%- set columns = source.columns -%}
    {%- set names = columns | map(attribute='name') | map('lower') | list -%}
    {%- set target_columns = dbt_cdc._plain_columns(target_relation) -%}
    {%- set existing = dbt_cdc._whole_types(target_relation, target_columns) -%}
    {#- records without the key can't be asked any further -#}
    {%- do dbt_cdc._raise_faults(dbt_cdc._table_key_faults(dbt_cdc._keys(strategy), target_relation, existing, names)) -%}
    {%- do dbt_cdc._raise_faults(
        dbt_cdc._for_format('snapshot_table_faults', dbt_cdc._format_of(target_relation))(target_relation)
        + dbt_cdc._deletion_column_faults(strategy, target_relation, existing, names)
        + dbt_cdc._operational_table_faults(target_relation, existing, options)
        + dbt_cdc._source_shape_faults(strategy, source.sql, columns, options)
        + dbt_cdc._retyped_faults(strategy, columns, target_relation, existing)
        + dbt_cdc._untyped_faults(columns, existing)) -%}
    {%- set staging = dbt_cdc._temporary_relation(target_relation, dbt_cdc._run_name(), 'changes') -%}
    {%- set typed = dbt_cdc._with_types(source.sql, columns, existing) -%}
    {%- do run_query(dbt_cdc._create_temporary(
        staging, dbt_cdc._snapshot_changes(strategy, typed, columns, target_relation, target_columns))) -%}
    {%- set shape = dbt_cdc._staging_shape(staging, strategy, target_relation, columns, existing) -%}
    {%- set faults = dbt_cdc._staging_faults(shape, options, existing) + dbt_cdc._drift_faults(shape, existing)
        + dbt_cdc._blank_partition_faults(strategy, 'select * from ' ~ staging, columns, target_relation) -%}
    {%- if faults -%}{%- do run_query(dbt_cdc._drop_temporary(staging)) -%}{%- endif -%}
    {%- do dbt_cdc._raise_faults(faults) -%}
    {%- do dbt_cdc._take_new_columns(shape, existing) -%}
    {%- do dbt_cdc._look_up_returning(shape) -%}
    {%- do model.update({'_dbt_cdc_shape': shape}) -%}
    {%- do return('select * from ' ~ target_relation ~ ' where false') -%}
{%- endmacro -%}


{%- macro _take_new_columns(shape, existing) -%}
    {#- Those of the source, which dbt would take from its view of the changes. -#}
    {%- set given = {} -%}
    {%- for name in shape.source_columns -%}{%- do given.update({name: shape.source_types[name | lower]}) -%}{%- endfor -%}
    {#- a history that was made by hand may lack this one, and later changes are found by it -#}
    {%- set columns = dbt_cdc._dbt_columns() -%}
    {%- do given.update({columns.dbt_updated_at: shape.time_type}) -%}
    {%- do dbt_cdc._grow_columns(shape.target, dbt_cdc._format_of(shape.target), existing, given) -%}
    {%- if columns.dbt_updated_at | lower not in existing -%}
        {%- do run_query('update ' ~ shape.target ~ ' set ' ~ dbt_cdc._quote(columns.dbt_updated_at) ~ ' = cast('
            ~ dbt_cdc._quote(columns.dbt_valid_from) ~ ' as ' ~ dbt_cdc._type_text(shape.time_type) ~ ')') -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _look_up_returning(shape) -%}
    {#- Only where it can matter: there are new keys, and the strategy takes its times from the source. -#}
    {%- if shape.counts['insert'] == 0
            or shape.strategy.updated_at | trim == snapshot_get_time() | trim -%}{%- do return(none) -%}{%- endif -%}
    {%- set found = run_query('select 1 as found from (' ~ dbt_cdc._returning_keys(shape) ~ ') as returning limit 1') -%}
    {%- do shape.update(any_returning=found.rows | length > 0) -%}
{%- endmacro -%}

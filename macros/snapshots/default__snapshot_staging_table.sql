{#- What a snapshot run will change, worked out once.

    dbt-spark turns what this macro returns into a view, which would be evaluated again and again. So the changes are
    computed here, in one join of the source and the open records, and kept by Spark (`cache table`) under a name of
    this run's own, from which the merge reads. Of the view dbt asks the columns only: they are those that the table has by then.
    All that can be wrong is found here too, before the target is touched. -#}
{%- macro default__snapshot_staging_table(strategy, source_sql, target_relation) -%}
    {%- if not execute -%}{%- do return('') -%}{%- endif -%}
    {%- set options, columns = dbt_cdc._snapshot_settings(), dbt_cdc._columns_of_source(source_sql) -%}
    {%- set target_columns = adapter.get_columns_in_relation(target_relation) -%}
    {%- set existing = dbt_cdc._whole_types(target_relation, target_columns) -%}
    {%- do dbt_cdc._raise_faults(
        dbt_cdc._for_format('snapshot_table_faults', dbt_cdc._format_of(target_relation))(target_relation)
        + dbt_cdc._deletion_column_faults(strategy, target_relation, existing)
        + dbt_cdc._operational_table_faults(target_relation, existing, options)
        + dbt_cdc._source_shape_faults(strategy, source_sql, columns, options)
        + dbt_cdc._retyped_faults(strategy, columns, target_relation, existing)) -%}
    {%- set staging = dbt_cdc._staging_relation(target_relation) -%}
    {%- set changes = dbt_cdc._snapshot_changes(strategy, source_sql, columns, target_relation, target_columns) -%}
    {%- do run_query('cache table ' ~ staging ~ ' as\n' ~ changes) -%}
    {%- set shape = dbt_cdc._staging_shape(staging, strategy, target_relation) -%}
    {%- set faults = dbt_cdc._staging_faults(shape, source_sql, options, existing) + dbt_cdc._drift_faults(shape, existing) -%}
    {%- if faults -%}{%- do dbt_cdc._forget_changes(shape) -%}{%- endif -%}
    {%- do dbt_cdc._raise_faults(faults) -%}
    {%- do dbt_cdc._take_new_columns(shape, existing) -%}
    {%- do dbt_cdc._look_up_returning(shape, staging) -%}
    {%- do model.update({'_dbt_cdc_shape': shape}) -%}
    {%- do return('select * from ' ~ target_relation ~ ' where false') -%}
{%- endmacro -%}


{%- macro _staging_relation(target_relation, kind='changes') -%}
    {#- Threads share a session, and snapshots of one name may lie in several schemas. -#}
    {%- set own = local_md5(model.unique_id)[:8] ~ '_' ~ invocation_id.replace('-', '') -%}
    {%- do return(api.Relation.create(
        identifier='dbt_cdc__' ~ target_relation.identifier ~ '__' ~ kind ~ '__' ~ own, type='view')) -%}
{%- endmacro -%}


{%- macro _forget_changes(shape) -%}
    {#- the last one first: `returning` reads `changes`, and can't be found any more once that is gone -#}
    {%- for kind in shape.kept | reverse -%}
        {%- set kept = dbt_cdc._staging_relation(this, kind) -%}
        {%- do run_query('uncache table if exists ' ~ kept) -%}
        {%- do run_query('drop view if exists ' ~ kept) -%}
    {%- endfor -%}
{%- endmacro -%}


{%- macro _take_new_columns(shape, existing) -%}
    {#- Those of the source. dbt would take them from the view that it makes of the changes, which over Iceberg lies in no
        schema: it may find that of another snapshot or incremental model of the same name there. -#}
    {%- set given = {} -%}
    {%- for name in shape.source_columns -%}{%- do given.update({name: shape.source_types[name | lower]}) -%}{%- endfor -%}
    {%- do dbt_cdc._grow_columns(shape.target, dbt_cdc._format_of(shape.target), existing, given) -%}
{%- endmacro -%}


{%- macro _look_up_returning(shape, staging) -%}
    {#- Only where it can matter: there are new keys, and the strategy takes its times from the source. -#}
    {%- if shape.counts['insert'] == 0
            or shape.strategy.updated_at | trim == snapshot_get_time() | trim -%}{%- do return(none) -%}{%- endif -%}
    {%- set returning = dbt_cdc._staging_relation(shape.target, 'returning') -%}
    {%- do run_query('cache table ' ~ returning ~ ' as\n' ~ dbt_cdc._returning_keys(shape, staging)) -%}
    {%- do shape.kept.append('returning') -%}
    {%- do shape.update(any_returning=run_query('select 1 as found from ' ~ returning ~ ' limit 1').rows | length > 0) -%}
{%- endmacro -%}

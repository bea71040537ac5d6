{#- Closes and inserts in one statement.

    The merge looks for the open record of each key, not for dbt_scd_id as dbt's own does, and so holds whatever another
    run did since the changes were worked out: a key must have exactly the open record that it had then, or the whole
    statement fails. Two runs at once can't leave two open records of a key. -#}
{%- macro spark__snapshot_merge_sql(target, source, insert_cols) -%}
    {%- set changes = dbt_cdc._remembered_changes() -%}
    {%- if changes.values() | sum == 0 -%}{%- do return("select 'nothing changed' as dbt_cdc") -%}{%- endif -%}
    {%- set options, columns = dbt_cdc._snapshot_options(), dbt_cdc._snapshot_columns() -%}
    {%- set strategy = strategy_dispatch(config.get('strategy'))(
        model, 'snapshotted_data', 'source_data', model['config'], true) -%}
    {%- set staging = dbt_cdc._staging_relation(target) -%}
    {%- set shape = dbt_cdc._staging_shape(staging, strategy, target) -%}
    {%- set values = dbt_cdc._insert_values(shape) -%}
    {%- set valid_to = dbt_cdc._quote(columns.dbt_valid_to) -%}
    {%- set conflict = dbt_cdc._conflict(target) -%}
    merge into {{ target }} as DBT_INTERNAL_DEST
    using (
        {{ dbt_cdc._merge_source(shape, values, staging, changes) }}
    ) as DBT_INTERNAL_SOURCE
    on {% for key in dbt_cdc._keys(strategy) %}{{ key }} = DBT_INTERNAL_SOURCE.dbt_cdc_key_{{ loop.index }} and {% endfor -%}
        {{ dbt_cdc._is_open('DBT_INTERNAL_DEST') }}
        and (DBT_INTERNAL_SOURCE.dbt_cdc_action = 'close')
            = (DBT_INTERNAL_DEST.{{ dbt_cdc._quote(columns.dbt_scd_id) }} <=> DBT_INTERNAL_SOURCE.dbt_cdc_scd_id)
    when matched and DBT_INTERNAL_SOURCE.dbt_cdc_action = 'close' then update set
        {{ valid_to }} = DBT_INTERNAL_SOURCE.dbt_cdc_end
        {%- if options.operational_metadata -%}
        {%- set names = dbt_cdc._operational_columns() -%}
        {%- for name, value in dbt_cdc._closing_values(
                'DBT_INTERNAL_SOURCE.dbt_cdc_end', 'DBT_INTERNAL_SOURCE.dbt_cdc_now', options.effective_timestamp_type).items() %},
        {{ dbt_cdc._quote(names[name]) }} = {{ value }}
        {%- endfor -%}
        {%- endif %}
    when matched then update set
        {{ valid_to }} = cast({{ conflict }} as {{ shape.time_type }})
    when not matched and DBT_INTERNAL_SOURCE.dbt_cdc_action = 'insert' then insert
        ({{ dbt_cdc._quoted_list(values.keys()) | join(', ') }})
        values ({% for name in values %}DBT_INTERNAL_SOURCE.dbt_cdc_column_{{ loop.index }}{{ ', ' if not loop.last }}{% endfor %})
    when not matched then insert
        ({{ dbt_cdc._quote(columns.dbt_scd_id) }}) values (cast({{ conflict }} as string))
{%- endmacro -%}


{%- macro _merge_source(shape, values, staging, changes) -%}
    {#- Two rows for a changed key: one closes its open record, one is inserted. Every column has a name that the target
        can't have, as the key's expressions must find the target's columns alone. -#}
    {%- set keys = dbt_cdc._keys(shape.strategy) -%}
    {%- set deletion_records = shape.strategy.hard_deletes == 'new_record' -%}
    with starts as (
        {{ dbt_cdc._snapshot_starts(shape, staging) | indent(8) }}
    )

    select 'insert' as dbt_cdc_action, {% for key in keys %}dbt_cdc_key_{{ loop.index }}, {% endfor %}dbt_cdc_scd_id, dbt_cdc_now,
        cast(null as {{ shape.time_type }}) as dbt_cdc_end
        {%- for name, value in values.items() %},
        {{ value }} as dbt_cdc_column_{{ loop.index }}
        {%- endfor %}
    from starts
    {%- if not deletion_records %}
    where dbt_cdc_kind <> 'delete'
    {%- endif %}
    union all
    select 'close', {% for key in keys %}dbt_cdc_key_{{ loop.index }}, {% endfor %}dbt_cdc_scd_id, dbt_cdc_now,
        if(dbt_cdc_kind = 'delete', cast(dbt_cdc_now as {{ shape.time_type }}), dbt_cdc_start)
        {%- for name in values %}, null{% endfor %}
    from starts
    where dbt_cdc_kind <> 'insert'
{%- endmacro -%}


{%- macro _conflict(target) -%}
    {%- do return("raise_error(" ~ dbt_cdc._literal(
        "dbt_cdc: " ~ model.unique_id ~ ": another run changed " ~ target ~ " while this one was at work;"
        ~ " nothing was written by this run. Run the snapshot again.") ~ ")") -%}
{%- endmacro -%}

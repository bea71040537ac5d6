{#- Closes and inserts in one statement.

    The merge looks for the open record of each key, not for dbt_scd_id as dbt's own does, and so holds whatever another
    run did since the changes were worked out: a key must have exactly the open record that it had then, or the whole
    statement fails. Two runs at once can't leave two open records of a key. (Where a format can't match
    by key, see snapshot_match.) -#}
{%- macro spark__snapshot_merge_sql(target, source, insert_cols) -%}
    {%- if '_dbt_cdc_shape' not in model -%}
        {%- do return(dbt_cdc._stock('snapshot_merge_sql')(target, source, insert_cols)) -%}
    {%- endif -%}
    {%- set shape = model['_dbt_cdc_shape'] -%}
    {%- if shape.counts.values() | sum == 0 -%}{%- do return("select 'nothing changed' as dbt_cdc") -%}{%- endif -%}
    {%- set columns, options = dbt_cdc._dbt_columns(), dbt_cdc._snapshot_settings() -%}
    {%- set values = dbt_cdc._insert_values(shape) -%}
    {%- set scd_id = dbt_cdc._quote(columns.dbt_scd_id) -%}
    merge into {{ target }} as DBT_INTERNAL_DEST
    {{ dbt_cdc._for_format('snapshot_match', dbt_cdc._format_of(target))(
        dbt_cdc._merge_source(shape, values), shape, scd_id, 'dbt_cdc_column_' ~ ((values.keys() | list).index(columns.dbt_scd_id) + 1)) }}
    when matched then update set
        {{ dbt_cdc._quote(columns.dbt_valid_to) }} = if(dbt_cdc_closes and {{ dbt_cdc._is_open('DBT_INTERNAL_DEST') }},
            dbt_cdc_start, {{ dbt_cdc._conflict(target, shape) }})
        {%- if options.operational_metadata %}{% set names = dbt_cdc._operational_columns() %},
        {{ dbt_cdc._quote(names.update_process_id) }} = {{ dbt_cdc._literal(invocation_id) }},
        {{ dbt_cdc._quote(names.effective_end_timestamp) }} =
            {{ dbt_cdc._effective('dbt_cdc_start', options.effective_timestamp_type) }},
        {{ dbt_cdc._quote(names.update_timestamp) }} = cast(dbt_cdc_now as timestamp_ltz)
        {%- endif %}
    when not matched then insert
        ({{ dbt_cdc._quoted_list(values.keys()) | join(', ') }})
        values (
            {%- for name in values %}
            {{ 'if(dbt_cdc_closes, ' ~ dbt_cdc._conflict(target, shape) ~ ', dbt_cdc_column_' ~ loop.index ~ ')'
                if name == columns.dbt_scd_id else 'dbt_cdc_column_' ~ loop.index }}{{ ',' if not loop.last }}
            {%- endfor %}
        )
{%- endmacro -%}


{%- macro _merge_source(shape, values) -%}
    {#- Two rows for a changed key: one closes its open record, one is inserted. Every column has a name that the target can't have,
        as the key's expressions must find the target's columns alone. -#}
    select
        {{ dbt_cdc._numbered(dbt_cdc._keys(shape.strategy)) | join(', ') }},
        dbt_cdc_scd_id, dbt_cdc_now, dbt_cdc_start, dbt_cdc_closes
        {%- for value in values.values() %},
        if(dbt_cdc_closes, null, {{ value }}) as dbt_cdc_column_{{ loop.index }}
        {%- endfor %}
    from (
        {{ dbt_cdc._snapshot_starts(shape) }}
    ) as starts
    lateral view explode(case dbt_cdc_kind when 'insert' then array(false)
        {%- if shape.strategy.hard_deletes != 'new_record' %} when 'delete' then array(true)
        {%- endif %} else array(true, false) end) as dbt_cdc_closes
{%- endmacro -%}


{%- macro _conflict(target, shape) -%}
    {#- Of two open records of a key, one alone is in the staging if the other is as the source: that they are two shows here first. -#}
    {%- set before = "dbt_cdc: " ~ model.unique_id ~ ": another run changed " ~ target ~ " while this one was at work"
        ~ " (or this statement did, sent again after a lost connection), or key " -%}
    {%- set after = " has several open records there: no row was written by it. Run the snapshot again; if it fails again, close all"
        ~ " but one open record of that key by hand, and of others that have several (the test one_open_record_per_key counts"
        ~ " them)." -%}
    {%- do return('raise_error(concat(' ~ dbt_cdc._literal(before) ~ ', ' ~ dbt_cdc._key_text(shape.strategy) ~ ', '
                  ~ dbt_cdc._literal(after) ~ '))') -%}
{%- endmacro -%}

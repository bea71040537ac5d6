{%- macro _snapshot_changes(strategy, source_sql, source_columns, target_relation, target_columns) -%}
    {#- One row per key that is new (insert), changed (update) or gone (delete): the source's columns, the key, how many
        rows of the source share it, and what is needed of the open record. Keys that rows share, and rows without a key,
        are all here, as `_staging_faults` tells of them. dbt's strategies speak of source_data and snapshotted_data. -#}
    {%- set columns, existing = dbt_cdc._dbt_columns(), dbt_cdc._types_by_name(target_columns) -%}
    {%- set keys = dbt_cdc._key_names(strategy) -%}
    {%- set no_source, no_record = 'source_data.' ~ keys[0] ~ ' is null', 'snapshotted_data.' ~ keys[0] ~ ' is null' -%}
    {%- set new_record = strategy.hard_deletes == 'new_record' -%}
    {%- set has_deletions = dbt_cdc._has_deletion_records(strategy, existing, source_columns | map(attribute='name') | list) -%}
    {%- set is_deleted = "snapshotted_data." ~ dbt_cdc._quote(columns.dbt_is_deleted) ~ " <=> 'True'" -%}
    {#- the source under `--empty` or `--sample` says nothing about what was deleted -#}
    {%- set sees_deletes = strategy.hard_deletes in ('invalidate', 'new_record') and not dbt_cdc._reads_a_part() -%}
    with source_rows as (
        {{ source_sql }}
    ),

    keyed_rows as (
        select *, {{ unique_key_fields(strategy.unique_key) | trim }},
            {{ strategy.updated_at }} as dbt_cdc_updated_at{{ dbt_cdc._stock_source_columns(strategy, columns) }}
        from source_rows
    ),

    source_data as (
        {#- the join below shuffles by the key, too: once for both #}
        select *, count(*) over (partition by {{ keys | join(', ') }}) as dbt_cdc_copies
        from keyed_rows
    ),

    snapshotted_data as (
        select {{ dbt_cdc._snapshotted_columns(strategy, source_columns, target_columns) | join(', ') }},
            {{ unique_key_fields(strategy.unique_key) | trim }}
        from {{ target_relation }}
        where {{ dbt_cdc._is_open() }}
    ),

    compared as (
        select
            {{ dbt_cdc._compared_columns(source_columns, existing, no_source if new_record else none) }},
            {%- for key in keys %}
            coalesce(source_data.{{ key }}, snapshotted_data.{{ key }}) as dbt_cdc_key_{{ loop.index }},
            {%- endfor %}
            case when {{ no_record }} then 'insert' when {{ no_source }} then 'delete' else 'update' end as dbt_cdc_kind,
            snapshotted_data.{{ dbt_cdc._quote(columns.dbt_scd_id) }} as dbt_cdc_scd_id,
            coalesce(snapshotted_data.dbt_cdc_valid_from, null) as dbt_cdc_valid_from
        from source_data
        {{ 'full outer' if sees_deletes else 'left' }} join snapshotted_data
            on {% for key in keys %}{{ ' and ' if not loop.first }}source_data.{{ key }} = snapshotted_data.{{ key }}{% endfor %}
        where {{ no_record }}
            or source_data.dbt_cdc_copies > 1
            or ({{ no_source }}{% if new_record %} and not ({{ is_deleted }}){% endif %})
            {#- a row that is gone differs from its record in every column: that says nothing #}
            or (not {{ no_source }}
                and ({{ dbt_cdc._row_changed(strategy, source_columns, existing) }}{% if has_deletions %} or {{ is_deleted }}{% endif %}))
    )

    select *, {{ snapshot_get_time() }} as dbt_cdc_now, {{ dbt_cdc._scd_id(strategy) | trim }} as dbt_cdc_new_scd_id
    from compared
{%- endmacro -%}


{%- macro _stock_source_columns(strategy, columns) -%}
    {#- dbt's own staging has these beside the source's columns; a custom strategy may compare them. -#}
    {%- set values = {'dbt_updated_at': strategy.updated_at, 'dbt_valid_from': strategy.updated_at,
                      'dbt_scd_id': dbt_cdc._scd_id(strategy)} -%}
    {%- for name, value in values.items() if ('source_data.' ~ columns[name]) in strategy.row_changed -%}
        , {{ value | trim }} as {{ dbt_cdc._quote(columns[name]) }}
    {%- endfor -%}
{%- endmacro -%}


{%- macro _snapshotted_columns(strategy, source_columns, target_columns) -%}
    {#- The open record's columns, but for those that a failed run of stock dbt-spark left with the names of the key's
        parts. dbt's timestamp strategy compares the source's updated_at with dbt_valid_from; a row that came back after a
        delete with its old updated_at begins later than that, and must still be seen to change: there, dbt_valid_from
        stands for dbt_updated_at, unless that is NULL. -#}
    {%- set names, columns = target_columns | map(attribute='name') | list, dbt_cdc._dbt_columns() -%}
    {%- set own, valid_from = columns.dbt_updated_at | lower, columns.dbt_valid_from | lower -%}
    {%- set by_update = dbt_cdc._goes_by_start(strategy) and own in (names | map('lower') | list) -%}
    {%- set selected = [] -%}
    {%- for name in names if name | lower not in dbt_cdc._key_names(strategy) -%}
        {%- set quoted = dbt_cdc._quote(name) -%}
        {%- set swap = by_update and name | lower == valid_from -%}
        {%- set updated = 'coalesce(' ~ dbt_cdc._quote(columns.dbt_updated_at) ~ ', ' ~ quoted ~ ') as ' ~ quoted -%}
        {%- do selected.append(updated if swap else quoted) -%}
    {%- endfor -%}
    {%- if dbt_cdc._goes_by_start(strategy) -%}
        {%- set had_no_time = dbt_cdc._had_no_time(strategy, source_columns, dbt_cdc._types_by_name(target_columns)) -%}
        {%- do selected.append(had_no_time ~ ' as dbt_cdc_had_no_time') -%}
    {%- endif -%}
    {%- do return(selected + [dbt_cdc._quote(columns.dbt_valid_from) ~ ' as dbt_cdc_valid_from']) -%}
{%- endmacro -%}


{%- macro _compared_columns(source_columns, existing, no_source) -%}
    {#- `no_source`: the condition of a deletion that gets a record of its own, with the last known values (hard_deletes: new_record).
        Texts are cast, and times within an expression, so that no column of the staging is a char(n), which Spark pads as it
        reads it and Delta plans no merge from. What a double does not keep is found here: beside a deletion's double it is one itself. -#}
    {%- set selected, lossy = [], [] -%}
    {%- for column in source_columns -%}
        {%- set quoted, given = dbt_cdc._quote(column.name), dbt_cdc._given_value(column, existing) -%}
        {%- set given = 'cast(' ~ given ~ ' as string)' if column.dtype == 'string' else given -%}
        {%- set known = no_source is not none and column.name | lower in existing -%}
        {%- set value = 'if(' ~ no_source ~ ', snapshotted_data.' ~ quoted ~ ', ' ~ given ~ ')' if known else given -%}
        {%- do selected.append(value ~ ' as ' ~ quoted) -%}
        {%- set is_number = dbt_cdc._family_of_type(column.dtype) == 'number' -%}
        {%- if existing.get(column.name | lower) == 'double' and is_number and not dbt_cdc._widens(column.dtype, 'double') -%}
            {%- do lossy.append('not (try_cast(try_cast(' ~ given ~ ' as double) as ' ~ column.dtype ~ ') <=> ' ~ given ~ ') as '
                                ~ dbt_cdc._quote('dbt_cdc_lossy_' ~ column.name)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do selected.extend(lossy) -%}
    {%- do selected.extend(['coalesce(source_data.dbt_cdc_updated_at, null) as dbt_cdc_updated_at', 'source_data.dbt_cdc_copies']) -%}
    {%- do return(selected | join(',\n            ')) -%}
{%- endmacro -%}

{#- From the changes of a run to the records that it writes. -#}

{%- macro _staging_shape(staging, strategy, target_relation, given, existing) -%}
    {#- What is known of the changes, for the merge and what follows it: the table that they are in, the source's columns in order,
        by lower-case name `source_types` as that table has them and `given_types` as the source has, the type of updated_at, the end
        of a record as SQL; later also `counts` of inserts, updates and deletes, `inserted_since`, whether `any_returning` key was
        found, and that dbt's view of them was left out (`viewed`: false). `given`: the source's columns; one without a type has none
        still where the snapshot's table has none for it. -#}
    {%- set format, names, types = dbt_cdc._format_of(target_relation), [], dbt_cdc._types_by_name(dbt_cdc._whole_columns(staging)) -%}
    {%- for column in given if not dbt_cdc._is_kept_by(format, column.name) -%}
        {%- do names.append(column.name) -%}
        {%- if dbt_cdc._is_untyped(column.dtype) and dbt_cdc._is_untyped(existing.get(column.name | lower, 'void')) -%}
            {%- do types.update({column.name | lower: column.dtype}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return({
        'strategy': strategy,
        'staging': staging,
        'target': target_relation,
        'source_columns': names,
        'source_types': types,
        'given_types': dbt_cdc._types_by_name(given),
        'time_type': types.dbt_cdc_updated_at,
        'end_of_record': dbt_cdc._end_of_record(existing),
        'any_returning': false,
    }) -%}
{%- endmacro -%}


{%- macro _snapshot_starts(shape) -%}
    {#- The changes with the time at which each new record starts. It is the strategy's updated_at, unless that lies
        within what is known of the key (a deleted row that returns with its old updated_at, a change without a newer
        one) or is NULL: then the snapshot's own time, so that versions never overlap and always end. Such a record needs
        a dbt_scd_id of its own too, as dbt's is made of key and updated_at. Where the source's clock is ahead of the
        run's, what is known of the key ends later than now. -#}
    {%- set returning = shape.any_returning -%}
    {%- set known = ['dbt_cdc_valid_from'] + (['dbt_cdc_last_end'] if returning else []) %}
    select *, if(dbt_cdc_kind = 'delete' or dbt_cdc_is_late, {{ dbt_cdc._run_time(shape.time_type, known) }}, dbt_cdc_updated_at)
            as dbt_cdc_start
    from (
        select changes.*,{{ ' dbt_cdc_last_end,' if returning }}
            coalesce(dbt_cdc_kind <> 'delete' and (dbt_cdc_updated_at is null or dbt_cdc_updated_at <= dbt_cdc_valid_from
                {{- ' or dbt_cdc_updated_at <= dbt_cdc_last_end' if returning }}), false) as dbt_cdc_is_late
        from {{ shape.staging }} as changes
        {%- if returning %}
        left join ({{ dbt_cdc._returning_keys(shape) }}) as returning
            on changes.dbt_cdc_kind = 'insert'
                and {{ dbt_cdc._same_numbered(dbt_cdc._keys(shape.strategy), 'changes.dbt_cdc_key_', 'returning.dbt_cdc_returning_key_') }}
        {%- endif %}
    ) as known
{%- endmacro -%}


{%- macro _or_shown_twice(shape) -%}
    {#- dbt's dbt_scd_id is made of what the session's clock shows of an instant: where clocks go back, an hour's second time is
        shown as its first, and another session's zone may show the open record's instant as this one. -#}
    {%- if shape.time_type != 'timestamp' -%}{%- do return('') -%}{%- endif -%}
    {%- do return(' or cast(cast(dbt_cdc_updated_at as timestamp_ntz) as timestamp_ltz) <> dbt_cdc_updated_at'
                  ~ ' or dbt_cdc_new_scd_id = dbt_cdc_scd_id') -%}
{%- endmacro -%}


{%- macro _run_time(type, known) -%}
    {#- The snapshot's own time in the type of updated_at (in UTC, whatever the session's zone, where that has no zone), or
        that of the known times which lies beyond it. -#}
    {%- if not dbt_cdc._may_be_time(type) -%}
        {%- do return('cast(raise_error(' ~ dbt_cdc._literal(
            "dbt_cdc: " ~ model.unique_id ~ ": a row was deleted, has returned or has no newer updated_at, so that the time of the"
            ~ " run is needed, but updated_at is of type " ~ type ~ ", expected a date or timestamp: convert it, in the snapshot's"
            ~ " query and in the columns of its table; no row was written by this run") ~ ') as ' ~ type ~ ')') -%}
    {%- endif -%}
    {%- set now = 'dbt_cdc_now' if type == 'timestamp' else dbt_cdc._effective('dbt_cdc_now', 'timestamp_ntz') -%}
    {%- set time = namespace(sql='cast(' ~ now ~ ' as ' ~ dbt_cdc._type_text(type) ~ ')') -%}
    {%- for moment in known -%}
        {%- set time.sql = 'if(coalesce(' ~ dbt_cdc._instant(moment) ~ ' > dbt_cdc_now, false), cast(' ~ moment ~ ' as '
            ~ dbt_cdc._type_text(type) ~ '), ' ~ time.sql ~ ')' -%}
    {%- endfor -%}
    {%- do return(time.sql) -%}
{%- endmacro -%}


{%- macro _returning_keys(shape) -%}
    {#- The keys without an open record that have been there before, with the end of their last version, which is its start
        where stock dbt closed it by a clock behind the source's. One that ended before any of the new records starts says nothing. -#}
    {%- set keys, columns = dbt_cdc._keys(shape.strategy), dbt_cdc._dbt_columns() -%}
    {%- set named, start = dbt_cdc._numbered(keys, 'dbt_cdc_returning_key_') | join(', '), dbt_cdc._quote(columns.dbt_valid_from) -%}
    {%- set since = 'cast(' ~ dbt_cdc._literal(shape.inserted_since) ~ ' as ' ~ dbt_cdc._type_text(shape.time_type) ~ ')' -%}
    select {{ named }}, max(dbt_cdc_end) as dbt_cdc_last_end
    from (
        select {{ dbt_cdc._numbered_keys(keys, 'dbt_cdc_returning_key_') }},
            greatest({{ start }}, {{ shape.end_of_record }}) as dbt_cdc_end
        from {{ shape.target }}
        where not ({{ dbt_cdc._is_open() }})
        {%- if shape.inserted_since is not none %}
            and ({{ start }} >= {{ since }} or {{ shape.end_of_record }} >= {{ since }})
        {%- endif %}
    ) as closed
    left semi join (select * from {{ shape.staging }} where dbt_cdc_kind = 'insert') as inserted
        on {{ dbt_cdc._same_numbered(keys, 'dbt_cdc_key_', 'dbt_cdc_returning_key_') }}
    group by {{ named }}
{%- endmacro -%}


{%- macro _insert_values(shape) -%}
    {#- Column of the snapshot -> SQL over _snapshot_starts. -#}
    {%- set columns, options = dbt_cdc._dbt_columns(), dbt_cdc._snapshot_settings() -%}
    {%- set values = {} -%}
    {%- for name in shape.source_columns -%}
        {%- do values.update({name: 'null' if shape.source_types[name | lower] == 'void' else dbt_cdc._quote(name)}) -%}
    {%- endfor -%}
    {%- set scd_id -%}
        case when dbt_cdc_kind = 'delete' then {{ snapshot_hash_arguments(['dbt_cdc_scd_id', 'dbt_cdc_now']) | trim }}
            when dbt_cdc_is_late{{ dbt_cdc._or_shown_twice(shape) }}
                then {{ snapshot_hash_arguments(['dbt_cdc_new_scd_id', 'dbt_cdc_now']) | trim }}
            else dbt_cdc_new_scd_id end
    {%- endset -%}
    {%- do values.update({
        columns.dbt_scd_id: scd_id,
        columns.dbt_updated_at: "if(dbt_cdc_kind = 'delete', dbt_cdc_start, dbt_cdc_updated_at)",
        columns.dbt_valid_from: 'dbt_cdc_start',
        columns.dbt_valid_to: 'coalesce(nullif(dbt_cdc_start, dbt_cdc_start), ' ~ (config.get('dbt_valid_to_current') or 'null') ~ ')',
    }) -%}
    {%- if shape.strategy.hard_deletes == 'new_record' -%}
        {%- do values.update({columns.dbt_is_deleted: "if(dbt_cdc_kind = 'delete', 'True', 'False')"}) -%}
    {%- endif -%}
    {%- if options.operational_metadata -%}
        {%- do values.update(dbt_cdc._open_values('dbt_cdc_start', 'dbt_cdc_now', options.effective_timestamp_type)) -%}
    {%- endif -%}
    {%- do return(values) -%}
{%- endmacro -%}

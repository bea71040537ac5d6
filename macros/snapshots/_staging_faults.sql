{%- macro _staging_faults(shape, options, existing) -%}
    {#- What only the comparison shows: keys that are not there or not unique, in the source and among the open records, and
        too many records to close. Leaves the counts in `shape`, and the least updated_at of new keys, if each has one. -#}
    {%- set strategy, target_relation = shape.strategy, shape.target -%}
    {%- set keys = dbt_cdc._numbered(dbt_cdc._keys(strategy)) -%}
    {%- set has_key = keys | join(' is not null and ') ~ ' is not null' -%}
    {%- set found -%}
        select coalesce(sum(inserted), 0) as inserted, coalesce(sum(updated), 0) as updated,
            coalesce(sum(deleted), 0) as deleted,
            if(sum(inserted_any_time) = 0, cast(min(inserted_since) as string), null) as inserted_since,
            coalesce(sum(if(has_key, 0, rows - supplied)), 0) as open_without_key,
            count_if(has_key and rows > 1 and coalesce(copies, 1) = 1) as several_open,
            coalesce(sum(if(has_key, 0, supplied)), 0) as without_key,
            count_if(has_key and copies > 1) as repeated
        from (
            select count(*) as rows, {{ has_key }} as has_key,
                count_if(dbt_cdc_kind = 'insert') as inserted,
                min(if(dbt_cdc_kind = 'insert', dbt_cdc_updated_at, null)) as inserted_since,
                count_if(dbt_cdc_kind = 'insert' and dbt_cdc_updated_at is null) as inserted_any_time,
                count_if(dbt_cdc_kind = 'update') as updated,
                count_if(dbt_cdc_kind = 'delete') as deleted,
                count(dbt_cdc_copies) as supplied,
                max(dbt_cdc_copies) as copies
            from {{ shape.staging }}
            group by {{ keys | join(', ') }}
        ) as changed_keys
    {%- endset -%}
    {%- set counts = run_query(found).rows[0] -%}
    {#- texts do not sort as the times that they are compared with -#}
    {%- set is_alike = existing.get(dbt_cdc._dbt_columns().dbt_valid_from | lower) == shape.time_type -%}
    {%- do shape.update(inserted_since=counts['inserted_since'] if is_alike else none, counts={
        'insert': counts['inserted'] | int, 'update': counts['updated'] | int, 'delete': counts['deleted'] | int}) -%}
    {#- the rows as they were when they were compared -#}
    {%- set repeated_rows = 'select * from ' ~ shape.staging ~ ' where dbt_cdc_copies > 1' -%}
    {%- set faults = dbt_cdc._source_key_faults(
        dbt_cdc._keys(strategy), repeated_rows, counts['without_key'] | int, counts['repeated'] | int, 'max(dbt_cdc_copies)') -%}
    {%- if counts['several_open'] | int > 0 -%}
        {%- do faults.append(counts['several_open'] ~ " key(s) have several open records in " ~ target_relation ~ ", such as "
            ~ dbt_cdc._several_open_keys(shape) ~ ": close all but one of each by hand, then run again") -%}
    {%- endif -%}
    {%- if counts['open_without_key'] | int > 0 -%}
        {%- do faults.append(counts['open_without_key'] ~ " open record(s) in " ~ target_relation ~ " have NULL in unique_key "
            ~ (dbt_cdc._keys(strategy) | join(', ')) ~ ", so that no row of the source can be theirs: close or delete them"
            ~ " by hand, then run again" ~ ("; the records of deletions that stock dbt-spark has left so can be filled in: switch"
            ~ " operational_metadata on, and run adopt_operational_metadata"
            if dbt_cdc._dbt_columns().dbt_is_deleted | lower in existing else '')) -%}
    {%- endif -%}
    {%- if options.max_delete_fraction is not none and shape.counts['delete'] > 0 -%}
        {%- do faults.extend(dbt_cdc._delete_guard_faults(shape, options, existing)) -%}
    {%- endif -%}
    {%- if options.operational_metadata and shape.time_type == 'string' -%}
        {%- do faults.extend(dbt_cdc._updated_at_faults(
            strategy, '(select * from ' ~ shape.staging ~ " where dbt_cdc_kind <> 'delete') as changes")) -%}
    {%- endif -%}
    {#- with operational columns this was asked already, of all records that no run has closed -#}
    {%- if shape.counts['insert'] > 0 and not options.operational_metadata -%}
        {%- do faults.extend(dbt_cdc._old_open_end_faults(shape, existing)) -%}
    {%- endif -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _several_open_keys(shape) -%}
    {%- set keys = dbt_cdc._numbered(dbt_cdc._keys(shape.strategy)) -%}
    {%- set found -%}
        select {{ dbt_cdc._key_text(shape.strategy) }} as several_open
        from {{ shape.staging }}
        where {{ keys | join(' is not null and ') }} is not null
        group by {{ keys | join(', ') }}
        having count(*) > 1 and coalesce(max(dbt_cdc_copies), 1) = 1
        order by several_open
        limit 5
    {%- endset -%}
    {%- do return(run_query(found).columns[0].values() | join('; ')) -%}
{%- endmacro -%}


{%- macro _delete_guard_faults(shape, options, existing) -%}
    {#- Records of deletions are none of the live ones, also where another option closes them by now. -#}
    {%- set name, deleted = dbt_cdc._dbt_columns().dbt_is_deleted, shape.counts['delete'] -%}
    {%- set is_deletion = dbt_cdc._is_open() ~ ' and ' ~ dbt_cdc._quote(name) ~ " <=> 'True'" -%}
    {%- set has_deletions = dbt_cdc._has_deletion_records(shape.strategy, existing, shape.source_columns) -%}
    {%- set live -%}
        select count(*) from {{ shape.target }}
        where {{ dbt_cdc._is_open() }}
        {%- if has_deletions %}
            and not ({{ is_deletion }})
        {%- endif %}
    {%- endset -%}
    {%- if has_deletions and shape.strategy.hard_deletes != 'new_record' -%}
        {%- set gone -%}
        select count(*)
        from (select * from {{ shape.staging }} where dbt_cdc_kind = 'delete') as gone
        left anti join (
            select {{ dbt_cdc._quote(dbt_cdc._dbt_columns().dbt_scd_id) }} as dbt_cdc_deletion
            from {{ shape.target }}
            where {{ is_deletion }}
        ) as deletions
            on gone.dbt_cdc_scd_id = deletions.dbt_cdc_deletion
        {%- endset -%}
        {%- set deleted = run_query(gone).rows[0][0] | int -%}
    {%- endif -%}
    {%- set live_rows = run_query(live).rows[0][0] | int -%}
    {%- if not deleted or live_rows and deleted / live_rows <= options.max_delete_fraction -%}{%- do return([]) -%}{%- endif -%}
    {%- do return([
        "this run would close " ~ deleted ~ " of " ~ live_rows ~ " live records because the source no longer has them ("
        ~ ((deleted / [live_rows, 1] | max) | round(3)) ~ "), more than 'max_delete_fraction' allows (" ~ options.max_delete_fraction
        ~ "); check the source, or raise the option for this run"]) -%}
{%- endmacro -%}

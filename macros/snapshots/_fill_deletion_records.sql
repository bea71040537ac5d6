{#- What stock dbt-spark leaves of `hard_deletes: new_record`: records of deletions with NULL in every column of the source, the
    key among them, which stay open for good. Which record each one follows can be told from its dbt_scd_id, made of that
    record's own and of the time at which it was closed. So they get that record's values, and end where their key returned. -#}

{%- macro _fill_deletion_records(target, existing) -%}
    {#- Gives how many are left. -#}
    {%- set columns = dbt_cdc._dbt_columns() -%}
    {%- if columns.dbt_is_deleted | lower not in existing -%}{%- do return(0) -%}{%- endif -%}
    {%- set given = dbt_cdc._given_columns(target, columns) -%}
    {%- set no_key = dbt_cdc._null_keys(dbt_cdc._keys(model.config)) -%}
    {#- a key may be an expression that is never NULL, and the table have columns of its owner's -#}
    {%- set empty = 'cast(' ~ dbt_cdc._quote(columns.dbt_is_deleted) ~ " as string) = 'True' and (" ~ no_key | join(' and ') ~ ' or '
                    ~ given | join(' is null and ') ~ ' is null)' -%}
    {%- set left = 'select count(*) from ' ~ target ~ ' where ' ~ empty -%}
    {%- if run_query(left)[0][0] > 0 -%}
        {%- do run_query(dbt_cdc._deletion_records_merge(target, columns, dbt_cdc._keys(model.config), given, empty)) -%}
        {%- do return(run_query(left)[0][0]) -%}
    {%- endif -%}
    {%- do return(0) -%}
{%- endmacro -%}


{%- macro _warn_of_deletion_records(target, count) -%}
    {%- if count -%}
        {%- do exceptions.warn("dbt_cdc: " ~ count ~ " record(s) of deletions in " ~ target ~ " have no values, and it can't be told whose"
            ~ " they are: dbt made their dbt_scd_id in a session of another time zone (adopt in one of that zone), or their times"
            ~ " are dates. Close or delete them by hand") -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _given_columns(target, columns) -%}
    {#- Those of a snapshot's table that its source has given. -#}
    {%- set own, given = (columns.values() | list) + (dbt_cdc._operational_columns().values() | list), [] -%}
    {%- for column in adapter.get_columns_in_relation(target)
        if column.name | lower not in own | map('lower') | list and not (column.name | lower).startswith('dbt_unique_key') -%}
        {%- do given.append(dbt_cdc._quote(column.name)) -%}
    {%- endfor -%}
    {%- do return(given) -%}
{%- endmacro -%}


{%- macro _deletion_records_merge(target, columns, keys, given, empty) -%}
    {#- The source's column has the name of the target's, as Hudi merges by such columns alone. -#}
    {%- set scd_id, valid_to = dbt_cdc._quote(columns.dbt_scd_id), dbt_cdc._quote(columns.dbt_valid_to) -%}
    {%- set valid_from = dbt_cdc._quote(columns.dbt_valid_from) -%}
    merge into {{ target }} as DBT_INTERNAL_DEST
    using (
        with records as (
            select *, {{ dbt_cdc._numbered_keys(keys) }}
            from {{ target }}
        ),

        deletions as (
            select {{ scd_id }} as dbt_cdc_scd_id, {{ valid_from }} as dbt_cdc_start
            from records
            where {{ empty }}
        ),

        followed as (
            select records.*, deletions.*
            from deletions
            inner join records
                on deletions.dbt_cdc_scd_id = {{ snapshot_hash_arguments(['records.' ~ scd_id, 'records.' ~ valid_to]) | trim }}
                    and deletions.dbt_cdc_start = records.{{ valid_to }}
        )

        select followed.dbt_cdc_scd_id as {{ scd_id }}, max(followed.dbt_cdc_start) as dbt_cdc_start,
               min(later.{{ valid_from }}) as dbt_cdc_return,
            any_value(struct({% for name in given %}followed.{{ name }}{{ ', ' if not loop.last }}{% endfor %})) as dbt_cdc_given
        from followed
        left join records as later
            on {{ dbt_cdc._same_numbered(keys, 'later.dbt_cdc_key_', 'followed.dbt_cdc_key_') }}
                and later.{{ valid_from }} > followed.{{ valid_from }}
        group by followed.dbt_cdc_scd_id
    ) as DBT_INTERNAL_SOURCE
    on DBT_INTERNAL_DEST.{{ scd_id }} = DBT_INTERNAL_SOURCE.{{ scd_id }}
    when matched then update set
        {%- for name in given %}
        {{ name }} = dbt_cdc_given.{{ name }},
        {%- endfor %}
        {{ valid_to }} = if(dbt_cdc_return is null, DBT_INTERNAL_DEST.{{ valid_to }}, greatest(dbt_cdc_start, dbt_cdc_return))
{%- endmacro -%}

{#- Records whose dbt_valid_to, years ahead, is not what stands in open ones: they were open when `dbt_valid_to_current` was another, or
    in a session of another time zone. Taken for closed, their rows would be inserted again. -#}

{%- macro _open_end_faults(target, existing) -%}
    {#- Of all records that no run is known to have closed. -#}
    {%- set closed_by = dbt_cdc._operational_columns().update_process_id -%}
    {%- set not_closed = dbt_cdc._quote(closed_by) ~ ' is null' if closed_by | lower in existing else 'true' -%}
    {%- do return(dbt_cdc._far_end_faults(target, dbt_cdc._keys(model.config), existing, not_closed)) -%}
{%- endmacro -%}


{%- macro _old_open_end_faults(shape, existing) -%}
    {#- Of new keys. Stock dbt finds their dbt_scd_id there; we would give the row a new one. -#}
    {%- do return(dbt_cdc._far_end_faults(shape.target, dbt_cdc._keys(shape.strategy), existing, 'true', shape.staging)) -%}
{%- endmacro -%}


{%- macro _far_end_faults(target, keys, existing, condition, staging=none) -%}
    {#- `staging`: among the records of the keys that are new there. -#}
    {%- if not dbt_cdc._may_be_time(existing[dbt_cdc._dbt_columns().dbt_valid_to | lower]) -%}{%- do return([]) -%}{%- endif -%}
    {%- set query = dbt_cdc._far_end_query(target, keys, condition, staging) -%}
    {#- whether a later record follows is asked only where there is such an end at all -#}
    {%- if run_query(query)[0][0] is none -%}{%- do return([]) -%}{%- endif -%}
    {%- set end = run_query(query ~ dbt_cdc._without_later(keys))[0][0] -%}
    {%- do return([] if end is none else [dbt_cdc._open_end_fault(target, end)]) -%}
{%- endmacro -%}


{%- macro _far_end_query(target, keys, condition, staging) -%}
    {%- set columns, soon = dbt_cdc._dbt_columns(), 'current_timestamp() + interval 1 year' -%}
    {%- set named = dbt_cdc._numbered_keys(keys, 'dbt_cdc_ended_key_') -%}
    {%- set valid_from, valid_to = dbt_cdc._quote(columns.dbt_valid_from), dbt_cdc._quote(columns.dbt_valid_to) -%}
        with far as (
            select {{ named }}, {{ valid_to }} as dbt_cdc_end
            from {{ target }}
            where not coalesce({{ dbt_cdc._is_open() }}, false) and try_cast({{ valid_to }} as timestamp_ltz) > {{ soon }}
                and {{ condition }}
        ),

        later as (
            select {{ named }}
            from {{ target }}
            where try_cast({{ valid_from }} as timestamp_ltz) > {{ soon }}
        )

        select cast(max(dbt_cdc_end) as string)
        from far
        {%- if staging is not none %}
        left semi join (select * from {{ staging }} where dbt_cdc_kind = 'insert') as inserted
            on {{ dbt_cdc._same_numbered(keys, 'dbt_cdc_key_', 'far.dbt_cdc_ended_key_') }}
        {%- endif %}
{%- endmacro -%}


{%- macro _without_later(keys) %}
        left anti join later
            on {{ dbt_cdc._same_numbered(keys, 'later.dbt_cdc_ended_key_', 'far.dbt_cdc_ended_key_') }}
{%- endmacro -%}


{%- macro _open_end_fault(target, end) -%}
    {%- set current, valid_to = model.config.get('dbt_valid_to_current'), dbt_cdc._quote(dbt_cdc._dbt_columns().dbt_valid_to) -%}
    {%- do return(target ~ " has open records with the end " ~ end ~ ", but 'dbt_valid_to_current' is "
        ~ (current ~ ", another time in this session" if current else 'not set') ~ ": set the option, or the session's time zone,"
        ~ " back, or give those records the new end by hand (update " ~ target ~ " set " ~ valid_to ~ " = ...)") -%}
{%- endmacro -%}

{#- Events that the ledger may forget: tombstones after their retention, under SCD 1 what can no longer matter. -#}
{%- macro _apply_is_partial(kept) -%}
    {#- Whether an event may leave columns as they were, so that older events still count. -#}
    {%- do return(kept['dbt_cdc.columns_to_update'] != 'null' or kept['dbt_cdc.ignore_null_updates'] == 'true'
                  or kept['dbt_cdc.ignore_null_updates_column_list'] != 'null'
                  or kept['dbt_cdc.ignore_null_updates_except_column_list'] != 'null') -%}
{%- endmacro -%}


{%- macro _apply_forgotten_scd2(ledger, key, retention) -%}
    {#- An old delete that ends no version: nothing before it, or another delete. Upserts of its own sequence, which it
        outdid, go with it. The last one of a key goes once all are old, as under SCD 1. -#}
{%- set keys = dbt_cdc._quoted_list(key) | join(', ') -%}
with old as (
    select distinct {{ keys }}
    from {{ ledger }}
    where _dbt_cdc_kind = 'delete' and _dbt_cdc_processed_at <= current_timestamp() - interval {{ retention }}
),

moments as (
    select
        {{ keys }}, _dbt_cdc_sequence,
        bool_or(_dbt_cdc_kind = 'delete') as _dbt_cdc_deleted,
        max(_dbt_cdc_processed_at) as _dbt_cdc_last_processed_at
    from {{ ledger }} as recorded
    left semi join old on {{ dbt_cdc._same(key, 'recorded', 'old') }}
    where _dbt_cdc_kind in ('upsert', 'delete')
    group by {{ keys }}, _dbt_cdc_sequence
),

idle as (
    select
        *,
        coalesce(lag(_dbt_cdc_deleted) over (partition by {{ keys }} order by _dbt_cdc_sequence), true) as _dbt_cdc_after_nothing,
        max(if(_dbt_cdc_deleted, _dbt_cdc_sequence, null)) over (partition by {{ keys }}) as _dbt_cdc_last_delete,
        max(if(_dbt_cdc_deleted, _dbt_cdc_last_processed_at, null)) over (partition by {{ keys }}) as _dbt_cdc_deleted_at
    from moments
)

select distinct {{ dbt_cdc._quoted_list(key, 'recorded') | join(', ') }},
       recorded._dbt_cdc_sequence, recorded._dbt_cdc_kind, recorded._dbt_cdc_hash
from {{ ledger }} as recorded
inner join idle on {{ dbt_cdc._same(key + ['_dbt_cdc_sequence'], 'recorded', 'idle') }}
where
    recorded._dbt_cdc_kind in ('upsert', 'delete')
    and idle._dbt_cdc_deleted and idle._dbt_cdc_after_nothing
    and if(idle._dbt_cdc_sequence = idle._dbt_cdc_last_delete, idle._dbt_cdc_deleted_at, idle._dbt_cdc_last_processed_at)
        <= current_timestamp() - interval {{ retention }}
{%- endmacro -%}


{%- macro _apply_forgotten_scd1(ledger, key, retention, partial, purged_until) -%}
    {#- What a truncate has outdone, upserts that a delete has, deletes that are old, the last one of a key once all are, and, where every
        event sets all columns, whatever a later upsert that is live has. Of a key without an old delete no more can be forgotten than the
        last purge did, unless it has an event that was recorded since. -#}
{%- set keys = dbt_cdc._quoted_list(key) | join(', ') -%}
with {% if purged_until is not none -%}
due as (
    select distinct {{ keys }}
    from {{ ledger }}
    where
        (_dbt_cdc_kind in ('upsert', 'delete') and _dbt_cdc_processed_at > timestamp '{{ purged_until }}')
        or (_dbt_cdc_kind = 'delete' and _dbt_cdc_processed_at <= current_timestamp() - interval {{ retention }})
),

{% endif -%}
events as (
    select
        {{ keys }}, _dbt_cdc_sequence, _dbt_cdc_kind, _dbt_cdc_hash, _dbt_cdc_processed_at,
        max(if(_dbt_cdc_kind = 'delete', _dbt_cdc_sequence, null)) over (partition by {{ keys }}) as _dbt_cdc_last_delete,
        max(if(_dbt_cdc_kind = 'upsert', _dbt_cdc_sequence, null)) over (partition by {{ keys }}) as _dbt_cdc_last_upsert,
        max(if(_dbt_cdc_kind = 'delete', _dbt_cdc_processed_at, null)) over (partition by {{ keys }}) as _dbt_cdc_deleted_at
    from {{ ledger }}{% if purged_until is not none %} as recorded
    left semi join due on {{ dbt_cdc._same(key, 'recorded', 'due') }}{% endif %}
    where _dbt_cdc_kind in ('upsert', 'delete')
),

last_truncate as (
    select max(_dbt_cdc_sequence) as _dbt_cdc_truncated from {{ ledger }} where _dbt_cdc_kind = 'truncate'
)

select distinct {{ keys }}, _dbt_cdc_sequence, _dbt_cdc_kind, _dbt_cdc_hash
from events
{#- joined, as Delta's MERGE refuses a subquery in its source's conditions #}
cross join last_truncate
where
    coalesce(_dbt_cdc_sequence <= _dbt_cdc_truncated, false)
    or (_dbt_cdc_kind = 'upsert' and coalesce(_dbt_cdc_sequence <= _dbt_cdc_last_delete, false))
    or (_dbt_cdc_kind = 'delete'
        and if(_dbt_cdc_sequence = _dbt_cdc_last_delete, _dbt_cdc_deleted_at, _dbt_cdc_processed_at)
            <= current_timestamp() - interval {{ retention }})
    {%- if not partial %}
    or coalesce(_dbt_cdc_sequence < _dbt_cdc_last_upsert, false) and coalesce(_dbt_cdc_last_upsert > _dbt_cdc_last_delete, true)
    {%- endif %}
{%- endmacro -%}

{#- What the ledger may forget: tombstones after their retention, under SCD 1 what can no longer matter, and that old batches are
    done. -#}
{%- macro _apply_purge_obstacle(kept, markers) -%}
    {#- Why nothing may be forgotten now, or none. `kept`: what the ledger remembers about itself; `markers`: as they are. In a
        bitemporal table a delete stays what was known; rows of a batch that {{ this }} does not show yet say which keys it
        touched. -#}
    {%- if kept['dbt_cdc.stored_as_scd_type'] == 'bitemporal' -%}{%- do return('a bitemporal table forgets nothing') -%}{%- endif -%}
    {%- if markers.pending -%}
        {%- do return('a run that was killed or is still at work has recorded events that the table does not show yet: run the'
                      ~ ' model first') -%}
    {%- endif -%}
    {%- do return(none) -%}
{%- endmacro -%}


{%- macro _apply_purge(ledger, format, kept, retention, batch, before) -%}
    {#- `before`: the markers by which nothing held the purge back. Purging twice, or being killed in it, does no harm. A run that
        reckons with what is forgotten here either is seen to record its events, or sees the marker, which comes with the same
        commit, and looks again. -#}
    {%- set key = fromjson(kept['dbt_cdc.unique_key']) -%}
    {%- set span, own = dbt_cdc._apply_span(retention), dbt_cdc._literal(batch if kept['dbt_cdc.source_kind'] == 'feed' else none) -%}
    {%- set query -%}
merge into {{ ledger }} as recorded
using (
    {% if kept['dbt_cdc.stored_as_scd_type'] == '1' -%}
    {{ dbt_cdc._apply_forgotten_scd1(ledger, key, span, dbt_cdc._apply_is_partial(kept)) }}
    {%- else -%}
    {{ dbt_cdc._apply_forgotten_scd2(ledger, key, span) }}
    {%- endif %}
    union all
    select {% for _ in key %}null, {% endfor %}null, 'purged', null
) as forgotten
on recorded._dbt_cdc_kind in ('upsert', 'delete')
    and {{ dbt_cdc._apply_same(key + ['_dbt_cdc_sequence', '_dbt_cdc_kind', '_dbt_cdc_hash'], 'recorded', 'forgotten') }}
when matched then delete
when not matched and forgotten._dbt_cdc_kind = 'purged' then insert (_dbt_cdc_kind, _dbt_cdc_batch, _dbt_cdc_processed_at)
    values ('purged', cast({{ own }} as string), current_timestamp())
    {%- endset -%}
    {%- do dbt_cdc._apply_execute(query) -%}
    {%- if dbt_cdc._apply_markers(ledger, format, batch).signature != before.signature -%}
        {#- what another run has recorded meanwhile it has shown by what is forgotten now -#}
        {%- do dbt_cdc._apply_append_markers(ledger, 'begun', [dbt_cdc._apply_all_keys_batch('purged-' ~ batch)]) -%}
    {%- endif -%}
    {%- if kept['dbt_cdc.source_kind'] == 'feed' -%}
        {%- do dbt_cdc._apply_execute(dbt_cdc._apply_forget_markers(ledger)) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _apply_forget_markers(ledger) -%}
    {#- Those of batches that are done and of purges, in files of their own, which each run reads; a purge older than a day says no more
        than none. (Of images they remember the versions.) A batch may be pending whose run has purged. -#}
merge into {{ ledger }} as recorded
using (
    select distinct _dbt_cdc_batch, _dbt_cdc_kind = 'purged' as _dbt_cdc_is_purge
    from {{ ledger }}
    where _dbt_cdc_kind in ('applied', 'purged') and _dbt_cdc_processed_at <= current_timestamp() - interval 1 day
) as done
on recorded._dbt_cdc_kind in ('begun', 'applied', 'purged')
    and recorded._dbt_cdc_batch = done._dbt_cdc_batch
    and (recorded._dbt_cdc_kind = 'purged') = done._dbt_cdc_is_purge
when matched then delete
{%- endmacro -%}


{%- macro _apply_is_partial(kept) -%}
    {#- Whether an event may leave columns as they were, so that older events still count. -#}
    {%- do return(kept['dbt_cdc.columns_to_update'] != 'null' or kept['dbt_cdc.ignore_null_updates'] == 'true'
                  or kept['dbt_cdc.ignore_null_updates_column_list'] != 'null'
                  or kept['dbt_cdc.ignore_null_updates_except_column_list'] != 'null') -%}
{%- endmacro -%}


{%- macro _apply_forgotten_scd2(ledger, key, retention) -%}
    {#- An old delete that ends no version: nothing before it, or another delete. Upserts of its own sequence, which it
        outdid, go with it. -#}
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
    left semi join old on {{ dbt_cdc._apply_same(key, 'recorded', 'old') }}
    where _dbt_cdc_kind in ('upsert', 'delete')
    group by {{ keys }}, _dbt_cdc_sequence
),

idle as (
    select *, coalesce(lag(_dbt_cdc_deleted) over (partition by {{ keys }} order by _dbt_cdc_sequence), true) as _dbt_cdc_after_nothing
    from moments
)

select distinct {{ dbt_cdc._quoted_list(key, 'recorded') | join(', ') }},
       recorded._dbt_cdc_sequence, recorded._dbt_cdc_kind, recorded._dbt_cdc_hash
from {{ ledger }} as recorded
inner join idle on {{ dbt_cdc._apply_same(key + ['_dbt_cdc_sequence'], 'recorded', 'idle') }}
where
    recorded._dbt_cdc_kind in ('upsert', 'delete')
    and idle._dbt_cdc_deleted and idle._dbt_cdc_after_nothing
    and idle._dbt_cdc_last_processed_at <= current_timestamp() - interval {{ retention }}
{%- endmacro -%}


{%- macro _apply_forgotten_scd1(ledger, key, retention, partial) -%}
    {#- What a truncate or a later delete has outdone, a delete that is old, and, where every event sets all columns, whatever
        has a later event. -#}
{%- set keys = dbt_cdc._quoted_list(key) | join(', ') -%}
with events as (
    select
        {{ keys }}, _dbt_cdc_sequence, _dbt_cdc_kind, _dbt_cdc_hash, _dbt_cdc_processed_at,
        max(if(_dbt_cdc_kind = 'delete', _dbt_cdc_sequence, null)) over (partition by {{ keys }}) as _dbt_cdc_last_delete,
        max(_dbt_cdc_sequence) over (partition by {{ keys }}) as _dbt_cdc_last_event,
        max(if(_dbt_cdc_kind = 'delete', _dbt_cdc_processed_at, null)) over (partition by {{ keys }}) as _dbt_cdc_deleted_at
    from {{ ledger }}
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
    or (_dbt_cdc_kind = 'delete' and (
        _dbt_cdc_sequence < _dbt_cdc_last_delete or _dbt_cdc_deleted_at <= current_timestamp() - interval {{ retention }}
    ))
    {%- if not partial %}
    or _dbt_cdc_sequence < _dbt_cdc_last_event
    {%- endif %}
{%- endmacro -%}

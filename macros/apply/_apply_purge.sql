{#- The ledger forgets: events (_apply_forgotten.sql says which), and that old batches are done. -#}
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
    {{ dbt_cdc._apply_forgotten_scd1(ledger, key, span, dbt_cdc._apply_is_partial(kept), before.purged_until) }}
    {%- else -%}
    {{ dbt_cdc._apply_forgotten_scd2(ledger, key, span) }}
    {%- endif %}
    union all
    select {% for _ in key %}null, {% endfor %}null, 'purged', null
) as forgotten
on recorded._dbt_cdc_kind in ('upsert', 'delete')
    and {{ dbt_cdc._same(key + ['_dbt_cdc_sequence', '_dbt_cdc_kind', '_dbt_cdc_hash'], 'recorded', 'forgotten') }}
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

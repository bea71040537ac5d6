{#- What a run works on: the batch's events, and beside them what the ledger has of their keys. What the ledger has of them is read
    once; every later step reads this table. -#}
{%- macro _apply_collect(plan) -%}
    {%- if plan.kept -%}
        {%- do dbt_cdc._apply_make_temporary(plan, plan.touched, dbt_cdc._apply_touched_query(plan)) -%}
        {%- do plan.update(collected=true) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _apply_touched_query(plan) -%}
{%- set columns = dbt_cdc._apply_event_columns(plan) -%}
{#- another run may have added them since this one looked -#}
{%- set there = dbt_cdc._columns_of(plan.ledger) | map(attribute='name') | map('lower') | list if plan.new else [] -%}
{%- set new = plan.new | map(attribute='name') | map('lower') | reject('in', there) | list -%}
{%- set recorded = [] -%}
{%- for name in columns -%}
    {%- do recorded.append('null' if name | lower in new else 'recorded.' ~ dbt_cdc._quote(name)) -%}
{%- endfor -%}
with {{ dbt_cdc._apply_batch_events(plan) }},

touched_keys as (
    select distinct {{ dbt_cdc._quoted_list(plan.key) | join(', ') }}
    from given
    where _dbt_cdc_kind <> 'truncate'
)

select {{ dbt_cdc._quoted_list(columns) | join(', ') }}, true as _dbt_cdc_given
from events
union all
select {{ recorded | join(', ') }}, false
from {{ plan.ledger }} as recorded
left semi join touched_keys on {{ dbt_cdc._same(plan.key, 'recorded', 'touched_keys') }}
where
    recorded._dbt_cdc_kind in ('upsert', 'delete')
    {%- if plan.bounds %}
    and {{ dbt_cdc._apply_range(plan.bounds, 'recorded') }}
    {%- endif %}
{%- if plan.truncates %}
union all
select {{ recorded | join(', ') }}, false
from {{ plan.ledger }} as recorded
where recorded._dbt_cdc_kind = 'truncate'
{%- endif %}
{%- endmacro -%}


{%- macro _apply_event_columns(plan) -%}
    {%- do return(dbt_cdc._apply_event_identity(plan) + ['_dbt_cdc_columns']
                  + (plan.payload | map(attribute='name') | list)) -%}
{%- endmacro -%}


{%- macro _apply_event_identity(plan) -%}
    {%- do return(plan.key + dbt_cdc._apply_moment_columns(plan) + ['_dbt_cdc_kind', '_dbt_cdc_hash']) -%}
{%- endmacro -%}


{%- macro _apply_collected_events(plan) -%}
events as (
    select {{ dbt_cdc._quoted_list(dbt_cdc._apply_event_columns(plan)) | join(', ') }}
    from {{ plan.touched }}
    where _dbt_cdc_given
)
{%- endmacro -%}

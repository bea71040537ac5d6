{#- max_delete_fraction: refuses a batch that would close too many of the live rows, as an empty source does. Deletes
    concern the keys of the batch, of which `touched` holds all events, and all truncates; these concern every key of the ledger. -#}
{%- macro _apply_delete_faults(plan) -%}
    {%- set limit = plan.options.max_delete_fraction -%}
    {%- if limit is none or not plan.kept or not (plan.deletes or plan.truncates) -%}{%- do return([]) -%}{%- endif -%}
    {%- set key = dbt_cdc._quoted_list(plan.key) -%}
    {%- set moments = dbt_cdc._apply_moment_columns(plan) | join(', ') -%}
    {%- set columns = key | join(', ') ~ ', ' ~ moments ~ ', _dbt_cdc_kind' -%}
    {%- set truncated = "(select max(_dbt_cdc_sequence) from everything where _dbt_cdc_kind = 'truncate')" -%}
    {%- set query -%}
with everything as (
    select {{ columns }} from {{ plan.touched }}
    {%- if plan.truncates %}
    union all
    select {{ columns }} from {{ plan.ledger }} where _dbt_cdc_kind in ('upsert', 'delete')
    {%- endif %}
),

last_moments as (
    select
        {{ key | join(', ') }},
        max(struct({{ moments }}, _dbt_cdc_kind = 'delete' as _dbt_cdc_deleted)) as _dbt_cdc_last_event
    from everything
    where _dbt_cdc_kind <> 'truncate'
    group by {{ key | join(', ') }}
),

live as (
    select {{ key | join(', ') }} from {{ plan.target }}
    {%- if plan.intervals %}
    where {{ dbt_cdc._apply_live(plan) }}
    {%- endif %}
)

select
    count_if(last_moments._dbt_cdc_last_event._dbt_cdc_deleted
        or coalesce(last_moments._dbt_cdc_last_event._dbt_cdc_sequence <= {{ truncated }}, false)) as closed,
    count(*) as live
from live
left join last_moments on {{ dbt_cdc._same(plan.key, 'live', 'last_moments') }}
    {%- endset -%}
    {%- set row = run_query(query)[0] -%}
    {%- if not row['live'] or row['closed'] / row['live'] <= limit -%}{%- do return([]) -%}{%- endif -%}
    {%- do return(["the batch would close " ~ row['closed'] ~ " of " ~ row['live'] ~ " live rows, more than max_delete_fraction " ~ limit
                   ~ " allows: check the source, or raise max_delete_fraction for this run"]) -%}
{%- endmacro -%}

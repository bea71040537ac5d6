{#- The events that {{ this }} is made of: of all keys, or of those that some batches touched. -#}
{%- macro _apply_recorded_steps(plan, batches) -%}
{%- set key = dbt_cdc._quoted_list(plan.key) | join(', ') -%}
{#- the run's own batch: all that counts was collected before -#}
{%- set collected = plan.collected and batches == [plan.batch] -%}
{%- if batches is not none -%}
touched_keys as (
    select distinct {{ key }}
    from {{ plan.touched if collected else plan.ledger }}
    where _dbt_cdc_kind in ('upsert', 'delete')
    {%- if not collected %} and _dbt_cdc_batch in ({{ dbt_cdc._literal_list(batches) }}){% endif %}
    {%- if plan.touched in plan.made and not plan.collected %}
    union
    select {{ key }} from {{ plan.touched }} where _dbt_cdc_kind in ('upsert', 'delete')
    {%- endif %}
),

{% endif -%}
recorded as (
    select recorded.*
    from {{ plan.touched if collected else plan.ledger }} as recorded
    {%- if batches is not none and not collected %}
    left semi join touched_keys on {{ dbt_cdc._same(plan.key, 'recorded', 'touched_keys') }}
    {%- endif %}
    where
        _dbt_cdc_kind in ('upsert', 'delete')
        {%- if plan.bounds and not collected %}
        and {{ dbt_cdc._apply_range(plan.bounds, 'recorded') }}
        {%- endif %}
        {%- if plan.options.apply_as_truncates or plan.truncated %}
        and not coalesce(
            _dbt_cdc_sequence <= (select max(_dbt_cdc_sequence) from {{ plan.ledger }} where _dbt_cdc_kind = 'truncate'), false
        )
        {%- endif %}
),
{%- endmacro -%}

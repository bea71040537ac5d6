{#- Bitemporal tables: what was known at each moment of the system is a history of type 2; of a row that stays the same from
    moment to moment one is kept. A key's cost is its events times the moments at which something became known of it. -#}
{%- macro _apply_known_steps(key) -%}
collected as (
    select
        *,
        array_sort(collect_set(_dbt_cdc_system) over (partition by {{ key }})) as _dbt_cdc_moments,
        collect_set(_dbt_cdc_system) over (
            partition by {{ key }} order by _dbt_cdc_sequence range between current row and current row
        ) as _dbt_cdc_moments_of_sequence
    from recorded
),

known as (
    select
        collected.*,
        struct(moment.known_from, get(_dbt_cdc_moments, moment.position + 1) as known_to) as _dbt_cdc_slice
    from collected
    lateral view posexplode(_dbt_cdc_moments) moment as position, known_from
    {#- what was known last of a sequence then, which replaces what was known before #}
    where _dbt_cdc_system <=> array_max(filter(_dbt_cdc_moments_of_sequence, _dbt_cdc_each -> _dbt_cdc_each <= moment.known_from))
),
{%- endmacro -%}


{%- macro _apply_system_steps(plan, key) -%}
{%- set held, known = plan.intervals[0], plan.intervals[1] -%}
{%- set alike = ['lag(' ~ dbt_cdc._quote(held.end) ~ ') over in_order <=> ' ~ dbt_cdc._quote(held.end)] -%}
{%- for column in plan.payload -%}
    {%- set name = dbt_cdc._comparable_value(dbt_cdc._quote(column.name), column.type) -%}
    {%- do alike.append('lag(' ~ name ~ ') over in_order <=> ' ~ name) -%}
{%- endfor -%}
continued as (
    select
        *,
        coalesce(lag(_dbt_cdc_slice.known_to) over in_order = _dbt_cdc_slice.known_from, false)
        {%- for condition in alike %}
        and {{ condition }}
        {%- endfor %} as _dbt_cdc_continues
    from slices
    window in_order as (partition by {{ key }}, {{ dbt_cdc._quote(held.start) }} order by _dbt_cdc_slice.known_from)
),

known_spans as (
    select
        *,
        max(if(_dbt_cdc_continues, null, _dbt_cdc_slice.known_from)) over in_order as _dbt_cdc_known_from,
        not coalesce(lead(_dbt_cdc_continues) over in_order, false) as _dbt_cdc_is_last
    from continued
    window in_order as (partition by {{ key }}, {{ dbt_cdc._quote(held.start) }} order by _dbt_cdc_slice.known_from)
),

versions as (
    select
        {{ key }}, {{ dbt_cdc._quoted_list((plan.payload | map(attribute='name') | list) + [held.start, held.end]) | join(', ') }},
        _dbt_cdc_known_from as {{ dbt_cdc._quote(known.start) }},
        _dbt_cdc_slice.known_to as {{ dbt_cdc._quote(known.end) }}
    from known_spans
    where _dbt_cdc_is_last
)
{%- endmacro -%}

{#- {{ this }} as a function of the ledger: for all keys, or for those that some batches touched. -#}
{%- macro _apply_version_steps(plan, batches=none) -%}
{%- set key = dbt_cdc._quoted_list(plan.key) | join(', ') -%}
{#- the run's own batch: all that counts was collected before -#}
{%- set collected = plan.collected and batches == [plan.batch] -%}
{%- if batches is not none -%}
touched as (
    select distinct {{ key }}
    from {{ plan.touched if collected else plan.ledger }}
    where _dbt_cdc_kind in ('upsert', 'delete')
    {%- if not collected %} and _dbt_cdc_batch in ({{ dbt_cdc._literal_list(batches) }}){% endif %}
    {%- if plan.collected is false %}
    union
    select {{ key }} from {{ plan.touched }} where _dbt_cdc_kind in ('upsert', 'delete')
    {%- endif %}
),

{% endif -%}
events as (
    select
        recorded.*,
        lag(_dbt_cdc_sequence) over (partition by {{ key }} order by {{ dbt_cdc._apply_precedence() }}) as _dbt_cdc_twin
    from {{ plan.touched if collected else plan.ledger }} as recorded
    {%- if batches is not none and not collected %}
    left semi join touched on {{ dbt_cdc._apply_same(plan.key, 'recorded', 'touched') }}
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

steps as (
    select
        *,
        lead(_dbt_cdc_sequence) over in_order as _dbt_cdc_next,
        lead(_dbt_cdc_kind) over in_order as _dbt_cdc_next_kind,
        count_if(_dbt_cdc_kind = 'delete') over in_order as _dbt_cdc_life
    from events
    where not coalesce(_dbt_cdc_twin = _dbt_cdc_sequence, false)
    window in_order as (partition by {{ key }} order by _dbt_cdc_sequence)
),
{%- if plan.payload | selectattr('partial') | list %}

filled as (
    {{ dbt_cdc._apply_filled(plan, key) }}
),
{%- endif %}

{{ dbt_cdc._apply_scd1_steps(plan, key) if plan.scd == 1 else dbt_cdc._apply_scd2_steps(plan, key) }}
{%- endmacro -%}


{%- macro _apply_precedence() -%}
    {#- At one sequence a delete comes first; of two contents (on_conflict: resolve) the greater hash. The first one counts. -#}
    {%- do return("_dbt_cdc_sequence asc, _dbt_cdc_kind asc, _dbt_cdc_hash desc") -%}
{%- endmacro -%}


{%- macro _apply_filled(plan, key) -%}
    {#- A column that an event leaves alone keeps the last value set since the last delete. -#}
select
        {{ key }}, _dbt_cdc_sequence, _dbt_cdc_kind, _dbt_cdc_next, _dbt_cdc_next_kind
    {%- for column in plan.payload %}
        {%- set name = dbt_cdc._quote(column.name) -%}
        {%- if not column.partial %},
        {{ name }}
        {%- else -%}
            {%- set conditions = ["_dbt_cdc_kind = 'upsert'"] -%}
            {%- if plan.columns_to_update -%}
                {%- do conditions.append("coalesce(array_contains(_dbt_cdc_columns, " ~ dbt_cdc._literal(column.name | lower) ~ "), true)") -%}
            {%- endif -%}
            {%- if column.ignore_null -%}{%- do conditions.append(name ~ " is not null") -%}{%- endif %},
        last(if({{ conditions | join(' and ') }}, struct({{ name }} as value), null), true) over in_life.value as {{ name }}
        {%- endif -%}
    {%- endfor %}
    from steps
    window in_life as (partition by {{ key }}, _dbt_cdc_life order by _dbt_cdc_sequence)
{%- endmacro -%}


{%- macro _apply_scd1_steps(plan, key) -%}
versions as (
    select {{ dbt_cdc._quoted_list(dbt_cdc._apply_target_columns(plan)) | join(', ') }}
    from {{ 'filled' if plan.payload | selectattr('partial') | list else 'steps' }}
    where _dbt_cdc_next_kind is null and _dbt_cdc_kind = 'upsert'
)
{%- endmacro -%}


{%- macro _apply_scd2_steps(plan, key) -%}
{%- set unequal = [] -%}
{%- for column in plan.payload | selectattr('tracked') -%}
    {%- set name = dbt_cdc._apply_comparable(dbt_cdc._quote(column.name), column.type) -%}
    {%- do unequal.append('not (' ~ name ~ ' <=> lag(' ~ name ~ ') over in_order)') -%}
{%- endfor -%}
compared as (
    select
        *,
        _dbt_cdc_kind = 'upsert' and (
            coalesce(lag(_dbt_cdc_kind) over in_order, 'delete') = 'delete'
            {%- for condition in unequal %}
            or {{ condition }}
            {%- endfor %}
        ) as _dbt_cdc_opens
    from {{ 'filled' if plan.payload | selectattr('partial') | list else 'steps' }}
    window in_order as (partition by {{ key }} order by _dbt_cdc_sequence)
),

spans as (
    select
        *,
        max(if(_dbt_cdc_opens, _dbt_cdc_sequence, null)) over in_order as _dbt_cdc_start,
        coalesce(lead(_dbt_cdc_opens) over in_order, true) or _dbt_cdc_next_kind = 'delete' as _dbt_cdc_closes
    from compared
    window in_order as (partition by {{ key }} order by _dbt_cdc_sequence)
),

versions as (
    select
        {{ dbt_cdc._quoted_list(plan.key + (plan.payload | map(attribute='name') | list)) | join(', ') }},
        _dbt_cdc_start as {{ dbt_cdc._quote(plan.start) }},
        _dbt_cdc_next as {{ dbt_cdc._quote(plan.end) }}
    from spans
    where _dbt_cdc_kind = 'upsert' and _dbt_cdc_closes
)
{%- endmacro -%}


{%- macro _apply_target_columns(plan) -%}
    {#- Column order of the target: the batch's own on creation, then start and end. -#}
    {%- set columns = plan.order or (plan.key + (plan.payload | map(attribute='name') | list)) -%}
    {%- do return(columns + ([plan.start, plan.end] if plan.scd == 2 else [])) -%}
{%- endmacro -%}

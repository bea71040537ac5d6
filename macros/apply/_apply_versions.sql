{#- {{ this }} as a function of the ledger: for all keys, or for those that some batches touched. -#}
{%- macro _apply_version_steps(plan, batches=none) -%}
{%- set key = dbt_cdc._quoted_list(plan.key) | join(', ') -%}
{#- of a bitemporal table each moment of the system has a history of its own -#}
{%- set slice = key ~ (', _dbt_cdc_slice' if plan.moments.system else '') -%}
{{ dbt_cdc._apply_recorded_steps(plan, batches) }}

{% if plan.moments.system -%}
{{ dbt_cdc._apply_known_steps(key) }}

{% endif -%}
steps as (
    select
        *,
        lead(_dbt_cdc_sequence) over in_order as _dbt_cdc_next,
        count_if(_dbt_cdc_kind = 'delete') over in_order as _dbt_cdc_life
    from {{ 'known' if plan.moments.system else 'recorded' }}
    window in_order as (partition by {{ slice }} order by {{ dbt_cdc._apply_event_order() }})
),
{%- if plan.payload | selectattr('partial') | list %}

filled as (
    {{ dbt_cdc._apply_filled(plan, slice) }}
),
{%- endif %}

{{ dbt_cdc._apply_scd2_steps(plan, slice) if plan.intervals else dbt_cdc._apply_scd1_steps(plan) }}
{%- if plan.moments.system %},

{{ dbt_cdc._apply_system_steps(plan, key) }}
{%- endif %}
{%- endmacro -%}


{%- macro _apply_event_order() -%}
    {#- The last of a sequence counts: a delete, of two contents (on_conflict: resolve) that of the greater hash. What it leaves alone it
        has from those before it, as from an earlier sequence. -#}
    {%- do return('_dbt_cdc_sequence asc, _dbt_cdc_kind desc, _dbt_cdc_hash asc') -%}
{%- endmacro -%}


{%- macro _apply_filled(plan, slice) -%}
    {#- A column that an event leaves alone keeps the last value set since the last delete. -#}
select
        {{ slice }}, _dbt_cdc_sequence, _dbt_cdc_kind, _dbt_cdc_next
    {%- for column in plan.payload %}
        {%- set name = dbt_cdc._quote(column.name) -%}
        {%- if not column.partial %},
        {{ name }}
        {%- else -%}
            {%- set sets = dbt_cdc._apply_sets(plan, column) -%}
            {#- qualified: a struct could be called as the step is -#}
            {%- set last = dbt_cdc._apply_last_heeded('steps.' ~ name, column.fields, sets) if column.ignore_null
                           else dbt_cdc._apply_last_set(name, sets) %},
        {{ last }} as {{ name }}
        {%- endif -%}
    {%- endfor %}
    from steps
    window in_life as (partition by {{ slice }}, _dbt_cdc_life order by {{ dbt_cdc._apply_event_order() }})
{%- endmacro -%}


{%- macro _apply_last_set(value, sets) -%}
    {#- sets: whether an event sets the value, as a condition on it. -#}
    {%- do return('last(if(' ~ sets ~ ', struct(' ~ value ~ ' as value), null), true) over in_life.value') -%}
{%- endmacro -%}


{%- macro _apply_last_heeded(value, fields, sets) -%}
    {#- The last that is not NULL, of a struct for each of its fields; arrays and maps are whole. -#}
    {%- set heeded, parts = sets ~ ' and (' ~ dbt_cdc._apply_holds(value, fields) ~ ')', [] -%}
    {%- if not fields -%}{%- do return(dbt_cdc._apply_last_set(value, heeded)) -%}{%- endif -%}
    {%- for name, inner in fields -%}
        {%- do parts.append(dbt_cdc._literal(name) ~ ', '
            ~ dbt_cdc._apply_last_heeded(value ~ '.' ~ dbt_cdc._quote(name), inner, sets)) -%}
    {%- endfor -%}
    {%- do return('if(bool_or(' ~ heeded ~ ') over in_life, named_struct(' ~ parts | join(', ') ~ '), null)') -%}
{%- endmacro -%}


{%- macro _apply_holds(value, fields) -%}
    {#- A condition: there is anything but NULL in a value, of a struct in any of its fields. -#}
    {%- set parts = [] -%}
    {%- for name, inner in fields or [] -%}
        {%- do parts.append(dbt_cdc._apply_holds(value ~ '.' ~ dbt_cdc._quote(name), inner)) -%}
    {%- endfor -%}
    {%- do return(parts | join(' or ') if parts else value ~ ' is not null') -%}
{%- endmacro -%}


{%- macro _apply_scd1_steps(plan) -%}
versions as (
    select {{ dbt_cdc._quoted_list(dbt_cdc._apply_target_columns(plan)) | join(', ') }}
    from {{ 'filled' if plan.payload | selectattr('partial') | list else 'steps' }}
    where _dbt_cdc_next is null and _dbt_cdc_kind = 'upsert'
)
{%- endmacro -%}


{%- macro _apply_scd2_steps(plan, slice) -%}
{%- set unequal = [] -%}
{%- for column in plan.payload | selectattr('tracked') -%}
    {%- set name = dbt_cdc._comparable_value(dbt_cdc._quote(column.name), column.type) -%}
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
    where not coalesce(_dbt_cdc_next = _dbt_cdc_sequence, false)
    window in_order as (partition by {{ slice }} order by _dbt_cdc_sequence)
),

spans as (
    select
        *,
        max(if(_dbt_cdc_opens, _dbt_cdc_sequence, null)) over in_order as _dbt_cdc_start,
        coalesce(lead(_dbt_cdc_opens) over in_order or lead(_dbt_cdc_kind) over in_order = 'delete', true) as _dbt_cdc_closes
    from compared
    window in_order as (partition by {{ slice }} order by _dbt_cdc_sequence)
),

{{ 'slices' if plan.moments.system else 'versions' }} as (
    select
        {{ slice }}, {{ dbt_cdc._quoted_list(plan.payload | map(attribute='name')) | join(', ') ~ ',' if plan.payload }}
        _dbt_cdc_start as {{ dbt_cdc._quote(plan.intervals[0].start) }},
        _dbt_cdc_next as {{ dbt_cdc._quote(plan.intervals[0].end) }}
    from spans
    where _dbt_cdc_kind = 'upsert' and _dbt_cdc_closes
)
{%- endmacro -%}

{#- The batch as events. An event is: key, sequence (and system's sequence), kind (upsert, delete, truncate), and for an upsert its content.
    Identical events are one; a hash of the content tells two contents of one key and sequence apart. -#}
{%- macro _apply_batch_events(plan) -%}
{%- set key = dbt_cdc._quoted_list(plan.key) -%}
{%- set moments = dbt_cdc._apply_moment_columns(plan) | join(', ') -%}
given as (
    {{ dbt_cdc._apply_given(plan) }}
),

effective as (
    select
    {%- for name in key %}
        if(_dbt_cdc_kind = 'truncate', null, {{ name }}) as {{ name }},
    {%- endfor %}
        {{ moments }},
        _dbt_cdc_kind,
        if(_dbt_cdc_kind = 'upsert', {{ dbt_cdc._apply_columns_that_count(plan) }}, null) as _dbt_cdc_columns
    {%- for column in plan.payload %}
        {%- set name = dbt_cdc._quote(column.name) %},
        if({{ dbt_cdc._apply_sets(plan, column) }}, {{ name }}, null) as {{ name }}
    {%- endfor %}
    from given
),

hashed as (
    select
        *,
        {{ dbt_cdc._apply_content_hash(plan) }} as _dbt_cdc_hash
    from effective
),

events as (
    select
        {{ key | join(', ') }},
        {{ moments }},
        _dbt_cdc_kind,
        _dbt_cdc_hash,
        any_value(_dbt_cdc_columns) as _dbt_cdc_columns
    {%- for name in dbt_cdc._quoted_list(plan.payload | map(attribute='name')) %},
        any_value({{ name }}) as {{ name }}
    {%- endfor %}
    from hashed
    group by {{ key | join(', ') }}, {{ moments }}, _dbt_cdc_kind, _dbt_cdc_hash
)
{%- endmacro -%}


{%- macro _apply_given(plan) -%}
{%- if plan.given -%}{%- do return(plan.given) -%}{%- endif -%}
{%- set options = plan.options -%}
select
    {%- for name in plan.key %}
        {{ dbt_cdc._apply_cast(plan, name) }} as {{ dbt_cdc._quote(name) }},
    {%- endfor %}
    {%- for name, moment in plan.moments.items() %}
        {{ moment.sql }} as _dbt_cdc_{{ name }},
    {%- endfor %}
        case
        {%- if options.apply_as_truncates %}
            when {{ options.apply_as_truncates }}
            then 'truncate'
        {%- endif %}
        {%- if options.apply_as_deletes %}
            when {{ options.apply_as_deletes }}
            then 'delete'
        {%- endif %}
            when true then 'upsert'
        end as _dbt_cdc_kind,
        {{ dbt_cdc._apply_set_columns(plan) }} as _dbt_cdc_columns
    {%- for column in plan.payload %},
        {{ dbt_cdc._apply_value(plan, column) }} as {{ dbt_cdc._quote(column.name) }}
    {%- endfor %}
    from {{ plan.stage }}
    {%- if plan.reads_nothing %}
    where false
    {%- endif %}
{%- endmacro -%}


{%- macro _apply_value(plan, column) -%}
    {#- As the table will have it, but where a NULL would leave the older value. -#}
    {%- if not column.source -%}{%- do return('null') -%}{%- endif -%}
    {%- set value = dbt_cdc._apply_cast(plan, column.source) -%}
    {%- set is_blank = column.name | lower in plan.blanks and dbt_cdc._family_of_type(column.type) == 'text' and not column.ignore_null -%}
    {%- do return('nullif(' ~ value ~ ", '')" if is_blank else value) -%}
{%- endmacro -%}


{%- macro _apply_cast(plan, name) -%}
    {%- set type = plan.casts.get(name | lower) -%}
    {%- if not type -%}{%- do return(dbt_cdc._quote(name)) -%}{%- endif -%}
    {%- set value = 'null' if name | lower in plan.nulls else dbt_cdc._quote(name) -%}
    {%- do return('try_cast(' ~ value ~ ' as ' ~ dbt_cdc._type_text(type) ~ ')') -%}
{%- endmacro -%}


{%- macro _apply_set_columns(plan) -%}
    {%- if not plan.columns_to_update or plan.columns_to_update | lower in plan.nulls -%}
        {%- do return('cast(null as array<string>)') -%}
    {%- endif -%}
    {%- do return('array_sort(array_distinct(transform(' ~ dbt_cdc._quote(plan.columns_to_update) ~ ', name -> lower(name))))') -%}
{%- endmacro -%}


{%- macro _apply_columns_that_count(plan) -%}
    {#- Names of columns that do not reach the table make no other content of an event. -#}
    {%- if not plan.columns_to_update -%}{%- do return('_dbt_cdc_columns') -%}{%- endif -%}
    {%- set names = plan.key + (plan.payload | map(attribute='name') | list) -%}
    {%- do return('array_intersect(_dbt_cdc_columns, array(' ~ dbt_cdc._literal_list(names | map('lower')) ~ '))') -%}
{%- endmacro -%}


{%- macro _apply_sets(plan, column) -%}
    {#- Whether an event sets a column, as a condition on it. -#}
    {%- set named = " and coalesce(array_contains(_dbt_cdc_columns, " ~ dbt_cdc._literal(column.name | lower) ~ "), true)" -%}
    {%- do return("_dbt_cdc_kind = 'upsert'" ~ (named if plan.columns_to_update else '')) -%}
{%- endmacro -%}


{%- macro _apply_hash_rule() -%}
    {#- How contents are hashed (_apply_content_hash). Ledgers remember it: another rule would take old events for new ones. -#}
    {%- do return('2') -%}
{%- endmacro -%}


{%- macro _apply_content_hash(plan) -%}
    {#- NULLs add nothing and each column goes in with its name, so that a column added later leaves older hashes as they are. -#}
    {%- set parts, groups = ["if(_dbt_cdc_columns is null, 0L, xxhash64('', _dbt_cdc_columns))"], [] -%}
    {%- for column in plan.payload if column.source -%}
        {%- set name = dbt_cdc._quote(column.name) -%}
        {%- do parts.append('if(' ~ name ~ ' is null, 0L, xxhash64(' ~ dbt_cdc._literal(column.name | lower) ~ ', '
                            ~ dbt_cdc._apply_hashable(name, column.type) ~ '))') -%}
    {%- endfor -%}
    {#- by groups: a chain of a thousand is nested so deep that Spark's parser has not stack enough -#}
    {%- for group in parts | batch(40) -%}{%- do groups.append('(' ~ group | join('\n        ^ ') ~ ')') -%}{%- endfor -%}
    {%- do return(groups | join('\n        ^ ')) -%}
{%- endmacro -%}


{%- macro _apply_hashable(expression, type) -%}
    {#- xxhash64 passes over NULLs within a value, array('a', null) would be array(null, 'a'): nested values are hashed as JSON. -#}
    {%- set comparable = dbt_cdc._comparable_value(expression, type) -%}
    {%- if not modules.re.search('<|variant', type) -%}{%- do return(comparable) -%}{%- endif -%}
    {%- do return(dbt_cdc._as_json(comparable if comparable.startswith('array_sort') else expression)) -%}
{%- endmacro -%}

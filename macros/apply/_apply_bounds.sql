{#- The range of the keys that a statement touches, as literals: files whose statistics lie outside are not read. -#}
{%- macro _apply_bounded(plan) -%}
    {#- Key columns whose values survive being written as text. -#}
    {%- set bounded = [] -%}
    {%- set ordered = ['tinyint', 'smallint', 'int', 'bigint', 'decimal', 'string', 'date'] -%}
    {%- for name in plan.key if dbt_cdc._apply_type_of(plan, name).split('(')[0] in ordered -%}
        {%- do bounded.append(name) -%}
    {%- endfor -%}
    {%- do return(bounded) -%}
{%- endmacro -%}


{%- macro _apply_bound_measures(plan) -%}
    {#- SQL by name, for _apply_bounds. -#}
    {%- set measures = {} -%}
    {%- for name in dbt_cdc._apply_bounded(plan) -%}
        {%- do measures.update({'least: ' ~ name: 'cast(min(' ~ dbt_cdc._quote(name) ~ ') as string)',
                                'greatest: ' ~ name: 'cast(max(' ~ dbt_cdc._quote(name) ~ ') as string)'}) -%}
    {%- endfor -%}
    {%- do return(measures) -%}
{%- endmacro -%}


{%- macro _apply_bounds(plan, row) -%}
    {#- From a row that has the measures above; none where there are no keys. -#}
    {%- set bounds = [] -%}
    {%- for name in dbt_cdc._apply_bounded(plan) -%}
        {%- set low, high = row['least: ' ~ name], row['greatest: ' ~ name] -%}
        {#- text whose bytes are no UTF-8 comes here with other characters in their place, and so bounds nothing -#}
        {%- if low is not none and '\ufffd' not in low ~ high -%}
            {%- do bounds.append({'name': name, 'low': low | string, 'high': high | string, 'type': dbt_cdc._apply_type_of(plan, name)}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(bounds) -%}
{%- endmacro -%}


{%- macro _apply_range(bounds, alias) -%}
    {%- set conditions = [] -%}
    {%- for bound in bounds -%}
        {%- do conditions.append(alias ~ '.' ~ dbt_cdc._quote(bound.name) ~ ' between cast(' ~ dbt_cdc._literal(bound.low) ~ ' as '
                                 ~ bound.type ~ ') and cast(' ~ dbt_cdc._literal(bound.high) ~ ' as ' ~ bound.type ~ ')') -%}
    {%- endfor -%}
    {%- do return(conditions | join(' and ')) -%}
{%- endmacro -%}

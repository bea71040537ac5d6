{#- What a table can't take of a type that has changed since, place by place where it is nested. -#}

{%- macro _takes_inside(given, kept) -%}
    {#- May a column that no run compares have values of the given nested type? They are written by the names of their fields. -#}
    {%- set parts, given_parts = dbt_cdc._parts_inside(kept), dbt_cdc._parts_inside(given) -%}
    {%- if parts | sort != given_parts | sort -%}{%- do return(false) -%}{%- endif -%}
    {%- for place, type in parts.items() if not dbt_cdc._takes(type, given_parts[place], is_compared=true) -%}
        {%- do return(false) -%}
    {%- endfor -%}
    {%- do return(true) -%}
{%- endmacro -%}


{%- macro _parts_inside(type, place='') -%}
    {#- The types that a nested one is made of, by their places in it: `struct.a.array.1` in struct<a:array<int>>. -#}
    {%- set nested = modules.re.fullmatch('(?s)(array|map|struct)<(.*)>', type) -%}
    {%- if nested is none -%}{%- do return({place: type}) -%}{%- endif -%}
    {%- set types = {} -%}
    {%- for part in dbt_cdc._split_outside_brackets(nested.group(2)) -%}
        {%- set field = modules.re.fullmatch('(?s)([^<>]*):([^:<>]*(?:<.*>)?)', part) if nested.group(1) == 'struct' else none -%}
        {%- set name, inner = (field.group(1) | lower, field.group(2)) if field is not none else (loop.index, part) -%}
        {%- do types.update(dbt_cdc._parts_inside(inner, place ~ '.' ~ nested.group(1) ~ '.' ~ name)) -%}
    {%- endfor -%}
    {%- do return(types) -%}
{%- endmacro -%}


{%- macro _harm(kept, given) -%}
    {#- What a write does to values of the given type, or to what is within them; none where it does nothing. -#}
    {%- set given_parts = dbt_cdc._parts_inside(given) -%}
    {%- for place, type in dbt_cdc._parts_inside(kept).items() if place in given_parts -%}
        {%- if dbt_cdc._rounds(type, given_parts[place]) -%}{%- do return("whose values it would cut short") -%}{%- endif -%}
        {%- if dbt_cdc._shifts(type, given_parts[place]) -%}{%- do return("which the session's time zone would shift") -%}{%- endif -%}
    {%- endfor -%}
    {%- do return(none) -%}
{%- endmacro -%}

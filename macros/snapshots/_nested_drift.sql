{#- What a table can't take of a nested type that has changed since. -#}

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


{%- macro _rounds_inside(kept, given) -%}
    {%- for before, after in dbt_cdc._pairs_inside(kept, given) or [] if dbt_cdc._rounds(before, after) -%}
        {%- do return(true) -%}
    {%- endfor -%}
    {%- do return(false) -%}
{%- endmacro -%}

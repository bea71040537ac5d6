{#- Values as expressions that `<=>` and hashes take. Spark compares structs and arrays, NULLs within them too, but no maps
    and no variants. -#}

{%- macro _comparable_value(value, type) -%}
    {#- A map is compared as its sorted entries, one within another type as JSON. The text of a long struct's type is cut, so
        that it may have one. -#}
    {%- if type.startswith('map<') and type.count('map<') == 1 and 'variant' not in type -%}
        {%- do return('array_sort(map_entries(' ~ value ~ '))') -%}
    {%- elif dbt_cdc._lacks_equality(type) or 'more fields' in type -%}
        {%- do return(dbt_cdc._as_json(value)) -%}
    {%- endif -%}
    {%- do return(value) -%}
{%- endmacro -%}


{%- macro _lacks_equality(type) -%}
    {#- Such as rows are neither joined nor grouped by. (`variant:int` is a field.) -#}
    {%- do return('map<' in type or modules.re.search('\\bvariant\\b(?!:)', type) is not none) -%}
{%- endmacro -%}


{%- macro _as_json(value) -%}
    {#- Text that tells NULL from absent and keeps microseconds, the same in every session. -#}
    {%- do return("to_json(struct(" ~ value ~ "), map('ignoreNullFields', 'false', 'timeZone', 'UTC', 'timestampFormat', "
                  ~ "'yyyy-MM-dd HH:mm:ss.SSSSSSXXX', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))") -%}
{%- endmacro -%}

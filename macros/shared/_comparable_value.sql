{#- Values as expressions that `<=>` and hashes take. Spark compares structs and arrays, NULLs within them too, but no maps
    and no variants. -#}

{%- macro _comparable_value(value, type) -%}
    {#- A map is compared as its sorted entries; one within another type, or within a struct whose long text Spark cuts ("more
        fields"), as JSON. -#}
    {%- if type.startswith('map<') and type.count('map<') == 1 and 'variant' not in type -%}
        {%- do return('array_sort(map_entries(' ~ value ~ '))') -%}
    {%- elif dbt_cdc._lacks_equality(type) or 'more fields' in type -%}
        {%- do return(dbt_cdc._as_json(value)) -%}
    {%- endif -%}
    {%- do return(value) -%}
{%- endmacro -%}


{%- macro _lacks_equality(type) -%}
    {#- Whether rows can't be joined or grouped by the type. (In `struct<variant id:int>` it is of a field's name.) -#}
    {%- do return('map<' in type or modules.re.search('\\bvariant\\b(?![^<>,]*:)', type) is not none) -%}
{%- endmacro -%}


{%- macro _as_json(value) -%}
    {#- Text that tells NULL from absent and keeps microseconds, the same in every session. -#}
    {%- do return("to_json(struct(" ~ value ~ "), map('ignoreNullFields', 'false', 'timeZone', 'UTC', 'timestampFormat', "
                  ~ "'yyyy-MM-dd HH:mm:ss.SSSSSSXXX', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))") -%}
{%- endmacro -%}


{%- macro _lacks_text(type) -%}
    {#- Whether JSON is what such values are compared by, and a map within has keys that JSON writes by what Java calls an object: equal
        ones by other texts. -#}
    {%- do return(dbt_cdc._comparable_value('', type).startswith('to_json')
                  and modules.re.search('map<(binary,|array<|struct<)', type) is not none) -%}
{%- endmacro -%}

{#- Kinds of types: values of one kind are cast to each other with a meaning. -#}
{%- macro _family_of_type(type) -%}
    {%- set name = type.split('(')[0] -%}
    {%- set families = {
        'string': 'text', 'char': 'text', 'varchar': 'text', 'boolean': 'boolean', 'date': 'date', 'binary': 'binary',
        'timestamp': 'moment', 'timestamp_ntz': 'moment',
    } -%}
    {%- set numbers = ['tinyint', 'smallint', 'int', 'bigint', 'float', 'double', 'decimal'] -%}
    {%- do return('number' if name in numbers else families.get(name, 'other')) -%}
{%- endmacro -%}


{%- macro _are_of_one_kind(one, other) -%}
    {%- set families = [dbt_cdc._family_of_type(one), dbt_cdc._family_of_type(other)] | sort -%}
    {%- do return('text' in families or families[0] == families[1] or families in [['boolean', 'number'], ['date', 'moment']]) -%}
{%- endmacro -%}

{#- Kinds of types: values of one kind are cast to each other with a meaning. -#}
{%- macro _family_of_type(type) -%}
    {#- Of a type's name without digits: `decimal`. -#}
    {%- set families = {
        'string': 'text', 'char': 'text', 'varchar': 'text', 'boolean': 'boolean', 'date': 'date', 'binary': 'binary',
        'timestamp': 'moment', 'timestamp_ntz': 'moment',
    } -%}
    {%- set numbers = ['tinyint', 'smallint', 'int', 'bigint', 'float', 'double', 'decimal'] -%}
    {%- do return('number' if type in numbers else families.get(type, 'other')) -%}
{%- endmacro -%}

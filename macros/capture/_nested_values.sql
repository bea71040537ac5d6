{#- What stands within arrays, maps and structs of JSON text, read without loss: Spark's own reader takes a number for seconds
    since 1970, puts the day of the run before a time of day, cuts what is more than a day, and rounds decimals. -#}

{%- macro _type_parts(type) -%}
    {#- {kind: array, map or struct; parts: a list of [name, type]}, or none for any other type. Names only of a struct. -#}
    {%- set nested = modules.re.fullmatch('(?is)\\s*(array|map|struct)\\s*<(.*)>\\s*', type) -%}
    {%- if nested is none -%}{%- do return(none) -%}{%- endif -%}
    {%- set kind, parts = nested.group(1) | lower, [] -%}
    {%- for part in dbt_cdc._split_outside_brackets(nested.group(2)) if part | trim -%}
        {%- set field = modules.re.fullmatch(
            '(?is)\\s*(`(?:[^`]|``)*`|\\w+)\\s*:?\\s*(.*?)(?:\\s+not\\s+null)?(?:\\s+comment\\s.*)?', part) -%}
        {%- do parts.append([dbt_cdc._unquoted(field.group(1)), field.group(2) | trim] if kind == 'struct' else [none, part | trim]) -%}
    {%- endfor -%}
    {%- do return({'kind': kind, 'parts': parts}) -%}
{%- endmacro -%}


{%- macro _json_type(type) -%}
    {#- The type that JSON is read in, to be read on by _nested_value: moments as text, decimals with all the places there are. -#}
    {%- set nested, base = dbt_cdc._type_parts(type), dbt_cdc._base_type(type) -%}
    {%- if nested is none -%}
        {%- if base in ['timestamp', 'date', 'char', 'varchar'] -%}{%- do return('string') -%}{%- endif -%}
        {%- if base != 'decimal' -%}{%- do return(type) -%}{%- endif -%}
        {%- set digits = modules.re.findall('[0-9]+', type) or ['10'] -%}
        {%- do return('decimal(38, ' ~ (38 - (digits[0] | int) + (digits[1] if digits | length > 1 else 0) | int) ~ ')') -%}
    {%- endif -%}
    {%- set inner = [] -%}
    {%- for name, part in nested.parts -%}
        {%- do inner.append((dbt_cdc._quote(name) ~ ': ' if name is not none else '') ~ dbt_cdc._json_type(part)) -%}
    {%- endfor -%}
    {%- do return(nested.kind ~ '<' ~ inner | join(', ') ~ '>') -%}
{%- endmacro -%}


{%- macro _nested_value(value, name, type, depth=0) -%}
    {#- A value of _json_type(type) as `type`; `name`: of the column, for the error. -#}
    {%- set nested, item, inner = dbt_cdc._type_parts(type), 'item_' ~ depth, depth + 1 -%}
    {%- if dbt_cdc._json_type(type) == type -%}
        {%- do return(value) -%}
    {%- elif nested is none -%}
        {%- do return(dbt_cdc._nested_leaf(value, name, type)) -%}
    {%- elif nested.kind == 'array' -%}
        {%- do return('transform(' ~ value ~ ', ' ~ item ~ ' -> ' ~ dbt_cdc._nested_value(item, name, nested.parts[0][1], inner) ~ ')') -%}
    {%- elif nested.kind == 'map' -%}
        {%- do return('transform_values(' ~ value ~ ', (key_' ~ depth ~ ', ' ~ item ~ ') -> '
                      ~ dbt_cdc._nested_value(item, name, nested.parts[1][1], inner) ~ ')') -%}
    {%- endif -%}
    {%- set fields = [] -%}
    {%- for field, part in nested.parts -%}
        {%- set read = dbt_cdc._nested_value(value ~ '.' ~ dbt_cdc._quote(field), name, part, inner) -%}
        {%- do fields.append(dbt_cdc._literal(field) ~ ', ' ~ read) -%}
    {%- endfor -%}
    {%- do return('if(' ~ value ~ ' is null, null, named_struct(' ~ fields | join(', ') ~ '))') -%}
{%- endmacro -%}


{%- macro _nested_leaf(value, name, type) -%}
    {#- A number is a date's days, as elsewhere, and no timestamp: what it counts is not said. -#}
    {%- set base = dbt_cdc._base_type(type) -%}
    {%- if base == 'decimal' -%}
        {%- set cast = 'cast(' ~ value ~ ' as ' ~ type ~ ')' -%}
        {%- set read = 'if(' ~ cast ~ ' = ' ~ value ~ ', ' ~ cast ~ ', null)' -%}
    {%- elif base not in ['timestamp', 'date'] -%}
        {%- set read = dbt_cdc._read_as(value, type) -%}
    {%- else -%}
        {%- set number = dbt_cdc._debezium_decoded(value, 'days', name, type, base) if base == 'date' else 'null' -%}
        {%- set read = 'if(' ~ value ~ " rlike '^-?[0-9]+$', " ~ number ~ ', '
            ~ dbt_cdc._debezium_decoded(value, 'text', name, type, base) ~ ')' -%}
    {%- endif -%}
    {%- do return(dbt_cdc._read_or_fail('from_debezium', name, type, value, read)) -%}
{%- endmacro -%}

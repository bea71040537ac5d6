{#- Numbers that Debezium writes as counts of a unit or as bytes. -#}

{%- macro _whole_part(number, unit) -%}
    {#- Rounded down also before 1970, where `div` rounds up; NULL below what a bigint holds. -#}
    {%- do return('try_subtract(' ~ number ~ ', pmod(' ~ number ~ ', ' ~ unit ~ ')) div ' ~ unit) -%}
{%- endmacro -%}


{%- macro _decimal_of_bytes(raw, name, type, scale) -%}
    {#- Big-endian two's complement of the unscaled number: padded to 16 bytes, two halves of 64 bits. -#}
    {%- set digits = "hex(try_to_binary(" ~ raw ~ ", 'base64'))" -%}
    {%- set padded = 'lpad(' ~ digits ~ ", 32, if(" ~ digits ~ " >= '8', 'F', '0'))" -%}
    {%- set high = 'cast(conv(substr(' ~ padded ~ ', 1, 16), 16, -10) as decimal(20, 0))' -%}
    {%- set low = 'cast(conv(substr(' ~ padded ~ ', 17, 16), 16, 10) as decimal(20, 0))' -%}
    {%- set given = type.split(',')[1].split(')')[0] | trim if ',' in type else '0' -%}
    {%- set told = "dbt_cdc: from_debezium: column " ~ name ~ " (" ~ type ~ ") has a number of more than 16 bytes, which no"
                   ~ " decimal holds; ask for string to get it as Debezium wrote it: " -%}
    {%- set too_long = 'raise_error(concat(' ~ dbt_cdc._literal(told) ~ ', ' ~ raw ~ '))' -%}
    {#- of a negative number the halves are counted from the other side, or the least ones would overflow on the way -#}
    {%- set carry = 'if(' ~ digits ~ " >= '8', 1BD, 0BD)" -%}
    {%- set unscaled = '(' ~ high ~ ' + ' ~ carry ~ ') * 18446744073709551616BD + (' ~ low ~ ' - ' ~ carry
        ~ ' * 18446744073709551616BD)' -%}
    {%- set number = 'concat(' ~ unscaled ~ ", 'e', cast(-(" ~ (scale or given) ~ ') as string))' -%}
    {%- do return('if(length(' ~ digits ~ ') > 32, ' ~ too_long ~ ', ' ~ dbt_cdc._read_as(number, type) ~ ')') -%}
{%- endmacro -%}

{#- A value of Debezium's whose encoding is known. -#}
{%- macro _debezium_decoded(raw, encoding, name, type, base, scale=none) -%}
    {%- set number = dbt_cdc._unless_infinite(raw, encoding) -%}
    {%- if encoding == 'text' and base in ['timestamp', 'date'] -%}
        {#- IsoDate ends in Z -#}
        {%- set read = dbt_cdc._read_as("rtrim('Z', " ~ raw ~ ')' if base == 'date' else raw, type) -%}
        {%- do return('if(' ~ raw ~ " rlike '^([+-]?29[0-9]{4}|-5877611)-', null, " ~ read ~ ')') -%}
    {%- elif encoding == 'text' -%}
        {%- do return(dbt_cdc._read_as(raw, type)) -%}
    {%- elif base == 'decimal' -%}
        {%- do return(dbt_cdc._decimal_of_bytes(raw, name, type, scale)) -%}
    {%- elif base == 'binary' -%}
        {#- of base64 either alphabet: that of addresses has other letters for two -#}
        {%- set text = 'translate(' ~ raw ~ ", '-_', '+/')" if encoding == 'base64' else raw -%}
        {%- do return('try_to_binary(' ~ text ~ ', ' ~ dbt_cdc._literal(encoding) ~ ')') -%}
    {%- elif encoding == 'days' -%}
        {%- do return('date_from_unix_date(try_cast(' ~ number ~ ' as int))') -%}
    {%- elif base == 'date' -%}
        {%- set day = {'millis': '86400000', 'micros': '86400000000', 'nanos': '86400000000000'}[encoding] -%}
        {#- with a time of day it is no date -#}
        {%- set days = 'try_cast(' ~ number ~ ' div ' ~ day ~ ' as int)' -%}
        {%- do return('if(' ~ number ~ ' % ' ~ day ~ ' = 0, date_from_unix_date(' ~ days ~ '), null)') -%}
    {%- endif -%}
    {#- rounded down also before 1970, where `div` rounds up; NULL below what a bigint holds -#}
    {%- set whole = 'try_subtract(' ~ number ~ ', pmod(' ~ number ~ ', 1000)) div 1000' -%}
    {%- set micros = {'millis': 'try_multiply(' ~ number ~ ', 1000)', 'micros': number, 'nanos': whole}[encoding] -%}
    {%- if type | lower | trim == 'timestamp_ntz' -%}
        {%- do return("timestamp_ntz'1970-01-01 00:00:00' + make_dt_interval(0, 0, 0, try_cast(cast(" ~ micros
                      ~ ' as decimal(20, 0)) / 1000000 as decimal(18, 6)))') -%}
    {%- endif -%}
    {%- do return('timestamp_micros(' ~ micros ~ ')') -%}
{%- endmacro -%}


{%- macro _unless_infinite(raw, encoding) -%}
    {#- A count of days or of parts of seconds; NULL for PostgreSQL's infinity of either sign, as Debezium has written it over its
        versions: JDBC's own numbers, whatever the unit, or in microseconds and made milliseconds of, the ends of a long or an
        int, and its date by way of JDBC's. As text it lies in the last year that a count of microseconds reaches, or of days. -#}
    {%- set number = 'try_cast(' ~ raw ~ ' as bigint)' -%}
    {%- set infinite = ['9223372036825200000', '-9223372036832400000', '9223372036854775807', '(-9223372036854775807 - 1)'] -%}
    {%- set infinite = infinite + (['9223372036825200', '-9223372036832400'] if encoding == 'millis' else []) -%}
    {%- set infinite = infinite + (['2147483647', '-2147483648', '-2147472692', '-2147472691'] if encoding == 'days' else []) -%}
    {%- do return('if(' ~ number ~ ' in (' ~ infinite | join(', ') ~ '), null, ' ~ number ~ ')') -%}
{%- endmacro -%}


{%- macro _decimal_of_bytes(raw, name, type, scale=none) -%}
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

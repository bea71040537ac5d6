{#- A column's value in the type asked for. How Debezium wrote it is said by the envelope's schema part, else by
    `encodings`; where neither says it and the text alone could mean two things, the query fails rather than guess. -#}

{%- macro _debezium_encodings() -%}
    {#- Encodings by type, and the Kafka Connect names that stand for each. -#}
    {%- do return({
        'decimal': {'base64': ['org.apache.kafka.connect.data.Decimal'], 'text': []},
        'timestamp': {
            'millis': ['io.debezium.time.Timestamp', 'org.apache.kafka.connect.data.Timestamp'],
            'micros': ['io.debezium.time.MicroTimestamp'],
            'nanos': ['io.debezium.time.NanoTimestamp'],
            'text': ['io.debezium.time.ZonedTimestamp', 'io.debezium.time.IsoTimestamp'],
        },
        'date': {
            'days': ['io.debezium.time.Date', 'org.apache.kafka.connect.data.Date'],
            'millis': ['io.debezium.time.Timestamp', 'org.apache.kafka.connect.data.Timestamp'],
            'text': ['io.debezium.time.IsoDate'],
        },
        'binary': {'base64': [], 'hex': []},
    }) -%}
{%- endmacro -%}


{%- macro _debezium_value(feed, name, type) -%}
    {%- set raw = 'image.' ~ dbt_cdc._quote(name) -%}
    {%- set family = dbt_cdc._type_family(type) -%}
    {%- set encoding = feed.encodings.get(name) -%}
    {%- if feed.form == 'json' -%}
        {%- set raw = 'if(' ~ dbt_cdc._debezium_unavailable(raw) ~ ', null, ' ~ raw ~ ')' -%}
        {%- if family in ['array', 'map', 'struct'] -%}
            {%- do return('from_json(' ~ raw ~ ', ' ~ dbt_cdc._literal(type) ~ ')') -%}
        {%- endif -%}
    {%- endif -%}
    {%- if encoding -%}
        {%- do return(dbt_cdc._debezium_decoded(raw, encoding, name, type, family)) -%}
    {%- endif -%}
    {%- if feed.form != 'json' or family not in dbt_cdc._debezium_encodings() -%}
        {%- do return(dbt_cdc._debezium_cast(raw, name, type, family, feed.form)) -%}
    {%- endif -%}
    {%- do return(dbt_cdc._debezium_by_kind(raw, name, type, family)) -%}
{%- endmacro -%}


{%- macro _debezium_by_kind(raw, name, type, family) -%}
    {#- JSON text without a stated encoding: as the schema part says; else only what can mean one thing. -#}
    {%- set kind = 'kinds[' ~ dbt_cdc._literal(name) ~ ']' -%}
    {%- set encodings = dbt_cdc._debezium_encodings()[family] -%}
    {%- if family == 'binary' -%}{%- do return('unbase64(' ~ raw ~ ')') -%}{%- endif -%}
    {%- set cases = ['when ' ~ raw ~ ' is null then null'] -%}
    {%- for encoding, names in encodings.items() if names -%}
        {%- do cases.append("when " ~ kind ~ ".name in ('" ~ names | join("', '") ~ "') then "
            ~ dbt_cdc._debezium_decoded(raw, encoding, name, type, family, 'cast(' ~ kind ~ '.scale as int)')) -%}
    {%- endfor -%}
    {%- if family == 'decimal' -%}
        {%- do cases.append("when " ~ kind ~ ".name = 'io.debezium.data.VariableScaleDecimal' then "
            ~ dbt_cdc._debezium_decoded('get_json_object(' ~ raw ~ ", '$.value')", 'base64', name, type, family,
                                        'cast(get_json_object(' ~ raw ~ ", '$.scale') as int)")) -%}
        {%- set clear = kind ~ ' is not null or ' ~ raw ~ " rlike '^-?[0-9]*[.][0-9]+$'" -%}
    {%- else -%}
        {%- set clear = 'not ' ~ raw ~ " rlike '^-?[0-9]+$'" -%}
    {%- endif -%}
    {%- do cases.append('when ' ~ clear ~ ' then cast(' ~ raw ~ ' as ' ~ type ~ ')') -%}
    {%- if family == 'date' -%}
        {%- do cases.append('else ' ~ dbt_cdc._debezium_decoded(raw, 'days', name, type, family)) -%}
    {%- else -%}
        {%- do cases.append('else ' ~ dbt_cdc._unclear_encoding(name, type, family)) -%}
    {%- endif -%}
    {%- do return('case\n                ' ~ cases | join('\n                ') ~ '\n            end') -%}
{%- endmacro -%}


{%- macro _debezium_cast(raw, name, type, family, form) -%}
    {#- A number is no timestamp unless someone says what it counts: Spark would take it for seconds. -#}
    {%- if form == 'json' or family not in ['timestamp', 'date'] -%}
        {%- do return('cast(' ~ raw ~ ' as ' ~ type ~ ')') -%}
    {%- endif -%}
    {%- do return("if(typeof(" ~ raw ~ ") in ('bigint', 'int') and " ~ raw ~ " is not null, "
                  ~ dbt_cdc._unclear_encoding(name, type, family) ~ ', cast(cast(' ~ raw ~ ' as string) as ' ~ type ~ '))') -%}
{%- endmacro -%}


{%- macro _unclear_encoding(name, type, family) -%}
    {%- set known = dbt_cdc._debezium_encodings()[family].keys() | join(', ') -%}
    {%- do return('raise_error(' ~ dbt_cdc._literal("dbt_cdc: from_debezium can't tell how column " ~ name ~ " (" ~ type
        ~ ") is written, the envelope has no schema part for it. Expected: encodings={'" ~ name ~ "': one of " ~ known ~ "}") ~ ')') -%}
{%- endmacro -%}


{%- macro _debezium_decoded(raw, encoding, name, type, family, scale=none) -%}
    {%- set number = 'cast(' ~ raw ~ ' as bigint)' -%}
    {%- if encoding == 'text' -%}
        {%- do return('cast(' ~ raw ~ ' as ' ~ type ~ ')') -%}
    {%- elif family == 'decimal' -%}
        {%- do return(dbt_cdc._decimal_of_bytes(raw, name, type, scale)) -%}
    {%- elif family == 'binary' -%}
        {%- do return(('unhex(' if encoding == 'hex' else 'unbase64(') ~ raw ~ ')') -%}
    {%- elif encoding == 'days' -%}
        {%- do return('date_from_unix_date(cast(' ~ raw ~ ' as int))') -%}
    {%- endif -%}
    {%- set micros = {'millis': number ~ ' * 1000', 'micros': number,
                      'nanos': '(' ~ number ~ ' - pmod(' ~ number ~ ', 1000)) div 1000'}[encoding] -%}
    {%- if family == 'date' -%}
        {%- do return('date_from_unix_date(cast(floor(' ~ number ~ ' / 86400000) as int))') -%}
    {%- elif type | lower | trim == 'timestamp_ntz' -%}
        {%- do return("timestamp_ntz'1970-01-01 00:00:00' + make_dt_interval(0, 0, 0, cast(" ~ micros
                      ~ ' as decimal(20, 0)) / 1000000)') -%}
    {%- endif -%}
    {%- do return('timestamp_micros(' ~ micros ~ ')') -%}
{%- endmacro -%}


{%- macro _decimal_of_bytes(raw, name, type, scale) -%}
    {#- Big-endian two's complement of the unscaled number: padded to 16 bytes, two halves of 64 bits. -#}
    {%- set digits = 'hex(unbase64(' ~ raw ~ '))' -%}
    {%- set padded = 'lpad(' ~ digits ~ ", 32, if(" ~ digits ~ " >= '8', 'F', '0'))" -%}
    {%- set high = 'cast(conv(substr(' ~ padded ~ ', 1, 16), 16, -10) as decimal(20, 0))' -%}
    {%- set low = 'cast(conv(substr(' ~ padded ~ ', 17, 16), 16, 10) as decimal(20, 0))' -%}
    {%- set given = type.split(',')[1].split(')')[0] | trim if ',' in type else '0' -%}
    {%- set told = "dbt_cdc: from_debezium: column " ~ name ~ " (" ~ type ~ ") has a number of more than 16 bytes, which no"
                   ~ " decimal holds; ask for string to get it as Debezium wrote it: " -%}
    {%- set too_long = 'raise_error(concat(' ~ dbt_cdc._literal(told) ~ ', ' ~ raw ~ '))' -%}
    {%- do return('if(length(' ~ digits ~ ') > 32, ' ~ too_long ~ ', cast(concat(' ~ high ~ ' * 18446744073709551616BD + ' ~ low
                  ~ ", 'e-', " ~ (scale or given) ~ ') as ' ~ type ~ '))') -%}
{%- endmacro -%}

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
            'micros': ['io.debezium.time.MicroTimestamp'],
            'nanos': ['io.debezium.time.NanoTimestamp'],
            'text': ['io.debezium.time.IsoDate'],
        },
        'binary': {'base64': [], 'hex': []},
    }) -%}
{%- endmacro -%}


{%- macro _debezium_value(feed, name, type) -%}
    {%- set raw = dbt_cdc._debezium_raw(feed, name) -%}
    {%- set base = dbt_cdc._base_type(type) -%}
    {%- if feed.form == 'json' and base in ['array', 'map', 'struct'] -%}
        {%- set read = dbt_cdc._debezium_nested(raw, name, type) -%}
    {%- elif feed.encodings.get(name) and not (feed.encodings[name] == 'base64' and dbt_cdc._is_bytes_of_decimal(feed, name, base)) -%}
        {%- set read = dbt_cdc._debezium_decoded(raw, feed.encodings[name], name, type, base) -%}
    {%- elif feed.form != 'json' or base not in dbt_cdc._debezium_encodings() -%}
        {%- set read = dbt_cdc._debezium_cast(feed, raw, name, type, base) -%}
    {%- else -%}
        {%- set read = dbt_cdc._debezium_by_kind(raw, name, type, base) -%}
    {%- endif -%}
    {%- if feed.form == 'json' and base == 'decimal' -%}
        {#- VariableScaleDecimal: each value says its scale -#}
        {%- set own_scale = 'cast(get_json_object(' ~ raw ~ ", '$.scale') as int)" -%}
        {%- set own = dbt_cdc._decimal_of_bytes('get_json_object(' ~ raw ~ ", '$.value')", name, type, own_scale) -%}
        {%- set read = 'if(startswith(' ~ raw ~ ", '{'), " ~ own ~ ', ' ~ read ~ ')' -%}
    {%- endif -%}
    {%- do return(dbt_cdc._read_or_fail('from_debezium', name, type, raw, read)) -%}
{%- endmacro -%}


{%- macro _debezium_nested(raw, name, type) -%}
    {#- JSON text of an array, map or struct: NULL if anything within can't be read, of which Spark keeps the text. -#}
    {%- set shape = dbt_cdc._literal('v ' ~ dbt_cdc._json_type(type) ~ ', unread string') -%}
    {%- set json = 'concat(' ~ dbt_cdc._literal('{"v":') ~ ', ' ~ raw ~ ", '}')" -%}
    {%- set whole = 'from_json(' ~ json ~ ', ' ~ shape ~ ", map('columnNameOfCorruptRecord', 'unread'))" -%}
    {#- within a function, so that it is read once however many values are in it -#}
    {%- set read = 'if(whole.unread is null, ' ~ dbt_cdc._nested_value('whole.v', name, type) ~ ', null)' -%}
    {%- do return('get(transform(array(' ~ whole ~ '), whole -> ' ~ read ~ '), 0)') -%}
{%- endmacro -%}


{%- macro _debezium_by_kind(raw, name, type, base) -%}
    {#- JSON text without a stated encoding: as the schema part says; else only what can mean one thing. -#}
    {%- set kind = 'kinds[' ~ dbt_cdc._literal(name) ~ ']' -%}
    {%- set encodings = dbt_cdc._debezium_encodings()[base] -%}
    {%- if base == 'binary' -%}
        {#- bytes are base64 in JSON; text may be that or hex -#}
        {%- do return('if(' ~ kind ~ ".type = 'string' and " ~ raw ~ ' is not null, ' ~ dbt_cdc._unclear_encoding(name, type, base) ~ ', '
                      ~ dbt_cdc._debezium_decoded(raw, 'base64', name, type, base) ~ ')') -%}
    {%- endif -%}
    {%- set cases = ['when ' ~ raw ~ ' is null then null'] -%}
    {%- for encoding, names in encodings.items() if names -%}
        {%- do cases.append("when " ~ kind ~ ".name in ('" ~ names | join("', '") ~ "') then "
            ~ dbt_cdc._debezium_decoded(raw, encoding, name, type, base, 'cast(' ~ kind ~ '.scale as int)')) -%}
    {%- endfor -%}
    {%- if base == 'decimal' -%}
        {%- set clear = kind ~ ' is not null or ' ~ raw ~ " rlike '^-?[0-9]*[.][0-9]+([eE][-+]?[0-9]+)?$'" -%}
    {%- else -%}
        {%- set clear = 'not ' ~ raw ~ " rlike '^-?[0-9]+$'" -%}
    {%- endif -%}
    {%- do cases.append('when ' ~ clear ~ ' then ' ~ dbt_cdc._debezium_decoded(raw, 'text', name, type, base)) -%}
    {%- if base == 'date' -%}
        {%- do cases.append('when ' ~ kind ~ '.name is null then ' ~ dbt_cdc._debezium_decoded(raw, 'days', name, type, base)) -%}
    {%- endif -%}
    {%- do cases.append('else ' ~ dbt_cdc._unclear_encoding(name, type, base)) -%}
    {%- do return('case\n                ' ~ cases | join('\n                ') ~ '\n            end') -%}
{%- endmacro -%}


{%- macro _is_bytes_of_decimal(feed, name, base) -%}
    {#- A decimal that comes as its bytes, unscaled: of more digits than Spark has, or without its logical type. -#}
    {%- do return(feed.form != 'json' and base == 'decimal' and feed.fields[dbt_cdc._spelled(name, feed.fields)] == 'binary') -%}
{%- endmacro -%}


{%- macro _debezium_cast(feed, raw, name, type, base) -%}
    {#- A number is no timestamp unless someone says what it counts: Spark would take it for seconds. Of dates, 32 bits
        only ever count days. -#}
    {%- set given = feed.fields[dbt_cdc._spelled(name, feed.fields)] -%}
    {%- if base == 'decimal' and given.startswith('struct') -%}
        {%- do return(dbt_cdc._decimal_of_bytes('base64(' ~ raw ~ '.value)', name, type, raw ~ '.scale')) -%}
    {%- elif dbt_cdc._is_bytes_of_decimal(feed, name, base) -%}
        {%- do return(dbt_cdc._decimal_of_bytes('base64(' ~ raw ~ ')', name, type)) -%}
    {%- elif base not in ['timestamp', 'date'] -%}
        {%- do return(dbt_cdc._read_from(raw, given, type)) -%}
    {%- elif base == 'date' and given == 'int' -%}
        {%- do return(dbt_cdc._debezium_decoded(raw, 'days', name, type, base)) -%}
    {%- elif dbt_cdc._base_type(given) in ['timestamp', 'date'] -%}
        {%- do return(dbt_cdc._read_from(raw, given, type)) -%}
    {%- endif -%}
    {%- do return("if(typeof(" ~ raw ~ ") in ('bigint', 'int') and " ~ raw ~ " is not null, "
                  ~ dbt_cdc._unclear_encoding(name, type, base) ~ ', '
                  ~ dbt_cdc._debezium_decoded('cast(' ~ raw ~ ' as string)', 'text', name, type, base) ~ ')') -%}
{%- endmacro -%}


{%- macro _unclear_encoding(name, type, base) -%}
    {%- set known = dbt_cdc._debezium_encodings()[base].keys() | join(', ') -%}
    {%- do return('raise_error(' ~ dbt_cdc._literal("dbt_cdc: from_debezium can't tell how column " ~ name ~ " (" ~ type
        ~ ") is written, as no schema part of the envelope says it in a way that is known."
        ~ " Expected: encodings={'" ~ name ~ "': one of " ~ known ~ "}") ~ ')') -%}
{%- endmacro -%}

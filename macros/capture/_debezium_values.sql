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
    {%- set raw, base, encoding = dbt_cdc._debezium_raw(feed, name), dbt_cdc._base_type(type), feed.encodings.get(name) -%}
    {%- set given = feed.fields[dbt_cdc._spelled(name, feed.fields)] -%}
    {%- if feed.form == 'json' and base in ['array', 'map', 'struct'] -%}
        {#- JSON's own null is a value that a column of JSON may have -#}
        {%- set raw = 'nullif(trim(' ~ raw ~ "), 'null')" -%}
        {%- set read = dbt_cdc._debezium_nested(raw, name, type) -%}
    {%- elif feed.form == 'json' and base in dbt_cdc._debezium_encodings() -%}
        {%- set read = dbt_cdc._debezium_by_kind(raw, name, type, base, encoding) -%}
    {%- elif encoding and (dbt_cdc._family_of_type(given) in (['text'] if base == 'decimal' else ['text', 'number'])
                           or (encoding == 'text' and given == 'binary')) -%}
        {%- set written = 'cast(' ~ raw ~ ' as string)' if given == 'binary' else raw -%}
        {%- set read = dbt_cdc._debezium_decoded(written, encoding, name, type, base) -%}
    {%- else -%}
        {%- set read = dbt_cdc._debezium_cast(raw, given, name, type, base) -%}
    {%- endif -%}
    {%- if feed.form == 'json' and base == 'decimal' -%}
        {#- VariableScaleDecimal: each value says its scale -#}
        {%- set own_scale = 'cast(get_json_object(' ~ raw ~ ", '$.scale') as int)" -%}
        {%- set own = dbt_cdc._decimal_of_bytes('get_json_object(' ~ raw ~ ", '$.value')", name, type, own_scale) -%}
        {%- set read = 'if(startswith(' ~ raw ~ ", '{'), " ~ own ~ ', ' ~ read ~ ')' -%}
    {%- endif -%}
    {%- set is_encoded = base in dbt_cdc._debezium_encodings() and dbt_cdc._family_of_type(given) in ['text', 'number'] -%}
    {%- set remedy = (', or say by `encodings` how it is written, where no schema part does' if is_encoded else '')
        ~ (', or as decimal, which takes numbers with a scale of their own' if base in ['int', 'bigint'] else '') -%}
    {%- do return(dbt_cdc._read_or_fail('from_debezium', name, type, raw, read, remedy)) -%}
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


{%- macro _debezium_by_kind(raw, name, type, base, encoding) -%}
    {#- JSON text as the schema part says, else as `encoding` does, else only what can mean one thing. -#}
    {%- set kind = 'kinds[' ~ dbt_cdc._literal(name) ~ ']' -%}
    {%- set otherwise = dbt_cdc._debezium_decoded(raw, encoding, name, type, base) if encoding
                        else dbt_cdc._unclear_encoding(name, type, base) -%}
    {%- set cases = ['when ' ~ raw ~ ' is null then null'] -%}
    {%- if base == 'decimal' and encoding == 'text' -%}
        {#- a JSON number (decimal.format: NUMERIC), which the schema part calls bytes all the same -#}
        {%- do cases.append('when ' ~ raw ~ " rlike '^-?[0-9]*[.]?[0-9]+([eE][-+]?[0-9]+)?$' then " ~ otherwise) -%}
    {%- endif -%}
    {%- for written, names in dbt_cdc._debezium_encodings()[base].items() if names -%}
        {%- do cases.append("when " ~ kind ~ ".name in ('" ~ names | join("', '") ~ "') then "
            ~ dbt_cdc._debezium_decoded(raw, written, name, type, base, 'cast(' ~ kind ~ '.scale as int)')) -%}
    {%- endfor -%}
    {%- for condition, written in dbt_cdc._debezium_clear(raw, kind, base, encoding).items() -%}
        {%- do cases.append('when ' ~ condition ~ ' then ' ~ dbt_cdc._debezium_decoded(raw, written, name, type, base)) -%}
    {%- endfor -%}
    {%- if base in ['timestamp', 'date'] -%}
        {%- do cases.append('when ' ~ dbt_cdc._debezium_other_kind(raw, kind, name, type)) -%}
    {%- endif -%}
    {%- do cases.append('else ' ~ otherwise) -%}
    {%- do return('case\n                ' ~ cases | join('\n                ') ~ '\n            end') -%}
{%- endmacro -%}


{%- macro _debezium_other_kind(raw, kind, name, type) -%}
    {#- A count that the schema part names, of which no such moment can be made, whatever an encoding says. -#}
    {%- set is_other = kind ~ ".name rlike '^(io[.]debezium[.]time|org[.]apache[.]kafka[.]connect[.]data)[.]'" -%}
    {%- do return(raw ~ " rlike '^-?[0-9]+$' and " ~ is_other ~ ' then raise_error(concat('
        ~ dbt_cdc._literal("dbt_cdc: from_debezium: column " ~ name ~ " is by the envelope's schema part a ") ~ ', ' ~ kind ~ '.name, '
        ~ dbt_cdc._literal(", of which no " ~ type ~ " can be made: ask for bigint or string, which take what is written, or for date"
                           ~ " where it is one") ~ '))') -%}
{%- endmacro -%}


{%- macro _debezium_clear(raw, kind, base, encoding) -%}
    {#- condition -> encoding, of values that can mean one thing whether or not a Kafka Connect name says it. -#}
    {%- if base == 'binary' -%}
        {#- bytes are base64 in JSON; text may be that or hex -#}
        {%- do return({kind ~ ".type = 'bytes'" if encoding else 'not ' ~ kind ~ ".type <=> 'string'": 'base64'}) -%}
    {%- elif encoding -%}
        {%- do return({kind ~ ".type <> 'bytes'": 'text'} if base == 'decimal' else {}) -%}
    {%- elif base == 'decimal' -%}
        {%- do return({kind ~ ".type <> 'bytes' or " ~ raw ~ " rlike '^-?[0-9]*[.][0-9]+([eE][-+]?[0-9]+)?$'": 'text'}) -%}
    {%- endif -%}
    {%- do return(dict({'not ' ~ raw ~ " rlike '^-?[0-9]+$'": 'text'}, **({kind ~ '.name is null': 'days'} if base == 'date' else {}))) -%}
{%- endmacro -%}


{%- macro _debezium_cast(raw, given, name, type, base) -%}
    {#- What has a type already. A number is no timestamp unless someone says what it counts: Spark would take it for seconds. Of
        dates, 32 bits only ever count days. A decimal may come as its bytes, unscaled: of more digits than Spark has, or without its
        logical type. -#}
    {%- if base == 'decimal' and given.startswith('struct') -%}
        {%- do return(dbt_cdc._decimal_of_bytes('base64(' ~ raw ~ '.value)', name, type, raw ~ '.scale')) -%}
    {%- elif base == 'decimal' and given == 'binary' -%}
        {%- do return(dbt_cdc._decimal_of_bytes('base64(' ~ raw ~ ')', name, type)) -%}
    {%- elif base == 'date' and given == 'int' -%}
        {%- do return(dbt_cdc._debezium_decoded(raw, 'days', name, type, base)) -%}
    {%- elif base not in ['timestamp', 'date'] or dbt_cdc._base_type(given) in ['timestamp', 'date'] -%}
        {%- do return(dbt_cdc._read_from(raw, given, type)) -%}
    {%- endif -%}
    {%- set read = dbt_cdc._debezium_decoded('cast(' ~ raw ~ ' as string)', 'text', name, type, base) -%}
    {%- do return('if(' ~ raw ~ ' is null, ' ~ read ~ ', ' ~ dbt_cdc._unclear_encoding(name, type, base) ~ ')' if given in ['bigint', 'int']
                  else read) -%}
{%- endmacro -%}


{%- macro _unclear_encoding(name, type, base) -%}
    {%- set known = dbt_cdc._debezium_encodings()[base].keys() | join(', ') -%}
    {%- do return('raise_error(' ~ dbt_cdc._literal("dbt_cdc: from_debezium can't tell how column " ~ name ~ " (" ~ type
        ~ ") is written, as no schema part of the envelope says it in a way that is known."
        ~ " Expected: encodings={'" ~ name ~ "': one of " ~ known ~ "}") ~ ')') -%}
{%- endmacro -%}

{#- Values of other types, read without loss. -#}

{%- macro _base_type(type) -%}
    {#- What a type has in common with others as far as encodings go. -#}
    {%- set word = (type | lower | trim).split('(')[0].split('<')[0] | trim -%}
    {%- do return({'numeric': 'decimal', 'dec': 'decimal', 'timestamp_ntz': 'timestamp', 'timestamp_ltz': 'timestamp', 'byte': 'tinyint',
                   'short': 'smallint', 'integer': 'int', 'long': 'bigint', 'real': 'float', 'character': 'char'}.get(word, word)) -%}
{%- endmacro -%}


{%- macro _text_pattern(type) -%}
    {#- The pattern of text that Spark reads as it is, or none. To other text it adds a day or a month (12:00 is today's, 2024-01 the
        first), takes what it finds (202403 as a year, 0x1p3 and 1d as numbers) or leaves out what follows (10:30 of a day,
        +05:00 where no zone is). -#}
    {%- set number = '(?i)^[^0-9a-z.]*(inf|infinity|nan|([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]+)?)[^0-9a-z.]*$' -%}
    {%- do return({
        'date': '^ *[+-]?[0-9]+-[0-9]+-[0-9]+([ T]0?0:00(:00([.]0+)?)?(Z|[+-]00(:?00)?)?)? *$',
        'timestamp': '^[^0-9]*[0-9]+-[0-9]+-[0-9]',
        'timestamp_ntz': '^[^0-9]*[0-9]+-[0-9]+-[0-9]+([^0-9][0-9:.]*)? *(Z|UTC|GMT|[+-]0?0(:?00)?)?[^0-9a-zA-Z]*$',
        'float': number, 'double': number,
    }.get('timestamp_ntz' if type | lower | trim == 'timestamp_ntz' else dbt_cdc._base_type(type))) -%}
{%- endmacro -%}


{%- macro _read_as(value, type) -%}
    {#- NULL where the value is none of the type: text that Spark would add to or leave something out of is none (_text_pattern), nor a
        number that a decimal would round. What is nested Spark reads part by part. -#}
    {%- set type = dbt_cdc._with_instants(type) -%}
    {%- set read = ('cast(' if '<' in type else 'try_cast(') ~ value ~ ' as ' ~ type ~ ')' -%}
    {%- set text = dbt_cdc._text_pattern(type) -%}
    {%- if text is not none -%}
        {%- set is_text = "startswith(typeof(" ~ value ~ "), 'string')" -%}
        {%- do return('if(' ~ is_text ~ ' and not cast(' ~ value ~ " as string) rlike '" ~ text ~ "', null, " ~ read ~ ')') -%}
    {%- elif dbt_cdc._base_type(type) == 'variant' -%}
        {#- text is JSON, of which Spark's cast would make a variant that is that text -#}
        {%- do return("if(startswith(typeof(" ~ value ~ "), 'string'), try_parse_json(cast(" ~ value ~ ' as string)), ' ~ read ~ ')') -%}
    {%- elif dbt_cdc._base_type(type) in ['char', 'varchar'] and '(' in type -%}
        {#- which Spark's cast would leave as long as it is -#}
        {%- do return('if(char_length(' ~ read ~ ') > ' ~ modules.re.findall('[0-9]+', type)[0] ~ ', null, ' ~ read ~ ')') -%}
    {%- elif dbt_cdc._base_type(type) != 'decimal' -%}
        {%- do return(read) -%}
    {%- endif -%}
    {%- set digits = modules.re.findall('[0-9]+', type) -%}
    {%- set scale = digits[1] if digits | length > 1 else '0' -%}
    {%- do return('get(transform(array(cast(' ~ value ~ ' as string)), number -> if(' ~ dbt_cdc._decimal_places('number') ~ ' <= ' ~ scale
                  ~ ', try_cast(number as ' ~ type ~ '), null)), 0)') -%}
{%- endmacro -%}


{%- macro _read_from(value, given, type) -%}
    {#- As _read_as, where the value is of the type `given`: a number or moment that comes back from its cast as another one (3.7 as
        int, 10:30 as a date) is none either, nor a number a moment: what it counts is not said. As a float the nearest is taken. An
        instant is read in UTC, whatever the session's zone. -#}
    {%- if given | lower == 'timestamp' and (type | lower | trim) in ['timestamp_ntz', 'date'] -%}
        {%- set in_utc = "(timestamp_ntz '1970-01-01 00:00:00' + unix_micros(" ~ value ~ ") * interval '0.000001' second)" -%}
        {%- do return(dbt_cdc._read_from(in_utc, 'timestamp_ntz', type)) -%}
    {%- endif -%}
    {%- set read, family, base = dbt_cdc._read_as(value, type), dbt_cdc._family_of_type(given | lower), dbt_cdc._base_type(type) -%}
    {%- if [family, dbt_cdc._family_of_type(base)] | sort in [['moment', 'number'], ['date', 'number']] -%}
        {%- do return('cast(null as ' ~ dbt_cdc._with_instants(type) ~ ')') -%}{%- endif -%}
    {%- set exact = ['tinyint', 'smallint', 'int', 'bigint', 'double', 'boolean', 'date'] -%}
    {%- if family not in ['number', 'moment'] or base not in exact -%}{%- do return(read) -%}{%- endif -%}
    {%- do return('if(try_cast(' ~ read ~ ' as ' ~ given ~ ') = ' ~ value ~ ', ' ~ read ~ ', null)') -%}
{%- endmacro -%}


{%- macro _decimal_places(number) -%}
    {#- How many digits behind the point a number needs that is given as text, such as -10.50 (one), 1e-3 (three), 20 (none or
        fewer): those that it has, but for zeros at the end, moved by its exponent. -#}
    {%- set digits = "translate(regexp_extract(" ~ number ~ ", '^[^eE]*', 0), '+-. ', '')" -%}
    {%- do return("if(" ~ digits ~ " rlike '[1-9]', length(regexp_extract(" ~ number ~ ", '[.]([0-9]*)', 1)) - length(regexp_extract("
                  ~ digits ~ ", '0*$', 0)) - coalesce(try_cast(regexp_extract(" ~ number ~ ", '[eE]([-+]?[0-9]+)', 1) as int), 0), 0)") -%}
{%- endmacro -%}

{#- Values of other types, read without loss. -#}

{%- macro _base_type(type) -%}
    {#- What a type has in common with others as far as encodings go. -#}
    {%- set word = (type | lower | trim).split('(')[0].split('<')[0] | trim -%}
    {%- do return({'numeric': 'decimal', 'dec': 'decimal', 'timestamp_ntz': 'timestamp', 'timestamp_ltz': 'timestamp', 'byte': 'tinyint',
                   'short': 'smallint', 'integer': 'int', 'long': 'bigint', 'real': 'float', 'character': 'char'}.get(word, word)) -%}
{%- endmacro -%}


{%- macro _read_as(value, type) -%}
    {#- NULL where the value is none of the type: a number that a decimal would round is none, a time of day is no timestamp
        (Spark would put the day of the run before 12:00 or T12:00Z), and what is more or less than a day no date (of 2024-01-31 10:30 Spark
        would take the day, of 2024 the first of January). What is nested Spark reads part by part. -#}
    {%- set read = ('cast(' if '<' in type else 'try_cast(') ~ value ~ ' as ' ~ type ~ ')' -%}
    {%- set is_text = "startswith(typeof(" ~ value ~ "), 'string')" -%}
    {%- if dbt_cdc._base_type(type) == 'timestamp' -%}
        {%- do return('if(' ~ is_text ~ ' and cast(' ~ value ~ " as string) rlike '^[^0-9T]*(T|[0-9]+:)', null, " ~ read ~ ')') -%}
    {%- elif dbt_cdc._base_type(type) == 'date' -%}
        {%- set day = '^ *[+-]?[0-9]+-[0-9]+-[0-9]+([ T]0?0:00(:00([.]0+)?)?(Z|[+-]00(:?00)?)?)? *$' -%}
        {%- do return('if(' ~ is_text ~ ' and not cast(' ~ value ~ " as string) rlike '" ~ day ~ "', null, " ~ read ~ ')') -%}
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
        int, 10:30 as a date) is none either, nor a number a moment: what it counts is not said. As a float the nearest is taken. -#}
    {%- set read, family, base = dbt_cdc._read_as(value, type), dbt_cdc._family_of_type(given | lower), dbt_cdc._base_type(type) -%}
    {%- if [family, dbt_cdc._family_of_type(base)] | sort in [['moment', 'number'], ['date', 'number']] -%}{%- do return('cast(null as ' ~ type ~ ')') -%}{%- endif -%}
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

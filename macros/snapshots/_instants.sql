{#- Points in time, of whatever type, as instants: in UTC where they have no zone. -#}

{%- macro _instant(expression) -%}
    {#- A point in time as an instant: a timestamp_ntz, date or text without a zone is read as UTC, where a cast would go by
        the session's zone. Text that is no point in time is a fault of the source (_text_time_faults). -#}
    {%- set text = 'cast(' ~ expression ~ ' as string)' -%}
    {%- do return(
        "case typeof(" ~ expression ~ ") when 'timestamp' then cast(" ~ expression ~ " as timestamp_ltz) when 'string' then "
        ~ dbt_cdc._instant_of_text(text) ~ " else cast(concat(cast(cast(" ~ expression
        ~ " as timestamp_ntz) as string), 'Z') as timestamp_ltz) end") -%}
{%- endmacro -%}


{%- macro _text_time_faults(value, source, what, remedy) -%}
    {#- Text that is no point in time. `source`: stands in a `from` clause; `what` the text is of. -#}
    {%- set found = run_query('select count(*), min(' ~ value ~ ') from ' ~ source ~ ' where ' ~ value ~ ' is not null and '
                              ~ dbt_cdc._instant_of_text(value) ~ ' is null')[0] -%}
    {%- if not found[0] -%}{%- do return([]) -%}{%- endif -%}
    {%- do return([what ~ " has text that is no point in time in " ~ found[0] ~ " row(s), got '" ~ found[1] ~ "', expected a day, with or"
                   ~ " without a time, such as 2024-01-31 10:30:00 (in UTC unless it says its zone): " ~ remedy]) -%}
{%- endmacro -%}


{%- macro _instant_of_text(expression) -%}
    {#- Text without a zone is read as UTC, too; NULL if it is no point in time, or has no whole day (_text_pattern). -#}
    {%- do return("if(not " ~ expression ~ " rlike '" ~ dbt_cdc._text_pattern('timestamp') ~ "', null, coalesce(try_cast(concat("
                  ~ expression ~ ", 'Z') as timestamp_ltz), try_cast(concat(" ~ expression ~ ", ' 00:00:00Z') as timestamp_ltz), try_cast("
                  ~ expression ~ " as timestamp_ltz)))") -%}
{%- endmacro -%}

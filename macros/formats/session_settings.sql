{#- Settings of a session under which tables of a format do not hold what is written to them, or not give what they held:
    the name -> the value that is refused, what is expected, and why. (hash_diff asks the session that it loads in: _formats.py.) -#}

{%- macro delta__refused_settings() -%}
    {%- do return(dict(dbt_cdc.delta__refused_by_readers(), **{
        'spark.sql.parquet.outputTimestampType': ['TIMESTAMP_MILLIS', 'TIMESTAMP_MICROS or INT96', "times would lose their microseconds"],
    })) -%}
{%- endmacro -%}


{%- macro iceberg__refused_settings() -%}
    {%- do return({
        'spark.sql.storeAssignmentPolicy': ['LEGACY', 'ANSI or STRICT', "tables would be made, and Spark would refuse to write to them"],
    }) -%}
{%- endmacro -%}


{%- macro default__refused_settings() -%}{%- do return({}) -%}{%- endmacro -%}


{#- Those of them under which the table of another, too, does not give what it held. -#}

{%- macro delta__refused_by_readers() -%}
    {%- set gone = ['true', 'false', "a version whose files VACUUM took would lack their rows, with no error"] -%}
    {%- do return({'spark.sql.files.ignoreMissingFiles': gone, 'spark.sql.files.ignoreCorruptFiles': gone}) -%}
{%- endmacro -%}


{%- macro default__refused_by_readers() -%}{%- do return({}) -%}{%- endmacro -%}

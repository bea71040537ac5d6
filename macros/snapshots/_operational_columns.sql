{#- The operational columns of a snapshot: their names, types and values, stated once. -#}

{%- macro _operational_columns() -%}
    {#- Standard name -> name in the table; the var `operational_metadata_columns` renames. -#}
    {%- set names = {} -%}
    {%- set renamed = dbt_cdc._var('operational_metadata_columns', {}) -%}
    {%- for name in dbt_cdc._operational_types() -%}
        {#- what is no mapping is an error of each command that goes by it, generic tests are parsed by all -#}
        {%- do names.update({name: (renamed.get(name) if renamed is mapping else none) or name}) -%}
    {%- endfor -%}
    {%- do return(names) -%}
{%- endmacro -%}


{%- macro _operational_types(effective_type=none) -%}
    {%- do return({
        'insert_process_id': 'string',
        'update_process_id': 'string',
        'effective_start_timestamp': effective_type,
        'effective_end_timestamp': effective_type,
        'insert_timestamp': 'timestamp',
        'update_timestamp': 'timestamp',
    }) -%}
{%- endmacro -%}


{%- macro _open_values(start, now, effective_type) -%}
    {#- What an open record carries: name in the table -> SQL. `start`: dbt_valid_from, `now`: dbt's snapshot time. -#}
    {%- set names = dbt_cdc._operational_columns() -%}
    {%- do return({
        names.insert_process_id: dbt_cdc._literal(invocation_id),
        names.update_process_id: 'cast(null as string)',
        names.effective_start_timestamp: dbt_cdc._effective(start, effective_type),
        names.effective_end_timestamp: dbt_cdc._high_date(effective_type),
        names.insert_timestamp: 'cast(' ~ now ~ ' as timestamp_ltz)',
        names.update_timestamp: 'cast(null as timestamp_ltz)',
    }) -%}
{%- endmacro -%}


{%- macro _effective(expression, effective_type) -%}
    {#- A point in time as the effective columns hold it. A timestamp_ntz column holds UTC wall-clock time, whatever the
        zone of the session: exact arithmetic on the instant, as a cast would go by the session's zone. -#}
    {%- if effective_type == 'timestamp' -%}{%- do return(dbt_cdc._instant(expression)) -%}{%- endif -%}
    {%- do return(
        "if(typeof(" ~ expression ~ ") in ('timestamp', 'string'), timestamp_ntz '1970-01-01 00:00:00'"
        ~ " + unix_micros(" ~ dbt_cdc._instant(expression) ~ ") * interval '0.000001' second, "
        ~ "cast(" ~ expression ~ " as timestamp_ntz))") -%}
{%- endmacro -%}


{%- macro _high_date(effective_type) -%}
    {#- The end of open records. A timestamp (an instant) is read as UTC, so that every session writes the same one. -#}
    {%- set high_date = dbt_cdc._high_date_text() -%}
    {%- set high_date = high_date if ':' in high_date else high_date ~ ' 00:00:00' -%}
    {%- do return("timestamp_ltz '" ~ high_date ~ "Z'" if effective_type == 'timestamp' else "timestamp_ntz '" ~ high_date ~ "'") -%}
{%- endmacro -%}


{%- macro _high_date_text() -%}
    {#- In UTC; ISO's T and Z may be left out. -#}
    {%- set text = dbt_cdc._var('default_high_dttm', '9999-12-31 23:59:59.999999') | string | trim -%}
    {%- do return(modules.re.sub('^([0-9-]{10})[T ]([0-9:.]+)Z?$', '\\1 \\2', text)) -%}
{%- endmacro -%}

{#- Options that more than one capability takes; each adds its own to these. -#}

{%- macro _log_options() -%}
    {#- Of what can keep a change log: hash_diff, apply_changes and snapshots. -#}
    {%- do return({'change_log': {'type': 'string', 'values': ['key_op', 'data_before', 'data_before_after']}}) -%}
{%- endmacro -%}


{%- macro _reader_options() -%}
    {#- Of what can read by ref_changes. An incremental model keeps no log, and has a fault of its own that says so. -#}
    {%- do return(dict(
        dbt_cdc._log_options(),
        ref_changes_by={'type': 'string', 'values': ['column', 'version'], 'default': 'column'},
        ref_changes_column={'type': 'string', 'default': 'cdc_datetime_updated'},
    )) -%}
{%- endmacro -%}

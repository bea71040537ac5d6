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


{%- macro _idle_config_faults(more) -%}
    {#- Configs of dbt's other materializations that would be passed over without a word. -#}
    {%- set faults = [] -%}
    {%- for name in more + ['merge_update_columns', 'merge_exclude_columns', 'incremental_predicates', 'predicates']
        if model.config.get(name) is not none -%}
        {%- do faults.append(name ~ " has no meaning for " ~ model.config.materialized ~ ", got "
            ~ dbt_cdc._value_text(model.config.get(name)) ~ ": take it out, or set it to null here where a folder gives it") -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}

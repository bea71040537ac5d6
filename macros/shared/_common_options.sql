{#- Options that more than one capability takes; each adds these to its own. -#}
{%- macro _common_options() -%}
    {%- do return({
        'change_log': {'type': 'string', 'values': ['key_op', 'data_before', 'data_before_after']},
        'ref_changes_by': {'type': 'string', 'values': ['column', 'version'], 'default': 'column'},
        'ref_changes_column': {'type': 'string', 'default': 'cdc_datetime_updated'},
    }) -%}
{%- endmacro -%}

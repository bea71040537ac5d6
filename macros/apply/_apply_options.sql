{#- The options of apply_changes, and the rules between them. -#}
{%- macro _apply_options() -%}
    {%- set history, bitemporal = {'stored_as_scd_type': [2, 'bitemporal']}, {'stored_as_scd_type': ['bitemporal']} -%}
    {%- set feed = {'source_kind': ['feed']} -%}
    {%- do return(dict(dbt_cdc._reader_options(), **{
        'sequence_by': {'type': 'list', 'required': true, 'expects': 'a column, an expression or a list of columns'},
        'stored_as_scd_type': {'type': 'scalar', 'values': [1, 2, 'bitemporal'], 'default': 1},
        'system_sequence_by': {'type': 'list', 'under': bitemporal},
        'apply_as_deletes': {'type': 'string', 'under': feed},
        'apply_as_truncates': {'type': 'string', 'under': dict(feed, stored_as_scd_type=[1])},
        'column_list': {'type': 'list', 'filled': true, 'rival': 'except_column_list'},
        'except_column_list': {'type': 'list', 'filled': true},
        'track_history_column_list': {
            'type': 'list', 'filled': true, 'under': history, 'rival': 'track_history_except_column_list'},
        'track_history_except_column_list': {'type': 'list', 'filled': true, 'under': history},
        'ignore_null_updates': {'type': 'boolean', 'under': feed},
        'ignore_null_updates_column_list': {
            'type': 'list', 'filled': true, 'under': feed, 'rival': 'ignore_null_updates_except_column_list'},
        'ignore_null_updates_except_column_list': {'type': 'list', 'filled': true, 'under': feed},
        'columns_to_update': {'type': 'string', 'under': feed},
        'source_kind': {'type': 'string', 'values': ['feed', 'snapshot'], 'default': 'feed'},
        'snapshot_version': {'type': 'scalar', 'under': {'source_kind': ['snapshot']}},
        'on_conflict': {'type': 'string', 'values': ['error', 'resolve'], 'default': 'error'},
        'tombstone_retention': {'type': 'string', 'default': '2 days', 'under': {'stored_as_scd_type': [1, 2]},
                                'expects': "a number and a unit such as '2 days'"},
        'max_delete_fraction': {'type': 'number', 'between': [0, 1]},
        'start_at_column': {'type': 'string', 'default': '__START_AT', 'under': history},
        'end_at_column': {'type': 'string', 'default': '__END_AT', 'under': history},
        'system_start_at_column': {'type': 'string', 'default': '__SYSTEM_START_AT', 'under': bitemporal},
        'system_end_at_column': {'type': 'string', 'default': '__SYSTEM_END_AT', 'under': bitemporal},
    })) -%}
{%- endmacro -%}


{%- macro _apply_option_faults() -%}
    {#- What is wrong between options that are each right by themselves. -#}
    {%- set given, faults = dbt_cdc._meta(), [] -%}
    {%- if not model.config.get('unique_key') -%}
        {%- do faults.append("the config 'unique_key' is required (a column or a list of columns), beside meta") -%}
    {%- endif -%}
    {%- do faults.extend(dbt_cdc._format_faults() + dbt_cdc._isolation_faults() + dbt_cdc._idle_config_faults(['options'])
                         + dbt_cdc._branch_faults([this])) -%}
    {%- do faults.extend(dbt_cdc._value_faults('partition_by', {'type': 'list'}, model.config.get('partition_by'))) -%}
    {%- if model.config.get('clustered_by') and not dbt_cdc._formats().get(dbt_cdc._file_format(model.config), {}).buckets -%}
        {%- do faults.append("clustered_by: " ~ dbt_cdc._file_format(model.config) ~ " knows no buckets: take it out") -%}
    {%- elif model.config.get('clustered_by') and not model.config.get('buckets') -%}
        {%- do faults.append("clustered_by: dbt-spark writes nothing of it without `buckets`: give their number, or take it out") -%}
    {%- endif -%}
    {%- set changes = ['ignore', 'fail', 'append_new_columns', 'sync_all_columns'] -%}
    {%- do faults.extend(dbt_cdc._value_faults('on_schema_change', {'values': changes}, model.config.get('on_schema_change'))) -%}
    {%- if given.get('stored_as_scd_type') == 'bitemporal' and given.get('source_kind') == 'snapshot' -%}
        {%- do faults.append("'stored_as_scd_type: bitemporal' needs 'source_kind: feed': an image does not say when a row"
            ~ " became known") -%}
    {%- elif given.get('stored_as_scd_type') == 'bitemporal' and not given.get('system_sequence_by') -%}
        {%- do faults.append("option 'system_sequence_by' is required under 'stored_as_scd_type: bitemporal': what says when"
                             ~ " an event became known") -%}
    {%- endif -%}
    {%- set lists = ['ignore_null_updates_column_list', 'ignore_null_updates_except_column_list'] -%}
    {%- for list in lists if given.get(list) and given.get('ignore_null_updates') is false -%}
        {%- do faults.append("'ignore_null_updates: false' contradicts '" ~ list ~ "' beside it: give one of them") -%}
    {%- endfor -%}
    {%- set names_deletes = given.get('apply_as_deletes') or given.get('apply_as_truncates') -%}
    {%- if given.get('max_delete_fraction') is not none and not names_deletes and given.get('source_kind') != 'snapshot' -%}
        {%- do faults.append("option 'max_delete_fraction' has no meaning where no event is a delete, got "
            ~ dbt_cdc._value_text(given.max_delete_fraction) ~ ": set apply_as_deletes, or take it out") -%}
    {%- endif -%}
    {%- set retention = given.get('tombstone_retention') -%}
    {%- if retention is string and not dbt_cdc._apply_span(retention) -%}
        {%- do faults.append("option 'tombstone_retention' must be a number and a unit (second, minute, hour, day, week)"
                             ~ " such as '2 days', got " ~ dbt_cdc._value_text(retention)) -%}
    {%- endif -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _apply_span(text) -%}
    {#- A retention as it stands after `interval` in SQL: '2 days' for 'INTERVAL 2 Days'; none for what is no retention. -#}
    {%- set span = modules.re.fullmatch('(?:interval )?([0-9]+ (?:second|minute|hour|day|week)s?)', text | string | lower) -%}
    {%- do return(span.group(1) if span else none) -%}
{%- endmacro -%}

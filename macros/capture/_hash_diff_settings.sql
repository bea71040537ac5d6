{#- The options of a hash_diff model, checked, as the Python side takes them (Settings in _hash_diff_layout.py). -#}

{%- macro _hash_diff_options() -%}
    {#- those of readers, too, which a folder may have for its other models -#}
    {%- do return(dict(dbt_cdc._reader_options(), **{
        'unique_key': {'type': 'list'},
        'extract_type': {'type': 'string', 'values': ['full', 'delta'], 'default': 'full'},
        'effective_date': {'type': 'date', 'default': run_started_at.strftime('%Y-%m-%d')},
        'allow_older_effective_date': {'type': 'boolean', 'default': false},
        'max_delete_fraction': {'type': 'number', 'between': [0, 1], 'under': {'extract_type': ['full']}},
        'ignore_columns': {'type': 'list', 'default': []},
        'sensitive_columns': {'type': 'list', 'default': []},
        'hash_algorithm': {'type': 'string', 'values': ['md5', 'sha2_256', 'xxhash64'], 'default': 'md5'},
        'deduplicate': {'type': 'boolean', 'default': false},
        'on_cast_error': {'type': 'string', 'values': ['error', 'rejects'], 'default': 'error'},
    })) -%}
{%- endmacro -%}


{%- macro _hash_diff_settings(existing, foreign) -%}
    {%- set given, columns = dbt_cdc._meta(), dbt_cdc._hash_diff_columns() -%}
    {%- set ignored = dbt_cdc._names_in(given.get('ignore_columns')) + dbt_cdc._marked_columns(model, 'ignore') -%}
    {%- set sensitive = dbt_cdc._names_in(given.get('sensitive_columns')) + dbt_cdc._marked_columns(model, 'sensitive') -%}
    {%- set keys = dbt_cdc._hash_diff_key(model) -%}
    {%- set faults = columns.faults + dbt_cdc._hash_diff_faults(keys, ignored) -%}
    {%- if foreign and not should_full_refresh() -%}
        {%- do faults.append(existing ~ " is a table that hash_diff did not make, its rows would be lost. "
            ~ "Give the model another name, or replace it with --full-refresh") -%}
    {%- endif -%}
    {%- set options = dbt_cdc._check_options(dbt_cdc._hash_diff_options(), faults) -%}
    {%- set format = dbt_cdc._file_format() -%}
    {%- set properties = dict(dbt_cdc._for_format('hash_diff_properties', format)(), **(config.get('tblproperties') or {})) -%}
    {%- set partitions, of_base = dbt_cdc._names_in(config.get('partition_by')), {} -%}
    {%- for name, value in dbt_cdc._for_format('partitioned_properties', format)().items()
        if partitions and name not in (config.get('tblproperties') or {}) -%}
        {%- do of_base.update({name: value}) -%}
    {%- endfor -%}
    {%- for name in dbt_cdc._reader_options() -%}{%- do options.pop(name) -%}{%- endfor -%}
    {%- do return(dict(options, **{
        'node': model.unique_id,
        'format': format,
        'replace_conflicts': dbt_cdc._formats()[format].replace_conflicts,
        'model': dbt_cdc._hash_diff_name(''),
        'base': dbt_cdc._hash_diff_name('__base'),
        'history': dbt_cdc._hash_diff_name('__history'),
        'sensitive': dbt_cdc._hash_diff_name('__sensitive'),
        'sensitive_base': dbt_cdc._hash_diff_name('__sensitive_base'),
        'rejects': dbt_cdc._hash_diff_name('__rejects'),
        'unique_key': keys,
        'ignore_columns': ignored | unique | list,
        'sensitive_columns': sensitive | unique | list,
        'on_schema_change': dbt_cdc._hash_diff_schema_change(),
        'types': columns.types,
        'comments': columns.comments,
        'model_type': existing.type if existing is not none and not foreign else none,
        'foreign': foreign,
        'full_refresh': should_full_refresh(),
        'reads_a_part': dbt_cdc._reads_a_part(),
        'description': model.description if config.persist_relation_docs() else '',
        'location_root': config.get('location_root'),
        'partition_by': partitions,
        'table_properties': properties,
        'base_properties': of_base,
        'failing_names': dbt_cdc._failing_names(format),
    })) -%}
{%- endmacro -%}


{%- macro _hash_diff_faults(keys, ignored) -%}
    {%- set faults = [] -%}
    {%- for name in ['unique_key', 'partition_by'] -%}
        {%- do faults.extend(dbt_cdc._value_faults(name, {'type': 'list'}, config.get(name))) -%}
    {%- endfor -%}
    {%- set method = dbt_cdc._submission_method(config) -%}
    {%- if method != 'session' -%}
        {%- do faults.append("submission_method must be session for hash_diff, got "
            ~ (config.get('submission_method') or 'none, over method ' ~ method)
            ~ ": set it, and SPARK_REMOTE where dbt's own connection is no session") -%}
    {%- endif -%}
    {%- if not keys -%}
        {%- do faults.append("option 'unique_key' is required (list): the columns that make a row's key, "
            ~ "or `meta: {dbt_cdc: {key: true}}` at those columns") -%}
    {%- endif -%}
    {%- for name in keys if name | lower in ignored | map('lower') | list -%}
        {%- do faults.append("column '" ~ name ~ "' is a key and can't be ignored too") -%}
    {%- endfor -%}
    {%- set changes = ['ignore', 'fail', 'append_new_columns'] -%}
    {%- do faults.extend(dbt_cdc._value_faults('on_schema_change', {'values': changes}, dbt_cdc._hash_diff_schema_change())) -%}
    {%- do faults.extend(dbt_cdc._format_faults() + dbt_cdc._isolation_faults()
                         + dbt_cdc._idle_config_faults(['clustered_by', 'buckets', 'options'])) -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _hash_diff_schema_change() -%}
    {#- dbt's own default, ignore, stands in every node's config: only what was written down counts. -#}
    {%- set given = 'on_schema_change' in model.get('unrendered_config', {}) -%}
    {%- do return(config.get('on_schema_change') if given else 'append_new_columns') -%}
{%- endmacro -%}


{%- macro _hash_diff_name(suffix) -%}
    {#- dbt-spark takes a catalog before the schema's name, as part of it -#}
    {%- set schema = this.schema | string | replace('`', '') -%}
    {%- do return(dbt_cdc._quoted_list(schema.split('.') + [this.identifier ~ suffix]) | join('.')) -%}
{%- endmacro -%}

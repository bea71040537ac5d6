{#- What each table format can do: the one table that the rest of the package asks.
    capture           hash_diff and apply_changes can write it, and a log of row changes can be kept beside a table
    version           what errors call a version: what `version as of` takes, and table_changes gives as `version`
    ordered_versions  a later version is the greater number
    timed_versions    a version is the text of its commit's time, which readers in other zones take for other instants
    keeps_untyped     a column may be without a type until its first values come
    tells_renames     the history says which commits renamed a column
    column_names      table properties without which names such as `a b` or `a.b` are refused
    set_later         table properties that can't be on in the statement that makes a table with those, and the settings by which a
                      session switches them on for tables that do not name them
    own_columns       names of columns that it has itself: a table with another so named can't be read (Iceberg) or merged into (Delta)
    kept_prefix       what the names of columns begin with that it keeps in each table beside the table's own; none: keeps none
    feed_columns      names of columns, as regular expressions, beside which there can't be a change feed
    shared_properties table properties that all tables of a model have: some types of columns ask for them, or they say how a MERGE
                      writes
    buckets           a table can be clustered by columns into buckets
    replace_conflicts `create or replace` fails where another run has made the table meanwhile; elsewhere a table is made by plain
                      `create`, which on this format would refuse the folder that a killed statement left
    branch_settings   settings of a session by which it writes to a branch of a table that has such
    timestamp_ntz     table properties without which an existing table gets no column of that type
    timestamp_ltz     the parser of statements that read its older versions knows that type -#}
{%- macro _formats() -%}
    {%- do return({
        'delta': {
            'capture': true,
            'version': 'commit version',
            'ordered_versions': true,
            'timed_versions': false,
            'keeps_untyped': true,
            'tells_renames': true,
            'column_names': {'delta.columnMapping.mode': 'name'},
            'set_later': {dbt_cdc._delta_feed(): 'spark.databricks.delta.properties.defaults.enableChangeDataFeed'},
            'own_columns': ['_metadata'],
            'kept_prefix': none,
            'feed_columns': ['_change_type', '_commit_version', '_commit_timestamp', '.*`.*'],
            'shared_properties': ['delta.enableDeletionVectors'],
            'buckets': false,
            'replace_conflicts': true,
            'branch_settings': [],
            'timestamp_ntz': {'delta.feature.timestampNtz': 'supported'},
            'timestamp_ltz': true,
        },
        'iceberg': {
            'capture': true,
            'version': 'snapshot id',
            'ordered_versions': false,
            'timed_versions': false,
            'keeps_untyped': false,
            'tells_renames': false,
            'column_names': {},
            'set_later': {},
            'own_columns': ['_file', '_pos', '_deleted', '_spec_id', '_partition', '_row_id', '_last_updated_sequence_number'],
            'kept_prefix': none,
            'feed_columns': [],
            'shared_properties': ['format-version', 'write.merge.mode'],
            'buckets': true,
            'replace_conflicts': false,
            'branch_settings': ['spark.wap.branch', 'spark.wap.id'],
            'timestamp_ntz': {},
            'timestamp_ltz': true,
        },
        'hudi': {
            'capture': false,
            'version': 'instant',
            'ordered_versions': true,
            'timed_versions': true,
            'keeps_untyped': false,
            'tells_renames': false,
            'column_names': {},
            'set_later': {},
            'own_columns': [],
            'kept_prefix': '_hoodie_',
            'feed_columns': [],
            'shared_properties': [],
            'buckets': false,
            'replace_conflicts': false,
            'branch_settings': [],
            'timestamp_ntz': {},
            'timestamp_ltz': false,
        },
    }) -%}
{%- endmacro -%}


{%- macro _formats_with(ability) -%}
    {%- set names = [] -%}
    {%- for name, abilities in dbt_cdc._formats().items() if abilities[ability] -%}{%- do names.append(name) -%}{%- endfor -%}
    {%- do return(names) -%}
{%- endmacro -%}


{%- macro _format_of(relation) -%}
    {#- The format of an existing relation (as adapter.get_relation or load_relation gives it); none for any other. -#}
    {%- if relation.is_delta -%}{%- do return('delta') -%}{%- endif -%}
    {%- if relation.is_iceberg -%}{%- do return('iceberg') -%}{%- endif -%}
    {%- if relation.is_hudi -%}{%- do return('hudi') -%}{%- endif -%}
    {%- do return(none) -%}
{%- endmacro -%}


{%- macro _file_format(settings=none) -%}
    {#- Of the tables that this node makes, or a node with these settings. -#}
    {%- do return((settings or config).get('file_format') or 'delta') -%}
{%- endmacro -%}


{%- macro _format_faults() -%}
    {%- do return(dbt_cdc._value_faults('file_format', {'values': dbt_cdc._formats_with('capture')},
                                        dbt_cdc._file_format(model.config))) -%}
{%- endmacro -%}


{%- macro _other_format_faults(table, format) -%}
    {#- `table`: one of this node's as it exists, or none; `format`: the one that the node is configured to write. -#}
    {%- set own = dbt_cdc._format_of(table) if table is not none else none -%}
    {%- if own in [none, format] -%}{%- do return([]) -%}{%- endif -%}
    {%- set got = "'" ~ format ~ "'" if format else 'not set' -%}
    {%- do return([table ~ " is a table of format '" ~ own ~ "', the config 'file_format' is " ~ got ~ ": set it back"
                   ~ (", or have the table made anew by --full-refresh" if model.resource_type != 'snapshot' else '')]) -%}
{%- endmacro -%}


{%- macro _for_format(statement, format) -%}
    {#- The macro that writes `statement` for a format: `delta__timeline` for ('timeline', 'delta'), or that of all formats which
        have none of their own, `default__timeline`. They live in this folder; statements of one subject share a file. -#}
    {%- for name in [format ~ '__' ~ statement, 'default__' ~ statement] if name in context['dbt_cdc'] and format in dbt_cdc._formats() -%}
        {%- do return(context['dbt_cdc'][name]) -%}
    {%- endfor -%}
    {%- do exceptions.raise_compiler_error(
        "dbt_cdc: " ~ statement ~ " can't be done on tables of format '" ~ format ~ "' (" ~ dbt_cdc._running() ~ ")") -%}
{%- endmacro -%}

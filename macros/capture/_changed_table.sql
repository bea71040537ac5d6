{#- What there is to know about a table before its changes can be read. -#}

{%- macro _changed_table(relation, unique_key=none, begin=none, log=true, unchecked=false) -%}
    {#- relation, format, columns (its own, in order), key (names, or none), source (`schema.table`), timeline, where
        (a condition on `image`, or none), and with `log` what its log holds (or none), where the timeline is that of both and
        `own` the table without its log, which is asked for its commits since `begin`. A reader adds `taken_for_key`, where the key
        is its own. `unchecked`: changes are only counted, so that neither repeated keys nor a log of another table are an error. -#}
    {%- set held = dbt_cdc._storage_relation(relation) -%}
    {%- set existing = dbt_cdc._load_relation(held) -%}
    {%- set format = dbt_cdc._format_of(existing) if existing is not none else none -%}
    {%- set source = dbt_cdc._source_name(relation) -%}
    {%- if format is none -%}
        {%- set got, remedy = ['does not exist', 'build it first'] if existing is none
            else ['is a view', 'read the table behind it'] if existing.is_view
            else ['is a ' ~ (existing.type or 'table') ~ ' of another format', 'build it anew in one of these'] -%}
        {%- do dbt_cdc._raise_faults(["changes of " ~ source ~ ": it " ~ got ~ ", expected a table of format "
            ~ (dbt_cdc._formats().keys() | join(', ')) ~ "; " ~ remedy]) -%}
    {%- endif -%}
    {%- do dbt_cdc._refresh_metadata(existing) -%}
    {%- if not unchecked and flags.WHICH not in ['compile', 'generate'] -%}
        {%- set found, asked = dbt_cdc._of_this_run(), 'settings for readers of ' ~ format -%}
        {%- if asked not in found -%}
            {%- do found.update({asked: dbt_cdc._setting_faults(dbt_cdc._for_format('refused_by_readers', format)())}) -%}
        {%- endif -%}
        {%- do dbt_cdc._raise_faults(found[asked], about="changes of " ~ source ~ ": ") -%}
    {%- endif -%}
    {%- set columns = dbt_cdc._own_columns(existing) -%}
    {%- do dbt_cdc._raise_faults(
        dbt_cdc._value_faults('unique_key', {'type': 'list'}, unique_key), about="changes of " ~ source ~ ": ") -%}
    {%- set key = dbt_cdc._key_of_table(relation, unique_key, format) -%}
    {%- do dbt_cdc._raise_faults(dbt_cdc._key_faults(key or [], columns), about="changes of " ~ source ~ ": ") -%}
    {%- set table = {
        'relation': existing, 'format': format, 'source': source, 'columns': columns, 'key': key, 'unchecked': unchecked, 'log': none,
        'timeline': dbt_cdc._for_format('timeline', format)(existing, begin),
        'where': dbt_cdc._rows_of_model() if held.identifier != relation.identifier else none,
    } -%}
    {%- set kept = dbt_cdc._change_log_of(relation, table, begin) if log and key else none -%}
    {%- do return(dbt_cdc._with_log(table, kept) if kept is not none else table) -%}
{%- endmacro -%}


{%- macro _source_name(relation) -%}
    {#- `schema.table`, with the catalog where it is not the session's own. -#}
    {%- do return(dbt_cdc._without_own_catalog(relation.schema) ~ '.' ~ relation.identifier) -%}
{%- endmacro -%}


{%- macro _storage_relation(relation) -%}
    {#- The table that holds a model's rows: a hash_diff model is a view over `<model>__base`. -#}
    {%- set node = dbt_cdc._node_of(relation) -%}
    {%- if node is not none and node.config.get('materialized') == 'hash_diff' -%}
        {%- do return(dbt_cdc._companion(relation, 'base')) -%}
    {%- endif -%}
    {%- do return(relation) -%}
{%- endmacro -%}


{%- macro _rows_of_model() -%}
    {#- Which rows of a hash_diff's base table are the model's: not the marker of its last load, not what is deleted. -#}
    {%- do return('image.' ~ dbt_cdc._hash_diff_layout().is_key ~ " and image.operation <> 'D'") -%}
{%- endmacro -%}

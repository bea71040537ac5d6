{#- The table cdc_metadata: one row for each move of an edge, appended, never changed. The newest row of an edge is
    the one of the greatest sequence: no clock decides. Of two rows of one sequence, which two runs at once append, the
    lower watermark holds, so that rows are read twice rather than left out; a reset beside them wins. -#}

{%- macro _metadata_columns() -%}
    {%- do return({
        'source': 'string', 'destination': 'string', 'cdc_datetime_updated': 'timestamp_ltz',
        'tracked_by': 'string', 'column_name': 'string', 'column_type': 'string', 'watermark': 'string',
        'sequence': 'bigint', 'recorded_at': 'timestamp_ltz', 'invocation_id': 'string',
    }) -%}
{%- endmacro -%}


{%- macro _metadata_relation() -%}
    {%- set schema = dbt_cdc._var('metadata_schema') or target.schema -%}
    {%- do return(api.Relation.create(schema=schema, identifier='cdc_metadata', type='table')) -%}
{%- endmacro -%}


{%- macro _create_metadata(readers) -%}
    {#- Before any thread writes, and only where a selected node reads by ref_changes. -#}
    {%- set readers = readers if dbt_cdc._writes_tables() else [] -%}
    {%- do dbt_cdc._cache_unlisted_tables(readers) -%}
    {%- set format = dbt_cdc._metadata_format(readers) -%}
    {%- if format and not flags.EMPTY -%}
        {%- set relation = dbt_cdc._metadata_relation() -%}
        {%- set existing = dbt_cdc._load_relation(relation) -%}
        {%- if existing is none -%}
            {%- do dbt_cdc._create_metadata_beside_others(relation, format) -%}
            {#- for the models of this run, which then need not look for it -#}
            {%- do adapter.cache_added(dbt_cdc._load_relation(relation)) -%}
        {%- else -%}
            {%- do dbt_cdc._raise_run_faults(dbt_cdc._foreign_metadata_faults(existing)) -%}
            {%- do dbt_cdc._for_format('compact_small_appends', dbt_cdc._format_of(existing))(existing) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _selected_readers() -%}
    {#- The models that read by ref_changes: SQL models carry the hook that it gave them when dbt parsed them; Python models name
        the function. -#}
    {%- do return(dbt_cdc._readers_among(dbt_cdc._selected_nodes())) -%}
{%- endmacro -%}


{%- macro _readers_among(nodes) -%}
    {%- set readers = [] -%}
    {%- for node in nodes
        if dbt_cdc._has_watermark_hook(node) or (node.get('language') == 'python' and 'ref_changes' in node.raw_code) -%}
        {%- do readers.append(node) -%}
    {%- endfor -%}
    {%- do return(readers) -%}
{%- endmacro -%}


{%- macro _metadata_format(readers) -%}
    {#- One that a reader names, or else that of one that names none; none where no reader has a format of tables. -#}
    {%- for node in readers if node.config.get('file_format') in dbt_cdc._formats() -%}
        {%- do return(node.config.file_format) -%}
    {%- endfor -%}
    {%- for node in readers if not node.config.get('file_format') and node.config.get('materialized') == 'apply_changes' -%}
        {%- do return(dbt_cdc._file_format(node.config)) -%}
    {%- endfor -%}
    {%- do return(none) -%}
{%- endmacro -%}


{%- macro _cache_unlisted_tables(readers) -%}
    {#- dbt's cache learns of the tables that a catalog does not list (_load_relation): dbt's incremental materialization, and what
        ref_changes gives, go by it, and would begin anew in every run. -#}
    {%- for node in readers if node.config.get('materialized') == 'incremental' -%}
        {%- set relation = api.Relation.create(database=node.database, schema=node.schema, identifier=node.alias) -%}
        {%- set found = dbt_cdc._load_relation(relation) if load_relation(relation) is none else none -%}
        {%- if found is not none -%}{%- do adapter.cache_added(found) -%}{%- endif -%}
    {%- endfor -%}
{%- endmacro -%}


{%- macro _has_watermark_hook(node) -%}
    {%- set hooks = node.config.get('post-hook', []) | map(attribute='sql') | join(' ') -%}
    {%- do return('dbt_cdc._move_watermarks()' in hooks) -%}
{%- endmacro -%}


{%- macro _newest_edges(destination=none) -%}
    {#- {source: newest row} of one model; without a model a list of all. -#}
    {%- set relation = dbt_cdc._metadata_relation() -%}
    {%- set existing = dbt_cdc._load_relation(relation) -%}
    {%- if existing is none -%}{%- do return({} if destination else []) -%}{%- endif -%}
    {%- if flags.EMPTY or not dbt_cdc._writes_tables() -%}{#- else it was asked as the run began -#}
        {%- do dbt_cdc._raise_run_faults(dbt_cdc._foreign_metadata_faults(existing)) -%}
    {%- endif -%}
    {%- do dbt_cdc._refresh_metadata(existing) -%}
    {%- set number = "if(column_type rlike 'int|float|double|decimal', watermark, null)" -%}
    {%- set query -%}
select to_json(min_by(
    named_struct('source', source, 'destination', destination, 'by', tracked_by, 'column', column_name,
        'type', column_type, 'watermark', watermark, 'sequence', sequence,
        'time', cast(unix_micros(cast(cdc_datetime_updated as timestamp_ltz)) as string)),
    named_struct('newest', -sequence, 'reset', tracked_by != 'reset',
        'zoneless', try_cast(if(column_type in ('timestamp_ntz', 'date'), watermark, null) as timestamp_ntz), 'time', cdc_datetime_updated,
        'number', try_cast({{ number }} as double), 'whole', try_cast({{ number }} as decimal(38, 0)), 'text', watermark)
))
from {{ relation }}
{%- if destination %}
where destination = {{ dbt_cdc._literal(destination) }}
{%- endif %}
group by source, destination
    {%- endset -%}
    {%- set newest = [] -%}
    {%- for row in run_query(query) -%}{%- do newest.append(fromjson(row[0])) -%}{%- endfor -%}
    {%- if not destination -%}{%- do return(newest) -%}{%- endif -%}
    {%- set by_source = {} -%}
    {%- for edge in newest -%}{%- do by_source.update({edge.source: edge}) -%}{%- endfor -%}
    {%- do return(by_source) -%}
{%- endmacro -%}


{%- macro _append_edges(edges) -%}
    {%- if not edges -%}{%- do return(none) -%}{%- endif -%}
    {%- set relation = dbt_cdc._metadata_relation() -%}
    {%- set existing = dbt_cdc._load_relation(relation) -%}
    {%- set format = dbt_cdc._format_of(existing) if existing else dbt_cdc._file_format(model.config) -%}
    {%- if existing is none -%}
        {#- on-run-start saw no reader in the code of a Python model that calls ref_changes by way of another module -#}
        {%- do dbt_cdc._create_metadata_beside_others(relation, format) -%}
    {%- endif -%}
    {%- set rows = [] -%}
    {%- for edge in edges -%}{%- do rows.append('(' ~ dbt_cdc._edge_values(edge) | join(', ') ~ ')') -%}{%- endfor -%}
    {%- call statement('dbt_cdc_edges') -%}
insert into {{ relation }} ({{ dbt_cdc._metadata_columns() | join(', ') }})
values
    {{ rows | join(',\n    ') }}
    {%- endcall -%}
    {#- appends that meet would leave the session with a table that lacks one of them -#}
    {%- do dbt_cdc._refresh_metadata(relation, format) -%}
{%- endmacro -%}

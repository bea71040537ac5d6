{#- What there is to know about a table before its changes can be read. -#}

{%- macro _changed_table(relation, unique_key=none, log=true, fresh=false, unchecked=false) -%}
    {#- relation, format, columns (its own, in order), key (names, or none), source (`schema.table`), timeline, where
        (a condition on `image`, or none), and with `log` what its log holds (or none), where the timeline is that of both and
        `own` the table without its log. A reader adds `taken_for_key`, where the key is its own. `fresh`: as it is now, also
        where another process wrote it a moment ago; `unchecked`: changes are only counted, so that neither repeated keys nor
        a log of another table are an error. -#}
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
    {%- if fresh -%}{%- do dbt_cdc._refresh_metadata(existing) -%}{%- endif -%}
    {%- set columns = dbt_cdc._own_columns(existing) -%}
    {%- do dbt_cdc._raise_faults(dbt_cdc._prefixed(
        "changes of " ~ source ~ ": ", dbt_cdc._value_faults('unique_key', {'type': 'list'}, unique_key))) -%}
    {%- set key = dbt_cdc._key_of_table(relation, unique_key, format) -%}
    {%- do dbt_cdc._raise_faults(dbt_cdc._prefixed("changes of " ~ source ~ ": ", dbt_cdc._key_faults(key or [], columns))) -%}
    {%- set table = {
        'relation': existing, 'format': format, 'source': source, 'columns': columns, 'key': key, 'unchecked': unchecked, 'log': none,
        'timeline': dbt_cdc._for_format('timeline', format)(existing),
        'where': dbt_cdc._rows_of_model() if held.identifier != relation.identifier else none,
    } -%}
    {%- set kept = dbt_cdc._change_log_of(relation, table) if log and key else none -%}
    {%- do return(dbt_cdc._with_log(table, kept) if kept is not none else table) -%}
{%- endmacro -%}


{%- macro _source_name(relation) -%}
    {#- `schema.table`, with the catalog where it is not the session's own. -#}
    {%- set place = (relation.database ~ '.' if relation.database else '') ~ relation.schema -%}
    {%- do return(dbt_cdc._without_own_catalog(place) ~ '.' ~ relation.identifier) -%}
{%- endmacro -%}


{%- macro _without_own_catalog(place) -%}
    {%- if '.' not in place -%}{%- do return(place) -%}{%- endif -%}
    {%- set own = dbt_cdc._own_catalog() ~ '.' -%}
    {%- do return(place[own | length:] if place.startswith(own) else place) -%}
{%- endmacro -%}


{%- macro _own_catalog() -%}
    {#- The session's: the same for all nodes of a run. -#}
    {%- if 'dbt_cdc_catalog' not in graph -%}
        {%- do graph.update({'dbt_cdc_catalog': run_query('select current_catalog()').rows[0][0]}) -%}
    {%- endif -%}
    {%- do return(graph['dbt_cdc_catalog']) -%}
{%- endmacro -%}


{%- macro _storage_relation(relation) -%}
    {#- The table that holds a model's rows: a hash_diff model is a view over `<model>__base`. -#}
    {%- set node = dbt_cdc._node_of(relation) -%}
    {%- if node is not none and node.config.get('materialized') == 'hash_diff' -%}
        {%- do return(relation.incorporate(path={'identifier': relation.identifier ~ '__base'}, type='table')) -%}
    {%- endif -%}
    {%- do return(relation) -%}
{%- endmacro -%}


{%- macro _rows_of_model() -%}
    {#- Which rows of a hash_diff's base table are the model's: not the marker of its last load, not what is deleted. -#}
    {%- do return('image.' ~ dbt_cdc._hash_diff_layout().is_key ~ " and image.operation <> 'D'") -%}
{%- endmacro -%}


{%- macro _own_columns(existing) -%}
    {#- A table's columns (of the table as it exists) without those that its format or this package keeps in it. -#}
    {%- set columns, format = [], dbt_cdc._format_of(existing) -%}
    {%- for column in dbt_cdc._columns_of(existing) if dbt_cdc._is_own_column(column.name, format) -%}
        {%- do columns.append(column) -%}
    {%- endfor -%}
    {%- do return(columns) -%}
{%- endmacro -%}


{%- macro _is_own_column(name, format) -%}
    {%- do return(not name.startswith('_dbt_cdc_') and not dbt_cdc._is_kept_by(format, name)) -%}
{%- endmacro -%}


{%- macro _is_kept_by(format, name) -%}
    {%- set prefix = dbt_cdc._formats().get(format, {}).get('kept_prefix') -%}
    {%- do return(prefix is not none and name.startswith(prefix)) -%}
{%- endmacro -%}


{%- macro _node_of(relation) -%}
    {#- The model, snapshot or seed that builds a relation, as the graph knows it, in whatever capitals; none for any other. -#}
    {%- if relation.is_cte -%}{%- do return(none) -%}{%- endif -%}
    {%- set schemas = [relation.schema | lower, dbt_cdc._without_own_catalog(relation.schema) | lower] -%}
    {%- for node in graph.nodes.values() if node.resource_type in ('model', 'snapshot', 'seed') -%}
        {#- with --defer a reference may mean where another target has built the node -#}
        {%- for place in [node, node.get('defer_relation')] if place -%}
            {%- if place.schema | lower in schemas and (place.alias or place.name) | lower == relation.identifier | lower -%}
                {%- do return(node) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(none) -%}
{%- endmacro -%}

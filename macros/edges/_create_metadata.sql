{#- How the table cdc_metadata is made, beside other runs that make it. -#}

{%- macro _create_metadata_beside_others(relation, format) -%}
    {#- `if not exists` does not keep two runs from creating the same Delta table at once: the second fails, and may do
        so while the first is not done yet. So it looks again, and tries again. -#}
    {%- do run_query('create schema if not exists ' ~ relation.without_identifier()) -%}
    {%- set create = dbt_cdc._create_metadata_sql(relation, format) -%}
    {%- set made = namespace(exists=false) -%}
    {%- for _ in range(30) if not made.exists -%}
        {%- do run_query(dbt_cdc._ignoring_errors(create)) -%}
        {%- set made.exists = adapter.get_columns_in_relation(relation) | length > 0 -%}
    {%- endfor -%}
    {%- if not made.exists -%}{%- do run_query(dbt_cdc._make_metadata_anew_sql(relation, format) or create) -%}{%- endif -%}
    {%- do dbt_cdc._for_format('delete_old_metadata', format)(relation) -%}
{%- endmacro -%}


{%- macro _create_metadata_sql(relation, format) -%}
    {%- set columns = [] -%}
    {%- for name, type in dbt_cdc._metadata_columns().items() -%}{%- do columns.append(name ~ ' ' ~ type) -%}{%- endfor -%}
    {%- do return('create table if not exists ' ~ relation ~ ' (' ~ (columns | join(', ')) ~ ') using ' ~ format
                  ~ ' tblproperties (' ~ dbt_cdc._property_list(dbt_cdc._for_format('many_small_appends', format)()) ~ ')') -%}
{%- endmacro -%}


{%- macro _make_metadata_anew_sql(relation, format) -%}
    {#- Where a run was killed while it made the table, Delta has left a folder that no catalog knows, and puts in its place only
        what a query gives. -#}
    {%- if not dbt_cdc._formats()[format].replace_conflicts -%}{%- do return(none) -%}{%- endif -%}
    {%- set columns = [] -%}
    {%- for name, type in dbt_cdc._metadata_columns().items() -%}
        {%- do columns.append('cast(null as ' ~ type ~ ') as ' ~ name) -%}
    {%- endfor -%}
    {%- do return(dbt_cdc._create_as(relation, 'select ' ~ columns | join(', ') ~ ' where false', format,
                                     dbt_cdc._for_format('many_small_appends', format)(), replace=true)) -%}
{%- endmacro -%}


{%- macro _foreign_metadata_faults(existing) -%}
    {%- set names = dbt_cdc._columns_of(existing) | map(attribute='name') | list -%}
    {%- set absent = dbt_cdc._metadata_columns().keys() | reject('in', names) | list -%}
    {%- if not absent and not existing.is_view and dbt_cdc._format_of(existing) in dbt_cdc._formats() -%}{%- do return([]) -%}{%- endif -%}
    {%- do return(["ref_changes keeps its watermarks in " ~ existing ~ ", which is there and was not made for it: expected a table of"
                   ~ " one of the formats " ~ dbt_cdc._formats() | join(', ') ~ " with the columns "
                   ~ dbt_cdc._metadata_columns() | join(', ') ~ "; rename it, or give another schema by the var 'metadata_schema'"]) -%}
{%- endmacro -%}


{%- macro _metadata_name_faults(readers) -%}
    {#- A node of the project that is built in the place of the watermarks, if it or a reader is of this run. -#}
    {%- set faults = [] -%}
    {%- for node in graph.nodes.values() if node.get('alias') | lower == 'cdc_metadata'
        and node.resource_type in ['model', 'seed', 'snapshot'] and node.config.get('materialized') != 'ephemeral' -%}
        {%- set place, own = api.Relation.create(schema=node.schema, identifier=node.alias), dbt_cdc._metadata_relation() -%}
        {%- set concerned = readers or (node in dbt_cdc._selected_nodes() and dbt_cdc._readers_among(graph.nodes.values())) -%}
        {%- if concerned and dbt_cdc._edge_name(place) | lower == dbt_cdc._edge_name(own) | lower -%}
            {%- do faults.append(node.unique_id ~ ": is built as " ~ own ~ ", where ref_changes keeps its watermarks: give it another"
                                 ~ " alias, or them another schema by the var 'metadata_schema'") -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}

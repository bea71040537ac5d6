{%- macro _load_relation(relation) -%}
    {#- The relation as it exists, with its type, its format and the quotes that it is asked with, or none. Asks dbt's cache
        first, which knows no format of what this run has built. Some catalogs (Iceberg's SparkSessionCatalog over a Hadoop catalog) do
        not list their tables or their views: then the relation itself is asked. -#}
    {%- if not dbt_cdc._is_schema_of_nodes(relation.schema) -%}{%- do return(dbt_cdc._relation_of_others(relation)) -%}{%- endif -%}
    {%- set listed = load_relation(relation) -%}
    {%- if listed is not none and (listed.is_view or dbt_cdc._format_of(listed)) -%}
        {%- do return(listed.incorporate(quote_policy=relation.quote_policy.to_dict())) -%}
    {%- endif -%}
    {%- do return(dbt_cdc._described_relation(relation)) -%}
{%- endmacro -%}


{%- macro _relation_of_others(relation) -%}
    {#- From a schema that dbt has not listed: to be asked for one relation it would list all, in each thread. Each is asked for once. -#}
    {%- set found = dbt_cdc._of_this_run().setdefault('relations of others', {}) -%}
    {%- if relation | string not in found -%}
        {%- set described = dbt_cdc._described_relation(relation) -%}
        {%- if described is none -%}{%- do return(none) -%}{%- endif -%}
        {%- do found.update({relation | string: described}) -%}
    {%- endif -%}
    {%- do return(found[relation | string]) -%}
{%- endmacro -%}


{%- macro _described_relation(relation) -%}
    {#- A view of a catalog has no `Type` row but a headline of its own. -#}
    {%- if not dbt_cdc._exists(relation) -%}{%- do return(none) -%}{%- endif -%}
    {%- set described = {} -%}
    {%- for row in run_query('describe table extended ' ~ relation) -%}
        {%- do described.update({row[0]: row[1]}) -%}
    {%- endfor -%}
    {%- set provider = described.get('Provider', '') | lower -%}
    {%- do return(api.Relation.create(
        database=relation.database, schema=relation.schema, identifier=relation.identifier,
        quote_policy=relation.quote_policy.to_dict(),
        type='view' if described.get('Type') == 'VIEW' or '# Detailed View Information' in described else 'table',
        is_delta=provider == 'delta', is_iceberg=provider == 'iceberg', is_hudi=provider == 'hudi')) -%}
{%- endmacro -%}


{%- macro _exists(relation) -%}
    {#- dbt-spark's list of columns ends before one whose name begins with `#`: where that is the first, a script tells, if the session
        takes one. -#}
    {%- do return(adapter.get_columns_in_relation(relation) | length > 0
        or (dbt_cdc._takes_scripts()
            and run_query(dbt_cdc._ignoring_errors('describe table ' ~ relation ~ '; select 1 as is_described')) | length > 0)) -%}
{%- endmacro -%}


{%- macro _is_schema_of_nodes(schema) -%}
    {#- Of those that the project builds: these dbt lists as a run begins. -#}
    {%- if not execute -%}{%- do return(false) -%}{%- endif -%}
    {%- set found = dbt_cdc._of_this_run() -%}
    {%- if 'schemas' not in found -%}
        {%- set schemas = {} -%}
        {%- for node in graph.get('nodes', {}).values() if node.resource_type in ('model', 'snapshot', 'seed') -%}
            {%- do schemas.update({node.schema | lower: true}) -%}
        {%- endfor -%}
        {%- do found.update({'schemas': schemas}) -%}
    {%- endif -%}
    {%- do return(schema | lower in found.schemas) -%}
{%- endmacro -%}


{%- macro _columns_of(source, columns='*') -%}
    {#- Of what stands in a `from` clause, such as a relation that exists; dbt-spark's own list ends before a column whose name begins
        with `#`. -#}
    {%- set found = [] -%}
    {%- for row in run_query('describe query select ' ~ columns ~ ' from ' ~ source) -%}
        {%- do found.append(api.Column(row[0], row[1])) -%}
    {%- endfor -%}
    {%- do return(found) -%}
{%- endmacro -%}


{%- macro _is_not_built_yet(relation) -%}
    {#- `compile` and `docs generate` before the first run: what is not built yet can't be looked at. -#}
    {%- if flags.WHICH not in ['compile', 'generate'] or dbt_cdc._is_cte(relation) -%}{%- do return(false) -%}{%- endif -%}
    {%- do return(not dbt_cdc._can_be_read(relation) if relation is string
                  else dbt_cdc._load_relation(dbt_cdc._whole_relation(relation)) is none) -%}
{%- endmacro -%}


{%- macro _is_cte(relation) -%}
    {#- Of an ephemeral model or the rows of a unit test, which can't be asked before they are read; also within a query. -#}
    {%- do return('__dbt__cte__' in relation if relation is string else relation.is_cte) -%}
{%- endmacro -%}


{%- macro _can_be_read(relation) -%}
    {#- Whether a relation, or a query in brackets, finds all that it reads. -#}
    {%- set probe = 'select count(*) from (select * from ' ~ relation ~ ' limit 0) as probe' -%}
    {%- do return(run_query(dbt_cdc._ignoring_errors(probe)) | length > 0) -%}
{%- endmacro -%}

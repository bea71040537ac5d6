{%- macro _writes_tables() -%}
    {#- Whether models are run. -#}
    {%- do return(flags.WHICH in ['run', 'build']) -%}
{%- endmacro -%}


{%- macro _reads_a_part() -%}
    {#- `--empty` and `--sample` show a model less than there is. -#}
    {%- do return(flags.EMPTY or invocation_args_dict.get('sample') is not none) -%}
{%- endmacro -%}


{%- macro _is_given_by_test(relation) -%}
    {#- Whether a unit test gives the rows that the model asks for. -#}
    {%- do return(execute and relation.is_cte and (model | default({})).resource_type == 'unit_test') -%}
{%- endmacro -%}


{%- macro _whole_relation(relation) -%}
    {#- Where a part is read (see above), dbt's relation is a query, of which the catalog knows nothing: this is the table itself. -#}
    {%- do return(api.Relation.create(
        schema=relation.schema, identifier=relation.identifier, quote_policy=relation.quote_policy.to_dict())) -%}
{%- endmacro -%}


{%- macro _selected_nodes() -%}
    {#- Those of this run. `dbt retry` does not say which it runs: then all that the command which it repeats could run. -#}
    {%- set types = {'run': ['model'], 'snapshot': ['snapshot'], 'seed': ['seed'], 'test': ['test'],
                     'build': ['model', 'snapshot', 'seed', 'test']}.get(flags.WHICH) -%}
    {%- set nodes = [] -%}
    {%- for id in (selected_resources or graph.nodes) if id in graph.nodes -%}
        {%- set node = graph.nodes[id] -%}
        {%- if selected_resources or types is none or node.resource_type in types -%}{%- do nodes.append(node) -%}{%- endif -%}
    {%- endfor -%}
    {%- do return(nodes) -%}
{%- endmacro -%}

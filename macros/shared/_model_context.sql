{#- What dbt gives macros in a run's nodes and nowhere else. Macros that are called later have it, and where it is set `context`. -#}

{%- macro _set_model_context(unique_id) -%}
    {%- set node = graph.nodes[unique_id] -%}
    {%- do context.update({
        'model': node,
        'this': api.Relation.create(schema=node.schema, identifier=node.alias, type='table'),
    }) -%}
{%- endmacro -%}

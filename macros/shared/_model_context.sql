{#- What dbt gives macros in a run's nodes and nowhere else. Macros called after this see `model` and `this`; the one that calls it
    keeps the names it began with, and takes `context['this']`. `config` stays undefined. -#}

{%- macro _set_model_context(unique_id) -%}
    {%- set node = graph.nodes[unique_id] -%}
    {%- do context.update({
        'model': node,
        'this': api.Relation.create(schema=node.schema, identifier=node.alias, type='table'),
    }) -%}
{%- endmacro -%}

{#- What dbt_cdc.edges calls while a Python model runs. There dbt gives macros no model, so these lay it out first. -#}

{%- macro _ref_changes_of_python(unique_id, upstream, by, column, unique_key) -%}
    {%- do dbt_cdc._lay_out_model(unique_id) -%}
    {%- set relation = dbt_cdc._relation_called(upstream, limit=0 if flags.EMPTY else none) -%}
    {%- do return(dbt_cdc._ref_changes(relation, by, column, unique_key)) -%}
{%- endmacro -%}


{%- macro _move_watermarks_of_python(unique_id) -%}
    {%- if 'dbt_cdc_edges' in graph.nodes.get(unique_id, {}) -%}
        {%- do dbt_cdc._lay_out_model(unique_id) -%}
        {%- do dbt_cdc._move_watermarks() -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _lay_out_model(unique_id) -%}
    {%- set node = graph.nodes[unique_id] -%}
    {%- do context.update({
        'model': node,
        'this': api.Relation.create(schema=node.schema, identifier=node.alias, type='table'),
    }) -%}
{%- endmacro -%}

{#- For commands that are given a snapshot's name. -#}

{%- macro _snapshot_node(command, name) -%}
    {%- set known = [] -%}
    {%- for node in graph.nodes.values() if node.resource_type == 'snapshot' -%}
        {%- if node.name == name -%}{%- do return(node) -%}{%- endif -%}
        {%- do known.append(node.name) -%}
    {%- endfor -%}
    {%- do exceptions.raise_compiler_error('dbt_cdc.' ~ command ~ ': ' ~ dbt_cdc._unknown_name('snapshot', name, known)) -%}
{%- endmacro -%}


{%- macro _snapshot_table(node) -%}
    {%- do return(dbt_cdc._load_relation(api.Relation.create(schema=node.schema, identifier=node.alias, type='table'))) -%}
{%- endmacro -%}

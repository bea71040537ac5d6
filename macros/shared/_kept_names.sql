{%- macro _kept_name_faults() -%}
    {#- Nodes of the project that are built where one of this run keeps a table of its own: each would replace the other's. -#}
    {%- set faults, keepers, built = [], [], {} -%}
    {%- for node in dbt_cdc._selected_nodes() if node.resource_type in ['model', 'snapshot'] and dbt_cdc._meta(node) is mapping -%}
        {%- set kinds = dbt_cdc._kept_kinds(node) -%}
        {%- if kinds -%}{%- do keepers.append([node, kinds]) -%}{%- endif -%}
    {%- endfor -%}
    {%- for node in (graph.nodes.values() if keepers else []) if node.resource_type in ['model', 'seed', 'snapshot'] -%}
        {%- do built.update({(node.schema ~ '.' ~ node.alias) | lower: node.unique_id}) -%}
    {%- endfor -%}
    {%- for node, kinds in keepers -%}
        {%- for kind in kinds -%}
            {%- set name = node.schema ~ '.' ~ node.alias ~ '__' ~ kind -%}
            {%- if name | lower in built -%}
                {%- do faults.append(node.unique_id ~ ": keeps a table of its own, " ~ name ~ ", which " ~ built[name | lower]
                    ~ " is built as, too: give one of the two another alias") -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _kept_kinds(node) -%}
    {#- What stands behind `<node>__` in the names of the tables that it keeps beside it. -#}
    {%- set kinds = {'hash_diff': ['base', 'history'], 'apply_changes': ['events']}.get(node.config.materialized, []) | list -%}
    {%- for kind in ['sensitive', 'rejects', 'changes'] if not dbt_cdc._companion_fault(node, kind) -%}
        {%- do kinds.extend([kind] + ([kind ~ '_base'] if kind == 'sensitive' else [])) -%}
    {%- endfor -%}
    {%- do return(kinds) -%}
{%- endmacro -%}

{%- macro _kept_name_faults() -%}
    {#- Nodes of the project that are built where another one keeps a table of its own, if either is of this run: each would
        replace the other's. -#}
    {%- set faults, selected, keepers, built = [], [], [], {} -%}
    {%- for node in dbt_cdc._selected_nodes() -%}{%- do selected.append(node.unique_id) -%}{%- endfor -%}
    {%- for node in graph.nodes.values()
        if node.resource_type in ['model', 'seed', 'snapshot'] and node.config.get('materialized') != 'ephemeral' -%}
        {%- do built.update({(node.schema ~ '.' ~ node.alias) | lower: node.unique_id}) -%}
        {%- if node.config.get('materialized') in ['snapshot'] + dbt_cdc._own_materializations() | list -%}
            {%- do keepers.append(node) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for node in keepers -%}
        {%- for kind in dbt_cdc._kept_kinds(node) -%}
            {%- set name = node.schema ~ '.' ~ node.alias ~ '__' ~ kind -%}
            {%- set other = built.get(name | lower) -%}
            {%- if other and (other in selected or node.unique_id in selected) -%}
                {%- do faults.append(node.unique_id ~ ": keeps a table of its own, " ~ name ~ ", which " ~ other
                    ~ " is built as, too: give one of the two another alias") -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _kept_kinds(node) -%}
    {#- What stands behind `<node>__` in the names of the tables that it keeps beside it. -#}
    {%- set kinds = dbt_cdc._own_materializations().get(node.config.materialized, []) | list -%}
    {%- for kind in ['sensitive', 'rejects', 'changes'] if not dbt_cdc._companion_fault(node, kind) -%}
        {%- do kinds.extend([kind] + ([kind ~ '_base'] if kind == 'sensitive' else [])) -%}
    {%- endfor -%}
    {%- do return(kinds) -%}
{%- endmacro -%}


{%- macro _own_materializations() -%}
    {#- This package's: name -> what it keeps for each model, as _kept_kinds gives it; what options ask for comes there. -#}
    {%- do return({'hash_diff': ['base', 'history'], 'apply_changes': ['events']}) -%}
{%- endmacro -%}

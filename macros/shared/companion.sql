{%- macro companion(relation, kind) -%}
    {#- The table that dbt_cdc keeps beside a model: `<model>__<kind>`. Written with `ref('model')` it keeps lineage. -#}
    {%- set relation = dbt_cdc._relation_named(relation) -%}
    {%- set kinds = ['history', 'sensitive', 'rejects', 'changes'] -%}
    {%- if kind not in kinds -%}
        {%- do exceptions.raise_compiler_error(
            "dbt_cdc.companion: " ~ dbt_cdc._unknown_name('companion', kind, kinds)) -%}
    {%- endif -%}
    {%- set node = dbt_cdc._node_of(relation) if execute else none -%}
    {%- if node and kind == 'changes' and not dbt_cdc._meta(node).get('change_log') -%}
        {%- do exceptions.raise_compiler_error("dbt_cdc.companion: " ~ dbt_cdc._running() ~ ": " ~ node.name ~ " keeps no log of its"
            ~ " changes: set `meta: {dbt_cdc: {change_log: key_op}}` there, or ask table_changes") -%}
    {%- elif node and kind != 'changes' and node.config.materialized != 'hash_diff' -%}
        {%- do exceptions.raise_compiler_error("dbt_cdc.companion: " ~ dbt_cdc._running() ~ ": only hash_diff models have a table of kind '"
            ~ kind ~ "', " ~ node.name ~ " is of kind '" ~ node.config.materialized ~ "'") -%}
    {%- endif -%}
    {%- do return(dbt_cdc._companion(relation, kind)) -%}
{%- endmacro -%}


{%- macro _companion(relation, kind) -%}
    {%- do return(relation.incorporate(path={'identifier': relation.identifier ~ '__' ~ kind}, type='table')) -%}
{%- endmacro -%}

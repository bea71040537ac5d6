{%- macro companion(relation, kind) -%}
    {#- The table that dbt_cdc keeps beside a model: `<model>__<kind>`. Written with `ref('model')` it keeps lineage. -#}
    {%- set kinds = ['history', 'sensitive', 'rejects', 'changes'] -%}
    {%- if kind not in kinds -%}
        {%- do exceptions.raise_compiler_error(
            "dbt_cdc.companion: " ~ dbt_cdc._unknown_name('companion', kind, kinds)) -%}
    {%- endif -%}
    {%- do return(dbt_cdc._companion(relation, kind)) -%}
{%- endmacro -%}


{%- macro _companion(relation, kind) -%}
    {%- do return(relation.incorporate(path={'identifier': relation.identifier ~ '__' ~ kind}, type='table')) -%}
{%- endmacro -%}

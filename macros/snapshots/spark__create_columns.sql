{#- dbt's snapshots call this with the columns of their view that the table lacks. Those of the source have been added by then
    (_take_new_columns). Any other is of another node's view of that name: none is added. -#}
{%- macro spark__create_columns(relation, columns) -%}
    {%- if '_dbt_cdc_shape' not in (model | default({})) -%}{%- do dbt_cdc._stock('create_columns')(relation, columns) -%}{%- endif -%}
{%- endmacro -%}

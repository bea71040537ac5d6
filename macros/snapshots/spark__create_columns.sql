{#- dbt's snapshots call this with the columns of their view that the table lacks. Those of the source have been added by then
    (_take_new_columns). Any other is of another node's view of that name, which dbt may find over Iceberg: none is added. -#}
{%- macro spark__create_columns(relation, columns) -%}
    {%- if (model | default({})).resource_type != 'snapshot' -%}{%- do dbt.spark__create_columns(relation, columns) -%}{%- endif -%}
{%- endmacro -%}

{#- Called by dbt's snapshots with the columns of its view that the table lacks. Those of the source have been added by then
    (_take_new_columns); what is left is of another node's view. -#}
{%- macro spark__create_columns(relation, columns) -%}
    {%- if (model | default({})).resource_type != 'snapshot' -%}{%- do dbt.spark__create_columns(relation, columns) -%}{%- endif -%}
{%- endmacro -%}

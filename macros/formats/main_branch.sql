{#- Table properties by which a table is written and read as one, whatever a catalog gives its tables: a session whose writes go to a
    branch, or to none, would lose what a run keeps for itself. -#}
{%- macro default__main_branch() -%}{%- do return({}) -%}{%- endmacro -%}
{%- macro iceberg__main_branch() -%}{%- do return({'write.wap.enabled': 'false'}) -%}{%- endmacro -%}

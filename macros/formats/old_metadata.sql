{#- Of a table that has just been made, and that many commits are to come to: a format that writes a file of metadata in each, and
    keeps them, is to delete the old ones. What the table has of its catalog's defaults stays. -#}

{%- macro default__delete_old_metadata(relation) -%}{%- endmacro -%}


{%- macro iceberg__delete_old_metadata(relation) -%}
    {%- set properties, lacking = dbt_cdc._table_properties(relation), {} -%}
    {%- if dbt_cdc._iceberg_keeps_all(properties) -%}{%- do return(none) -%}{%- endif -%}
    {%- for name, value in {'delete-after-commit.enabled': 'true', 'previous-versions-max': '10'}.items() -%}
        {%- set name = 'write.metadata.' ~ name -%}
        {%- if name not in properties -%}{%- do lacking.update({name: value}) -%}{%- endif -%}
    {%- endfor -%}
    {%- if lacking -%}{%- do dbt_cdc._set_properties(relation, lacking) -%}{%- endif -%}
{%- endmacro -%}


{%- macro _iceberg_keeps_all(properties) -%}
    {#- Whether a table's files may be those of others, too, as in Nessie's branches. -#}
    {%- do return(properties.get('gc.enabled', 'true') | lower == 'false') -%}
{%- endmacro -%}

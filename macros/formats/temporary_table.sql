{#- The tables of one run: plain files where the catalog takes them, which is quicker; gone with their files at the end. -#}
{%- macro default__temporary_format() -%}{%- do return('parquet') -%}{%- endmacro -%}
{%- macro iceberg__temporary_format() -%}{%- do return('iceberg') -%}{%- endmacro -%}

{%- macro default__temporary_properties() -%}{%- do return({}) -%}{%- endmacro -%}
{%- macro iceberg__temporary_properties() -%}
    {#- A catalog may have that off for its tables (Nessie's has), and Iceberg then refuses to purge one. -#}
    {%- do return(dict(dbt_cdc.iceberg__main_branch(), **{'gc.enabled': 'true'})) -%}
{%- endmacro -%}

{%- macro default__drop_temporary(relation) -%}{%- do return('drop table if exists ' ~ relation) -%}{%- endmacro -%}
{%- macro iceberg__drop_temporary(relation) -%}{%- do return('drop table if exists ' ~ relation ~ ' purge') -%}{%- endmacro -%}

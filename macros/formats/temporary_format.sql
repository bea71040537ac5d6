{#- What the tables of one run are written as: plain files where the catalog takes them, which is quicker. -#}
{%- macro delta__temporary_format() -%}{%- do return('parquet') -%}{%- endmacro -%}
{%- macro iceberg__temporary_format() -%}{%- do return('iceberg') -%}{%- endmacro -%}

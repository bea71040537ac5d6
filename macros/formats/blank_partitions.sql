{%- macro _blank_partitions(format, table, types) -%}
    {#- The columns, in lower case, in which an empty text becomes NULL: those that the table is partitioned by, or, where there is none
        yet, will be. A table keeps its partitions when the config names none any more: then it is asked where one of `types`, those
        of the columns in which a NULL would do harm, is a text. -#}
    {%- set texts = [] -%}
    {%- for type in types if table is not none and dbt_cdc._family_of_type(type) == 'text' -%}{%- do texts.append(type) -%}{%- endfor -%}
    {%- if not (texts or dbt_cdc._names_in(config.get('partition_by'))) -%}{%- do return([]) -%}{%- endif -%}
    {%- do return(dbt_cdc._for_format('blank_partitions', format)(table) | map('lower') | list) -%}
{%- endmacro -%}


{%- macro default__blank_partitions(table) -%}{%- do return([]) -%}{%- endmacro -%}


{%- macro delta__blank_partitions(table) -%}
    {%- if table is none -%}{%- do return(dbt_cdc._unquoted_names(config.get('partition_by'))) -%}{%- endif -%}
    {#- a thrift server gives the list as text -#}
    {%- set columns = run_query('describe detail ' ~ table).rows[0]['partitionColumns'] -%}
    {%- do return(fromjson(columns) if columns is string else columns | list) -%}
{%- endmacro -%}

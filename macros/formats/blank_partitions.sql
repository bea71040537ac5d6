{%- macro _blank_partitions(format, table) -%}
    {#- The columns, in lower case, in which an empty text becomes NULL: those that the table is partitioned by, or, where there is none
        yet, will be. -#}
    {%- if not dbt_cdc._names_in(config.get('partition_by')) -%}{%- do return([]) -%}{%- endif -%}
    {%- do return(dbt_cdc._for_format('blank_partitions', format)(table) | map('lower') | list) -%}
{%- endmacro -%}


{%- macro default__blank_partitions(table) -%}{%- do return([]) -%}{%- endmacro -%}


{%- macro delta__blank_partitions(table) -%}
    {%- if table is none -%}{%- do return(dbt_cdc._unquoted_names(config.get('partition_by'))) -%}{%- endif -%}
    {#- a thrift server gives the list as text -#}
    {%- set columns = run_query('describe detail ' ~ table).rows[0]['partitionColumns'] -%}
    {%- do return(fromjson(columns) if columns is string else columns | list) -%}
{%- endmacro -%}

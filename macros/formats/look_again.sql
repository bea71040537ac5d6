{#- Statements without which a session would see a table as it was some seconds ago, before another process wrote it. -#}

{%- macro delta__look_again(relation) -%}{%- do return([]) -%}{%- endmacro -%}


{%- macro iceberg__look_again(relation) -%}
    {#- Iceberg's catalogs in Spark keep what they have read of a table for half a minute. -#}
    {%- do return(['refresh table ' ~ relation]) -%}
{%- endmacro -%}


{%- macro hudi__look_again(relation) -%}{%- do return(['refresh table ' ~ relation]) -%}{%- endmacro -%}

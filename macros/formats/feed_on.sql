{#- Switches a table's own change feed on, where the format has a switch; true if it was off. -#}

{%- macro delta__feed_on(relation) -%}
    {%- if dbt_cdc._delta_feed_is_on(relation) -%}{%- do return(false) -%}{%- endif -%}
    {%- do run_query('alter table ' ~ relation ~ ' set tblproperties (delta.enableChangeDataFeed = true)') -%}
    {%- do return(true) -%}
{%- endmacro -%}


{%- macro iceberg__feed_on(relation) -%}{%- do return(false) -%}{%- endmacro -%}

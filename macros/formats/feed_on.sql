{#- Switches a table's own change feed on, where the format has a switch; true if it was off. -#}

{%- macro delta__feed_on(relation) -%}
    {%- if dbt_cdc._table_property(relation, 'delta.enableChangeDataFeed') == 'true' -%}{%- do return(false) -%}{%- endif -%}
    {%- do run_query('alter table ' ~ relation ~ ' set tblproperties (delta.enableChangeDataFeed = true)') -%}
    {%- do return(true) -%}
{%- endmacro -%}


{%- macro iceberg__feed_on(relation) -%}{%- do return(false) -%}{%- endmacro -%}


{%- macro delta__table_id(relation) -%}
    {#- What tells a table from another that took its name; none where version ids do so already. -#}
    {%- do return(run_query('describe detail ' ~ relation).rows[0]['id'] | string) -%}
{%- endmacro -%}


{%- macro iceberg__table_id(relation) -%}{%- do return(none) -%}{%- endmacro -%}

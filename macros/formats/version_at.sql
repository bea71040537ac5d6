{#- What stands in a `from` clause for a table as it was at a version. -#}

{%- macro default__version_at(relation, version) -%}
    {%- do return(relation ~ ' version as of ' ~ (version | int)) -%}
{%- endmacro -%}


{%- macro hudi__version_at(relation, version) -%}
    {%- do return(relation ~ " timestamp as of '" ~ (version | int) ~ "'") -%}
{%- endmacro -%}


{#- A table's columns as they were at a version. -#}

{%- macro default__columns_at(relation, version) -%}
    {%- do return(dbt_cdc._columns_of(dbt_cdc.default__version_at(relation, version))) -%}
{%- endmacro -%}


{%- macro hudi__columns_at(relation, version) -%}
    {#- Hudi can select an older version but not describe it, so that its columns' types are not known. -#}
    {%- set columns = [] -%}
    {%- for name in run_query('select * from ' ~ dbt_cdc.hudi__version_at(relation, version) ~ ' limit 0').column_names -%}
        {%- do columns.append(api.Column(name, 'unknown')) -%}
    {%- endfor -%}
    {%- do return(columns) -%}
{%- endmacro -%}

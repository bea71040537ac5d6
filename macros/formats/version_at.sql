{#- What stands in a `from` clause for a table as it was at a version. -#}

{%- macro delta__version_at(relation, version) -%}
    {%- do return(relation ~ ' version as of ' ~ (version | int)) -%}
{%- endmacro -%}


{%- macro iceberg__version_at(relation, version) -%}
    {%- do return(relation ~ ' version as of ' ~ (version | int)) -%}
{%- endmacro -%}


{%- macro hudi__version_at(relation, version) -%}
    {%- do return(relation ~ " timestamp as of '" ~ (version | int) ~ "'") -%}
{%- endmacro -%}

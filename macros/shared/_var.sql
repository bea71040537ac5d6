{#- A var of the consumer's project, given under `vars: dbt_cdc:` or, for all packages, at the top level of `vars:`. -#}
{%- macro _var(name, default=none) -%}
    {%- set ours = var('dbt_cdc', {}) -%}
    {%- if ours is mapping and ours.get(name) is not none -%}{%- do return(ours[name]) -%}{%- endif -%}
    {%- do return(var(name, default)) -%}
{%- endmacro -%}

{#- A var of the consumer's project, given under `vars: dbt_cdc:` or, for all packages, at the top level of `vars:`. -#}
{%- macro _var(name, default=none) -%}
    {#- the top level first: it is what `--vars` on the command line can set alone -#}
    {%- if var(name, none) is not none -%}{%- do return(var(name)) -%}{%- endif -%}
    {%- set ours = var('dbt_cdc', {}) -%}
    {%- do return(ours[name] if ours is mapping and ours.get(name) is not none else default) -%}
{%- endmacro -%}

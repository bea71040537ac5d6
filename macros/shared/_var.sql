{#- A var of the consumer's project: at the top level of `vars:`, or under its own name or `dbt_cdc:` there. -#}
{%- macro _var(name, default=none) -%}
    {#- the top level first: it is what `--vars` on the command line can set alone. What stands under the project's name dbt
        gives to its nodes by itself, but not to an operation of this package. -#}
    {%- set given = [var(name, none)] -%}
    {%- for package in [project_name, 'dbt_cdc'] -%}
        {%- set scoped = var(package, {}) -%}
        {%- do given.append(scoped.get(name) if scoped is mapping else none) -%}
    {%- endfor -%}
    {%- do return(given | reject('none') | first | default(default)) -%}
{%- endmacro -%}


{%- macro _var_faults() -%}
    {%- set faults, ours = [], var('dbt_cdc', {}) -%}
    {%- set known = ['default_high_dttm', 'operational_metadata_columns', 'metadata_schema', 'synthetic'] -%}
    {%- for name in ours if ours is mapping and name not in known -%}
        {%- do faults.append("vars of dbt_cdc: " ~ dbt_cdc._unknown_name('var', name, known)) -%}
    {%- endfor -%}
    {%- if ours is not mapping and ours is not none -%}
        {%- do faults.append("vars: dbt_cdc must be a mapping of vars (" ~ known | join(', ') ~ "), got " ~ dbt_cdc._value_text(ours)) -%}
    {%- endif -%}
    {%- set schema = dbt_cdc._var('metadata_schema') -%}
    {#- dbt-spark puts no backticks around schemas when it lists their tables -#}
    {%- set plain = '(?a)\\w*[A-Za-z_]\\w*([.]\\w*[A-Za-z_]\\w*)*' -%}
    {%- if schema is not none and schema != '' and not (schema is string and modules.re.fullmatch(plain, schema)) -%}
        {%- do faults.append("var 'metadata_schema' must be the name of a schema that needs no backticks, got "
                             ~ dbt_cdc._value_text(schema)) -%}
    {%- endif -%}
    {%- do return(faults) -%}
{%- endmacro -%}

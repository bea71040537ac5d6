{#- A var of the root project: at the top level of `vars:`, or under the project's own name or `dbt_cdc:`
    there, which count before the top level, as they do for dbt. -#}
{%- macro _var(name, default=none) -%}
    {#- Looked up in what the project says, not by dbt's `var`: that answers by the package that asks, which is this one in a hook and an
        operation, and another in a model, and leaves out the rest of a mapping of which the command line gives a part. -#}
    {%- set file, given = adapter.config.vars.to_dict(), adapter.config.cli_vars -%}
    {%- for place in [given, given.get('dbt_cdc'), file.get(project_name), file.get('dbt_cdc'), file]
        if place is mapping and place.get(name) is not none -%}
        {%- do return(render(place[name]) if place[name] is string else place[name]) -%}
    {%- endfor -%}
    {%- do return(default) -%}
{%- endmacro -%}


{%- macro _var_faults(readers=[]) -%}
    {#- A var at the top level may be another package's by that name: its value is looked at where one of these `readers` goes by it. -#}
    {%- set faults, is_ours = [], {'metadata_schema': readers != []} -%}
    {%- set known = ['default_high_dttm', 'operational_metadata_columns', 'metadata_schema', 'synthetic'] -%}
    {%- for vars in [adapter.config.cli_vars, adapter.config.vars.to_dict()] if vars.get('dbt_cdc') is not none -%}
        {%- set ours = vars.dbt_cdc -%}
        {%- if ours is not mapping -%}
            {%- do faults.append("vars: dbt_cdc must be a mapping of vars (" ~ known | join(', ') ~ "), got "
                                 ~ dbt_cdc._value_text(ours)) -%}
        {%- endif -%}
        {%- for name in (ours if ours is mapping else []) -%}
            {%- do is_ours.update({name: true}) -%}
            {%- if name not in known -%}
                {%- do faults.append("vars of dbt_cdc: " ~ dbt_cdc._unknown_name('var', name, known)) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- set schema = dbt_cdc._var('metadata_schema') if is_ours.metadata_schema else none -%}
    {#- dbt-spark puts no backticks around schemas when it lists their tables -#}
    {%- set plain = '(?a)\\w*[A-Za-z_]\\w*([.]\\w*[A-Za-z_]\\w*)*' -%}
    {%- if schema is not none and schema != '' and not (schema is string and modules.re.fullmatch(plain, schema)) -%}
        {%- do faults.append("var 'metadata_schema' must be the name of a schema that needs no backticks, got "
                             ~ dbt_cdc._value_text(schema)) -%}
    {%- endif -%}
    {%- do return(faults) -%}
{%- endmacro -%}

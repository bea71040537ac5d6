{#- The conditions that a table's rows have to meet: what each is called -> SQL. `properties`: the table's, or none where it is
    still to be built; then its contract says what dbt-spark will ask of it (of Delta alone). -#}

{%- macro delta__checks(properties) -%}
    {%- set checks, contract, own = {}, config.get('contract').enforced, 'delta.constraints.' -%}
    {%- for name, sql in (properties or {}).items() if name.startswith(own) -%}
        {%- do checks.update({"constraint '" ~ name[own | length:] ~ "'": sql}) -%}
    {%- endfor -%}
    {%- for constraint in model.constraints if contract and properties is none and constraint.type == 'check' -%}
        {%- do checks.update({"constraint '" ~ (constraint.name or 'check ' ~ loop.index) ~ "'": constraint.expression}) -%}
    {%- endfor -%}
    {%- for name, column in model.columns.items() if contract -%}
        {%- for constraint in column.constraints if constraint.type == 'not_null' -%}
            {%- do checks.update({"constraint 'not_null of " ~ name ~ "'": dbt_cdc._quote(name) ~ ' is not null'}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(checks) -%}
{%- endmacro -%}


{%- macro iceberg__checks(properties) -%}
    {%- do return({}) -%}
{%- endmacro -%}

{#- The conditions that a table's rows have to meet: name -> SQL. `existing`: the table, or none where it is still to be built; then
    its contract says what dbt-spark will ask of it (of Delta alone). -#}

{%- macro delta__checks(existing) -%}
    {%- set checks, contract = {}, config.get('contract').enforced -%}
    {%- if existing is not none -%}
        {%- for row in run_query('show tblproperties ' ~ existing) if row[0].startswith('delta.constraints.') -%}
            {%- do checks.update({row[0][18:]: row[1]}) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- for constraint in model.constraints if contract and existing is none and constraint.type == 'check' -%}
        {%- do checks.update({constraint.name or 'check ' ~ loop.index: constraint.expression}) -%}
    {%- endfor -%}
    {%- for name, column in model.columns.items() if contract -%}
        {%- for constraint in column.constraints if constraint.type == 'not_null' -%}
            {%- do checks.update({'not_null of ' ~ name: dbt_cdc._quote(name) ~ ' is not null'}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(checks) -%}
{%- endmacro -%}


{%- macro iceberg__checks(existing) -%}
    {%- do return({}) -%}
{%- endmacro -%}

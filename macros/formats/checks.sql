{#- The conditions that a table's rows have to meet: what each is called -> SQL. `properties`: the table's, or none where it is
    still to be built; then its contract says what dbt-spark will ask of it (of Delta alone). Spark shows no condition with a word
    such as url or token in it: those are the contract's, or are left to the write. -#}

{%- macro delta__checks(properties) -%}
    {%- set checks, asked, contract, own = {}, {}, config.get('contract').enforced, 'delta.constraints.' -%}
    {%- for constraint in model.constraints if contract and constraint.type == 'check' -%}
        {%- do asked.update({constraint.name or 'check ' ~ loop.index: constraint.expression}) -%}
    {%- endfor -%}
    {%- set shown = {} -%}
    {%- for name, sql in (properties or {}).items() if name.startswith(own) -%}
        {%- set name = dbt_cdc._spelled(name[own | length:], asked) -%}
        {%- set sql = asked.get(name) if '(redacted)' in sql else sql -%}
        {%- if sql -%}{%- do shown.update({name: sql}) -%}{%- endif -%}
    {%- endfor -%}
    {#- dbt gives a constraint to a table that it makes, and to no other -#}
    {%- set place, known = 'the table' if properties is none else 'its contract', [] -%}
    {%- for name, sql in shown.items() -%}
        {%- do checks.update({"constraint '" ~ name ~ "' of the table": sql}) -%}
        {%- do known.append(sql.split() | join) -%}
    {%- endfor -%}
    {%- for name, sql in asked.items() if sql.split() | join not in known -%}
        {%- do checks.update({"constraint '" ~ name ~ "' of " ~ place: sql}) -%}
    {%- endfor -%}
    {%- for name, column in model.columns.items() if contract -%}
        {%- for constraint in column.constraints if constraint.type == 'not_null' -%}
            {%- do checks.update({"constraint 'not_null of " ~ name ~ "' of the table": dbt_cdc._quote(name) ~ ' is not null'}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(checks) -%}
{%- endmacro -%}


{%- macro default__checks(properties) -%}{%- do return({}) -%}{%- endmacro -%}

{#- A column that has another type now than in an older version. -#}

{%- macro _recast(table, path, value, old, new) -%}
    {#- SQL for a value in the type that its column has now. The text of the error names no value: it may be a secret. -#}
    {%- set was = "changes of " ~ table.source ~ ": column " ~ path ~ " is of type " ~ old ~ " in a version of the range, " -%}
    {%- set remedy = " the type that it has now; ask for a range that begins after the change of type" -%}
    {%- if not dbt_cdc._is_castable(old, new) -%}
        {%- do dbt_cdc._raise_faults([was ~ "expected one that can be cast to " ~ new ~ "," ~ remedy]) -%}
    {%- endif -%}
    {%- if '<' in old or new == 'string' -%}{%- do return('cast(' ~ value ~ ' as ' ~ new ~ ')') -%}{%- endif -%}
    {%- set tried = 'try_cast(' ~ value ~ ' as ' ~ new ~ ')' -%}
    {%- set node = model.unique_id if model is defined else 'this operation' -%}
    {%- set fault = "dbt_cdc: " ~ node ~ " can't run: " ~ was ~ "got a value of it that is no " ~ new
                    ~ ", expected values that can be cast to" ~ remedy -%}
    {%- do return('if(' ~ value ~ ' is not null and ' ~ tried ~ ' is null, raise_error(' ~ dbt_cdc._literal(fault) ~ '), '
                  ~ tried ~ ')') -%}
{%- endmacro -%}


{%- macro _is_castable(old, new) -%}
    {#- Does Spark cast one type to the other, value by value? What is nested only where no value can fail. -#}
    {%- if dbt_cdc._shape_of_type(old) != dbt_cdc._shape_of_type(new) -%}{%- do return(false) -%}{%- endif -%}
    {%- set others = dbt_cdc._leaves_of_type(new) -%}
    {%- for leaf in dbt_cdc._leaves_of_type(old) -%}
        {%- set families = [dbt_cdc._family_of_type(leaf), dbt_cdc._family_of_type(others[loop.index0])] -%}
        {%- set safe = leaf == others[loop.index0] or families[1] == 'text' or families == ['number', 'number'] -%}
        {%- set tried = 'text' in families or 'other' in families or families[0] == families[1]
                        or 'boolean' in families and 'number' in families or families | sort == ['date', 'moment'] -%}
        {%- if not safe and ('<' in old or not tried) -%}{%- do return(false) -%}{%- endif -%}
    {%- endfor -%}
    {%- do return(true) -%}
{%- endmacro -%}


{%- macro _shape_of_type(type) -%}
    {#- How a type is nested: Spark casts between types of one shape only. -#}
    {%- do return(modules.re.sub('[^<>,]', '', modules.re.sub('[(].*?[)]', '', type))) -%}
{%- endmacro -%}


{%- macro _leaves_of_type(type) -%}
    {#- The types that a nested type is made of, without names of fields and digits of decimals. -#}
    {%- set leaves = [] -%}
    {%- for leaf in modules.re.sub('[(].*?[)]', '', type).replace('>', '').replace('<', ',').split(',') -%}
        {%- do leaves.append(leaf.split(':')[-1].strip()) -%}
    {%- endfor -%}
    {%- do return(leaves) -%}
{%- endmacro -%}


{%- macro _family_of_type(type) -%}
    {%- set families = {
        'string': 'text', 'char': 'text', 'varchar': 'text', 'boolean': 'boolean', 'date': 'date', 'binary': 'binary',
        'timestamp': 'moment', 'timestamp_ntz': 'moment',
    } -%}
    {%- set numbers = ['tinyint', 'smallint', 'int', 'bigint', 'float', 'double', 'decimal'] -%}
    {%- do return('number' if type in numbers else families.get(type, 'other')) -%}
{%- endmacro -%}

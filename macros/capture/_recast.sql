{#- A column that has another type now than in an older version. -#}

{%- macro _recast(table, path, value, old, new) -%}
    {#- SQL for a value in the type that its column has now. The text of the error names no value: it may be a secret. -#}
    {%- set was = "changes of " ~ table.source ~ ": column " ~ path ~ " is of type " ~ old ~ " in a version of the range, " -%}
    {%- set remedy = " the type that it has now; " ~ dbt_cdc._later_range("after the change of type") -%}
    {%- if not dbt_cdc._is_castable(old, new) -%}
        {%- if table.unchecked -%}{%- do return('cast(null as ' ~ dbt_cdc._type_text(new) ~ ')') -%}{%- endif -%}
        {%- do dbt_cdc._raise_faults([was ~ "expected one that can be cast to " ~ new ~ "," ~ remedy]) -%}
    {%- endif -%}
    {%- if '<' in old -%}{%- do return('cast(' ~ value ~ ' as ' ~ dbt_cdc._type_text(new) ~ ')') -%}{%- endif -%}
    {%- set is_text, type = dbt_cdc._family_of_type(old) == 'text', dbt_cdc._type_text(new) -%}
    {%- set tried = dbt_cdc._read_as(value, type) if is_text and new != 'variant' else 'try_cast(' ~ value ~ ' as ' ~ type ~ ')' -%}
    {%- if table.unchecked -%}{%- do return(tried) -%}{%- endif -%}
    {%- set kept = tried ~ ' is not null' if is_text else 'try_cast(' ~ tried ~ ' as ' ~ dbt_cdc._type_text(old) ~ ') <=> ' ~ value -%}
    {%- set fault = "dbt_cdc: " ~ dbt_cdc._running() ~ " can't run: " ~ was ~ "got a value of it that is no " ~ new
                    ~ ", expected values that can be cast to" ~ remedy -%}
    {%- do return('if(' ~ value ~ ' is null or ' ~ kept ~ ', ' ~ tried ~ ', raise_error(' ~ dbt_cdc._literal(fault) ~ '))') -%}
{%- endmacro -%}


{%- macro _is_castable(old, new) -%}
    {#- Does Spark cast one type to the other, value by value? What is nested only where no value can fail. -#}
    {%- if '<' in old ~ new -%}{%- do return(dbt_cdc._widens_inside(old, new)) -%}{%- endif -%}
    {#- nothing tells whether the value is kept -#}
    {%- if dbt_cdc._lacks_equality(old) or new == 'void' -%}{%- do return(false) -%}{%- endif -%}
    {%- do return('other' in [dbt_cdc._family_of_type(old), dbt_cdc._family_of_type(new)] or dbt_cdc._are_of_one_kind(old, new)) -%}
{%- endmacro -%}

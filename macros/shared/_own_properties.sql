{#- What the package keeps in a table's properties, under names that begin with `dbt_cdc.`. Their letters are kept apart by
    blanks: Spark shows no property whose value contains a word such as url, token or password, and column names do. -#}

{%- macro _own_properties(relation) -%}
    {%- do return(dbt_cdc._own_among(dbt_cdc._table_properties(relation))) -%}
{%- endmacro -%}


{%- macro _own_among(properties) -%}
    {#- As text by name; nothing for a table that is not the package's. -#}
    {%- set kept, faults = {}, [] -%}
    {%- for name, value in properties.items() if name.startswith('dbt_cdc.') -%}
        {%- if '(redacted)' in value -%}
            {%- do faults.append("Spark hides the table property '" ~ name ~ "', which the package keeps: spark.sql.redaction.options.regex"
                                 ~ " or spark.redaction.regex matches it; give the session a pattern that does not") -%}
        {%- endif -%}
        {%- do kept.update({name: value[::2]}) -%}
    {%- endfor -%}
    {%- do dbt_cdc._raise_faults(faults) -%}
    {%- do return(kept) -%}
{%- endmacro -%}


{%- macro _table_properties(relation) -%}
    {#- All that a table has, as text by name. -#}
    {%- set properties = {} -%}
    {%- for row in run_query('show tblproperties ' ~ relation) -%}{%- do properties.update({row[0]: row[1] | string}) -%}{%- endfor -%}
    {%- do return(properties) -%}
{%- endmacro -%}


{%- macro _set_properties(relation, properties) -%}
    {%- do run_query(dbt_cdc._properties_statement(relation, properties)) -%}
{%- endmacro -%}


{%- macro _properties_statement(relation, properties) -%}
    {%- do return('alter table ' ~ relation ~ ' set tblproperties (' ~ dbt_cdc._property_list(properties) ~ ')') -%}
{%- endmacro -%}


{%- macro _property_list(properties) -%}
    {#- For a `tblproperties (…)` clause. -#}
    {%- set pairs = [] -%}
    {%- for name, value in properties.items() -%}
        {%- set value = value | string | list | join(' ') if name.startswith('dbt_cdc.') else value -%}
        {%- do pairs.append(dbt_cdc._literal(name) ~ ' = ' ~ dbt_cdc._literal(value)) -%}
    {%- endfor -%}
    {%- do return(pairs | join(', ')) -%}
{%- endmacro -%}

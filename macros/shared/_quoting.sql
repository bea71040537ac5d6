{#- Names and values that enter a statement do so through these two, whatever characters they hold. -#}

{%- macro _quote(name) -%}
    {%- do return(adapter.quote((name | string).replace('`', '``'))) -%}
{%- endmacro -%}


{%- macro _literal(value) -%}
    {#- A string literal; none becomes null. Spark puts settings in place of `${…}` wherever it stands. -#}
    {%- if value is none -%}{%- do return('null') -%}{%- endif -%}
    {%- do return("'" ~ (value | string).replace('\\', '\\\\').replace("'", "\\'").replace('${', '$\\{') ~ "'") -%}
{%- endmacro -%}


{%- macro _quoted_list(names, prefix='') -%}
    {%- set quoted = [] -%}
    {%- for name in names -%}
        {%- do quoted.append((prefix ~ '.' if prefix else '') ~ dbt_cdc._quote(name)) -%}
    {%- endfor -%}
    {%- do return(quoted) -%}
{%- endmacro -%}

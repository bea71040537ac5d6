{#- Names and values that enter a statement do so through these, whatever characters they hold. -#}

{%- macro _quote(name) -%}
    {%- do return(adapter.quote((name | string).replace('`', '``'))) -%}
{%- endmacro -%}


{%- macro _unquoted(name) -%}
    {#- The other way: of a name that stands as SQL takes it, with backticks or without. -#}
    {%- do return(name[1:-1].replace('``', '`') if modules.re.fullmatch('`.+`', name) else name) -%}
{%- endmacro -%}


{%- macro _literal(value) -%}
    {#- A string literal; none becomes null. Spark puts settings in place of `${…}` wherever it stands. -#}
    {%- if value is none -%}{%- do return('null') -%}{%- endif -%}
    {%- do return("'" ~ (value | string).replace('\\', '\\\\').replace("'", "\\'").replace('${', '$\\{') ~ "'") -%}
{%- endmacro -%}


{%- macro _literal_list(values) -%}
    {%- set literals = [] -%}
    {%- for value in values -%}{%- do literals.append(dbt_cdc._literal(value)) -%}{%- endfor -%}
    {%- do return(literals | join(', ')) -%}
{%- endmacro -%}


{%- macro _quoted_list(names, prefix='') -%}
    {%- set quoted = [] -%}
    {%- for name in names -%}
        {%- do quoted.append((prefix ~ '.' if prefix else '') ~ dbt_cdc._quote(name)) -%}
    {%- endfor -%}
    {%- do return(quoted) -%}
{%- endmacro -%}


{%- macro _select_list(values) -%}
    {#- SQL by name -> what selects it under that name. -#}
    {%- set listed = [] -%}
    {%- for name, sql in values.items() -%}{%- do listed.append(sql ~ ' as ' ~ dbt_cdc._quote(name)) -%}{%- endfor -%}
    {%- do return(listed | join(', ')) -%}
{%- endmacro -%}


{%- macro _speaks_of(sql, column) -%}
    {#- Whether a column's name stands in an expression, as far as its text shows. -#}
    {%- do return(modules.re.search('(^|\\W)' ~ modules.re.escape(column | lower) ~ '(\\W|$)', sql | lower) is not none) -%}
{%- endmacro -%}


{%- macro _same(names, left, right) -%}
    {#- A null-safe join on the named columns of two aliases. -#}
    {%- set pairs = [] -%}
    {%- for name in dbt_cdc._quoted_list(names) -%}
        {%- do pairs.append(left ~ '.' ~ name ~ ' <=> ' ~ right ~ '.' ~ name) -%}
    {%- endfor -%}
    {%- do return(pairs | join(' and ')) -%}
{%- endmacro -%}

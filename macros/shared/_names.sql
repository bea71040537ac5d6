{#- Names of columns as options give them, and as tables spell them. -#}

{%- macro _names_in(value) -%}
    {#- The names of a list or of one string; what is neither has none (and is told by _check_options where it is an option). -#}
    {%- set listed = value is iterable and value is not string and value is not mapping -%}
    {%- do return([value] if value is string and value else value | map('string') | list if listed else []) -%}
{%- endmacro -%}


{%- macro _unquoted_names(value) -%}
    {%- set names = [] -%}
    {%- for name in dbt_cdc._names_in(value) -%}{%- do names.append(dbt_cdc._unquoted(name)) -%}{%- endfor -%}
    {%- do return(names) -%}
{%- endmacro -%}


{%- macro _key_in(config) -%}
    {#- Names of columns, also where dbt-spark, which puts a key into SQL as it stands, has to be given backticks. -#}
    {%- do return(dbt_cdc._unquoted_names(config.get('unique_key'))) -%}
{%- endmacro -%}


{%- macro _spelled(name, columns) -%}
    {#- As the table spells it: catalogs such as Hive's and Glue's keep lower-case names only. -#}
    {%- for column in columns if name is not none and column | lower == name | string | lower -%}{%- do return(column) -%}{%- endfor -%}
    {%- do return(name) -%}
{%- endmacro -%}


{%- macro _is_plain_name(text) -%}
    {#- Whether an option that takes columns and expressions can only mean a column. -#}
    {%- do return(modules.re.fullmatch('[^\\W\\d]\\w*', text) is not none) -%}
{%- endmacro -%}

{#- What a table of the format makes of a type. -#}

{%- macro default__kept_type(type) -%}{%- do return(type) -%}{%- endmacro -%}


{%- macro iceberg__kept_type(type) -%}
    {#- not the name of a struct's field -#}
    {%- do return(modules.re.sub('\\b(tinyint|smallint)\\b(?!:)', 'int', type)) -%}
{%- endmacro -%}

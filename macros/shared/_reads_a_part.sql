{%- macro _reads_a_part() -%}
    {#- `--empty` and `--sample` show a model less than there is. -#}
    {%- do return(flags.EMPTY or invocation_args_dict.get('sample') is not none) -%}
{%- endmacro -%}

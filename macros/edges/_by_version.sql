{%- macro _read_by_version(relation, column) -%}
    {%- do exceptions.raise_compiler_error("later") -%}
{%- endmacro -%}

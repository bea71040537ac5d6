{#- The package's version, for the check against the Python distribution (dbt gives a macro no other way to it). -#}
{%- macro _version() -%}{%- do return('0.1.0') -%}{%- endmacro -%}

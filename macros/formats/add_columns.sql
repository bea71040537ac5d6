{%- macro _add_columns(relation, format, types, structs=none) -%}
    {#- Gives a table columns, types by name, and before that what its format asks for such names and types; or gives each of
        these structs of the table fields so. -#}
    {%- if not types -%}{%- do return(none) -%}{%- endif -%}
    {%- do dbt_cdc._allow_names(relation, format, types.keys(), types.values()) -%}
    {%- do dbt_cdc._allow_types(relation, format, types.values()) -%}
    {%- set added = [] -%}
    {%- for name, type in types.items() -%}
        {%- set column = dbt_cdc._quote(name) ~ ' ' ~ dbt_cdc._type_text(type) -%}
        {%- for struct in structs or [none] -%}{%- do added.append(struct ~ '.' ~ column if struct else column) -%}{%- endfor -%}
    {%- endfor -%}
    {%- do run_query('alter table ' ~ relation ~ ' add columns (' ~ added | join(', ') ~ ')') -%}
{%- endmacro -%}

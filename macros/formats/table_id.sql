{#- What stays the same while a table lives and differs when one is dropped and made anew under its name; none where
    versions tell that by themselves, as no two tables share one. -#}

{%- macro delta__table_id(relation) -%}
    {%- do return(run_query('describe detail ' ~ relation).rows[0]['id']) -%}
{%- endmacro -%}


{%- macro iceberg__table_id(relation) -%}{%- do return(none) -%}{%- endmacro -%}


{%- macro hudi__table_id(relation) -%}{%- do return(none) -%}{%- endmacro -%}

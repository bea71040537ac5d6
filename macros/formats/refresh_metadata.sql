{%- macro _refresh_metadata(relation, format=none) -%}
    {#- So that the session sees a table as it is, and not as it was before another process wrote it. `format`: where the
        relation does not say its own. -#}
    {%- for statement in dbt_cdc._for_format('refresh_metadata', format or dbt_cdc._format_of(relation))(relation) -%}
        {%- do run_query(statement) -%}
    {%- endfor -%}
{%- endmacro -%}


{#- Statements without which a session may see a table as it was before another process wrote it. -#}

{%- macro default__refresh_metadata(relation) -%}{%- do return([]) -%}{%- endmacro -%}


{%- macro iceberg__refresh_metadata(relation) -%}
    {#- Iceberg's catalogs in Spark keep what they have read of a table until nobody asks for half a minute; where its name has
        a dot, they keep what they have read of its history in spite of the first of these. -#}
    {%- set statements = ['refresh table ' ~ relation] -%}
    {%- for part in ['snapshots', 'refs', 'all_manifests'] if '.' in relation.identifier -%}
        {%- do statements.append('refresh table ' ~ relation ~ '.' ~ part) -%}
    {%- endfor -%}
    {%- do return(statements) -%}
{%- endmacro -%}


{%- macro hudi__refresh_metadata(relation) -%}{%- do return(['refresh table ' ~ relation]) -%}{%- endmacro -%}

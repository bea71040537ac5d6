{#- The id of a table's latest commit as a string: what `version as of` takes and table_changes gives as `version`.
    None for an Iceberg table that has no snapshot yet. -#}

{%- macro delta__current_version(relation) -%}
    {%- do return(run_query('describe history ' ~ relation ~ ' limit 1').rows[0]['version'] | int | string) -%}
{%- endmacro -%}


{%- macro iceberg__current_version(relation) -%}
    {%- set found = run_query(
        "select cast(snapshot_id as string) as version from " ~ relation ~ ".refs where name = 'main'").rows -%}
    {%- do return((found[0]['version'] | string) if found | length > 0 else none) -%}
{%- endmacro -%}


{%- macro hudi__current_version(relation) -%}
    {%- do return(run_query(
        'select max(version) as version from (' ~ dbt_cdc._hudi_commits(relation, 'false') ~ ')').rows[0]['version']) -%}
{%- endmacro -%}

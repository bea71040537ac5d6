{#- `using … on …` of the MERGE that writes a snapshot's changes. `changes`: a query with the key (dbt_cdc_key_1 …), whether a
    row closes a record (dbt_cdc_closes), the dbt_scd_id of the record known to be open (dbt_cdc_scd_id) and, in the
    column named `new_scd_id`, that of the record to insert. -#}

{%- macro delta__snapshot_match(changes, shape, scd_id, new_scd_id) -%}
    {{ dbt_cdc._match_by_scd_id(changes, scd_id, new_scd_id) if dbt_cdc._char_keys(shape)
       else dbt_cdc.default__snapshot_match(changes, shape, scd_id, new_scd_id) }}
{%- endmacro -%}


{%- macro default__snapshot_match(changes, shape, scd_id, new_scd_id) -%}
    using (
        {{ changes }}
    ) as DBT_INTERNAL_SOURCE
    on {% for key in dbt_cdc._keys(shape.strategy) %}({{ key }}) = DBT_INTERNAL_SOURCE.dbt_cdc_key_{{ loop.index }} and {% endfor -%}
        {{ dbt_cdc._is_open('DBT_INTERNAL_DEST') }}
        and dbt_cdc_closes = (DBT_INTERNAL_DEST.{{ scd_id }} <=> dbt_cdc_scd_id)
{%- endmacro -%}


{%- macro hudi__snapshot_match(changes, shape, scd_id, new_scd_id) -%}
    {#- Hudi takes nothing but an equality of the table's record key with a column of the same name -#}
    {{ dbt_cdc._match_by_scd_id(changes, scd_id, new_scd_id) }}
{%- endmacro -%}


{%- macro _match_by_scd_id(changes, scd_id, new_scd_id) -%}
    {#- Of two runs at once, what the other wrote is seen only where it is the same record. -#}
    using (
        select *, if(dbt_cdc_closes, dbt_cdc_scd_id, {{ new_scd_id }}) as {{ scd_id }}
        from (
        {{ changes }}
        )
    ) as DBT_INTERNAL_SOURCE
    on DBT_INTERNAL_DEST.{{ scd_id }} = DBT_INTERNAL_SOURCE.{{ scd_id }}
{%- endmacro -%}

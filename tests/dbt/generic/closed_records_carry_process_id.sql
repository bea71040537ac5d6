{#- Every record names the run that wrote it, a closed one the run that closed it, an open one none.
    Gives the records that do not. -#}
{% test closed_records_carry_process_id(model, is_open='dbt_valid_to is null', insert_process_id=none, update_process_id=none) %}
    {%- set names = dbt_cdc._operational_columns() %}
    select *
    from {{ model }}
    where {{ dbt_cdc._quote(insert_process_id or names.insert_process_id) }} is null
        or coalesce({{ is_open }}, false) <> ({{ dbt_cdc._quote(update_process_id or names.update_process_id) }} is null)
{% endtest %}

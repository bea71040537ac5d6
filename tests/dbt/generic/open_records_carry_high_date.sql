{#- The high date marks the open records, and only those. Gives the records where it does not. -#}
{% test open_records_carry_high_date(model, is_open='dbt_valid_to is null', effective_end=none) %}
    {%- set end = dbt_cdc._quote(effective_end or dbt_cdc._operational_columns().effective_end_timestamp) %}
    select *
    from {{ model }}
    where coalesce({{ is_open }}, false) <> coalesce(
        if(
            typeof({{ end }}) = 'timestamp',
            cast({{ end }} as timestamp) = {{ dbt_cdc._high_date('timestamp') }},
            cast({{ end }} as timestamp_ntz) = {{ dbt_cdc._high_date('timestamp_ntz') }}
        ),
        false
    )
{% endtest %}

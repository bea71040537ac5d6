{#- Each key has at most one open record. Gives the keys that have more. -#}
{% test one_open_record_per_key(model, unique_key, is_open='dbt_valid_to is null') %}
    {%- set keys = ([unique_key] if unique_key is string else unique_key) | join(', ') %}
    select {{ keys }}, count(*) as open_records
    from {{ model }}
    where {{ is_open }}
    group by {{ keys }}
    having count(*) > 1
{% endtest %}

{#- The versions of a key follow each other: none ends before it starts, none starts before the one before it ends.
    Gives the versions that do. -#}
{% test no_overlapping_versions(model, unique_key, valid_from='dbt_valid_from', valid_to='dbt_valid_to') %}
    {%- set keys = ([unique_key] if unique_key is string else unique_key) | join(', ') %}
    select *
    from (
        select *,
            lead({{ valid_from }}) over (
                partition by {{ keys }} order by {{ valid_from }} asc, {{ valid_to }} asc nulls last) as next_valid_from
        from {{ model }}
    ) as versions
    where {{ valid_to }} < {{ valid_from }}
        or next_valid_from < {{ valid_to }}
        or (next_valid_from is not null and {{ valid_to }} is null)
{% endtest %}

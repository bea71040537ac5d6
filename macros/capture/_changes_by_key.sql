{#- All changes of a key in a range as one: its newest, or the first and the last together. -#}

{%- macro _changes_in_order(table) -%}
    {#- Each change among those of its key: what its first one began with, and what the one before it ended with. -#}
    {%- set oldest_first = '(partition by ' ~ dbt_cdc._key_columns(table) ~ ' order by position asc)' -%}
    in_order as (
        select
            *,
            first_value(before) over {{ oldest_first }} as first_before,
            lag(struct(after)) over {{ oldest_first }} as previous,
            lead(position) over {{ oldest_first }} is null as is_newest
        from row_changes
    ),
{%- endmacro -%}


{%- macro _latest_state(table) -%}
    {#- The newest change of each key. -#}
    {{ dbt_cdc._changes_in_order(table) }}

    asked_for as (
        select * from in_order
        where {{ dbt_cdc._of_one_row(table, 'is_newest') }}
    )
{%- endmacro -%}


{%- macro _net(table) -%}
    {#- First and last change of each key in one: nothing for a key that came and went. -#}
    {{ dbt_cdc._changes_in_order(table) }}

    asked_for as (
        select
            case when first_before is null then 'i' when after is null then 'd' else 'u' end as op,
            ts,
            version,
            first_before as before,
            after
        from in_order
        where {{ dbt_cdc._of_one_row(table, 'is_newest and (first_before is not null or after is not null)') }}
    )
{%- endmacro -%}


{%- macro _of_one_row(table, condition) -%}
    {#- A condition, and the error where a key's changes can't all be of one row. -#}
    {%- do return('case when ' ~ dbt_cdc._is_of_another_row(table) ~ ' then ' ~ dbt_cdc._key_is_not_unique(table, 'up to')
                  ~ ' else ' ~ condition ~ ' end') -%}
{%- endmacro -%}


{%- macro _is_of_another_row(table) -%}
    {#- A condition: a change does not begin with what the change of its key before it ended with. Whether there was a row
        tells that of any key; the row itself is compared where the key was not given, as a column that was dropped and
        came back has its value in one image only. -#}
    {%- set same = dbt_cdc._comparable(table.columns, 'previous.after') ~ ' <=> ' ~ dbt_cdc._comparable(table.columns, 'before')
                   if table.taken_for_key else '(previous.after is null) = (before is null)' -%}
    {%- do return('previous is not null and not (' ~ same ~ ')') -%}
{%- endmacro -%}

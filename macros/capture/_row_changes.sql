{#- Row changes out of images: one row per key and commit, as CTEs that end in one named `row_changes` with
    position, op, ts, version (text), before, after. -#}

{%- macro _paired_by_key(table, name='row_changes') -%}
    {#- `name`: of the last CTE. The images of a key and commit side by side, the older first: a window needs one sort of the
        images, an aggregate of structs two. (Spelled out at each use: Iceberg's views do not know named windows.) -#}
    {%- set keys = dbt_cdc._quoted_list(table.key, 'image') | join(', ') -%}
    {%- set side_by_side = '(partition by ' ~ keys ~ ', position order by is_after asc)' -%}
    paired as (
        select
            position,
            version,
            ts,
            if(is_after, lag(image) over {{ side_by_side }}, image) as before,
            if(is_after, image, null) as after,
            is_after <=> lag(is_after) over {{ side_by_side }} as is_repeated,
            lead(is_after) over {{ side_by_side }} is null as is_last
        from images
        {{ 'where ' ~ table.where if table.where }}
    ),

    {{ name }} as (
        select
            position,
            case
                when before is null then 'i'
                when after is null then 'd'
                else 'u'
            end as op,
            ts,
            cast(version as string) as version,
            before,
            after
        from paired
        {#- the error stands where no reader can do without it: a column that nobody asks for is never worked out #}
        where case when is_repeated then {{ dbt_cdc._key_is_not_unique(table) }} else is_last and {{ dbt_cdc._differ(table) }} end
    )
{%- endmacro -%}


{%- macro _key_is_not_unique(table, reach='of') -%}
    {#- The condition on a row whose key repeats: raises, or is true where changes are only counted (`unchecked`). -#}
    {%- if table.unchecked -%}{%- do return('true') -%}{%- endif -%}
    {%- set found = "dbt_cdc: " ~ dbt_cdc._running() ~ " can't run: changes of " ~ table.source ~ ": unique_key ("
                    ~ (table.key | join(', ')) ~ ") names several rows " ~ reach ~ " version " -%}
    {%- do return("raise_error(concat(" ~ dbt_cdc._literal(found) ~ ", version, "
                  ~ dbt_cdc._literal(", expected one row for each key; give the columns that tell its rows apart") ~ "))") -%}
{%- endmacro -%}


{%- macro _differ(table) -%}
    {#- A condition: the two images of a change are not the same. -#}
    {%- do return('not (' ~ dbt_cdc._comparable(table.columns, 'before') ~ ' <=> '
                  ~ dbt_cdc._comparable(table.columns, 'after') ~ ')') -%}
{%- endmacro -%}


{%- macro _unpaired(table) -%}
    {#- Without a key an update is the delete of one row and the insert of another; equal rows cancel out. -#}
    counted as (
        select
            position,
            version,
            ts,
            any_value(image) as image,
            count_if(is_after) - count_if(not is_after) as copies
        from images
        {{ 'where ' ~ table.where if table.where }}
        group by sha2({{ dbt_cdc._as_json(dbt_cdc._comparable(table.columns, 'image')) }}, 256), position, version, ts
    ),

    row_changes as (
        select
            position,
            if(copies > 0, 'i', 'd') as op,
            ts,
            cast(version as string) as version,
            if(copies < 0, image, null) as before,
            if(copies > 0, image, null) as after
        from counted
        lateral view explode(sequence(1, abs(copies))) as copy
        where copies != 0
    )
{%- endmacro -%}


{%- macro _latest_state(table) -%}
    {#- The newest change of each key. -#}
    {%- set newest_first = '(partition by ' ~ dbt_cdc._key_of_change(table) ~ ' order by position desc)' -%}
    numbered as (
        select
            *,
            row_number() over {{ newest_first }} as age,
            lead(struct(after)) over {{ newest_first }} as previous
        from row_changes
    ),

    asked_for as (
        select * from numbered
        where case when {{ dbt_cdc._is_of_another_row(table) }} then {{ dbt_cdc._key_is_not_unique(table, 'up to') }} else age = 1 end
    )
{%- endmacro -%}


{%- macro _is_of_another_row(table) -%}
    {#- A condition: a change does not begin with what the change of its key before it ended with. Whether there was a row
        tells that of any key; the row itself is compared where the key was not given, as a column that was dropped and
        came back has its value in one image only. -#}
    {%- set same = dbt_cdc._comparable(table.columns, 'previous.after') ~ ' <=> ' ~ dbt_cdc._comparable(table.columns, 'before')
                   if table.taken_for_key else '(previous.after is null) = (before is null)' -%}
    {%- do return('previous is not null and not (' ~ same ~ ')') -%}
{%- endmacro -%}


{%- macro _net(table) -%}
    {#- First and last change of each key in one: nothing for a key that came and went. A key whose inserts and deletes
        do not add up to that names several rows. -#}
    ends as (
        select
            max(position) as position,
            max_by(ts, position) as ts,
            max_by(version, position) as version,
            min_by(before, position) as before,
            max_by(after, position) as after,
            count_if(before is null) - count_if(after is null) as gained
        from row_changes
        group by {{ dbt_cdc._key_of_change(table) }}
    ),

    asked_for as (
        select
            *,
            case when before is null then 'i' when after is null then 'd' else 'u' end as op
        from ends
        where case when gained != int(before is null) - int(after is null) then {{ dbt_cdc._key_is_not_unique(table, 'up to') }}
            else before is not null or after is not null end
    )
{%- endmacro -%}


{%- macro _key_of_change(table, named=false) -%}
    {#- The key's columns, `named`: each as a column of its name. -#}
    {%- set parts = [] -%}
    {%- for name in dbt_cdc._quoted_list(table.key) -%}
        {%- do parts.append('if(after is null, before.' ~ name ~ ', after.' ~ name ~ ')' ~ (' as ' ~ name if named else '')) -%}
    {%- endfor -%}
    {%- do return(parts | join(', ')) -%}
{%- endmacro -%}

{#- Row changes out of images: one row per key and commit, as CTEs that end in one named `row_changes` with
    position, op, ts, version (text), before, after and, where the table has a key, its columns as key_1, key_2 … -#}

{%- macro _paired_by_key(table, name='row_changes') -%}
    {#- `name`: of the last CTE. The images of a key side by side, a commit's older one first: a window needs one sort of the
        images, an aggregate of structs two, and _changes_in_order goes on in the same order. (Spelled out at each use: Iceberg's views
        do not know named windows.) -#}
    {%- set keys = dbt_cdc._key_columns(table) -%}
    {%- set side_by_side = '(partition by ' ~ keys ~ ' order by position asc, is_after asc)' -%}
    keyed as (
        select
            {{ dbt_cdc._as_key_columns(dbt_cdc._quoted_list(table.key, 'image')) }},
            image,
            is_after,
            position,
            version,
            ts
        from images
        {{ 'where ' ~ table.where if table.where }}
    ),

    side_by_side as (
        select
            *,
            lag(image) over {{ side_by_side }} as image_above,
            lag(is_after) over {{ side_by_side }} as is_after_above,
            lag(position) over {{ side_by_side }} <=> position as is_paired,
            lead(position) over {{ side_by_side }} <=> position as is_followed
        from keyed
    ),

    paired as (
        select
            {{ keys }},
            position,
            version,
            ts,
            if(not is_after, image, if(is_paired, image_above, null)) as before,
            if(is_after, image, null) as after,
            is_paired and is_after = is_after_above as is_repeated,
            is_followed
        from side_by_side
    ),

    {{ name }} as (
        select
            {{ keys }},
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
        where case when is_repeated then {{ dbt_cdc._key_is_not_unique(table) }} else not is_followed and {{ dbt_cdc._differ(table) }} end
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


{%- macro _key_columns(table) -%}
    {#- Columns of their own: Spark takes rows that are placed by one for placed by the next window, but not by an image's field. -#}
    {%- set names = [] -%}
    {%- for _ in table.key -%}{%- do names.append('key_' ~ loop.index) -%}{%- endfor -%}
    {%- do return(names | join(', ')) -%}
{%- endmacro -%}


{%- macro _as_key_columns(values) -%}
    {%- set named = [] -%}
    {%- for value in values -%}{%- do named.append(value ~ ' as key_' ~ loop.index) -%}{%- endfor -%}
    {%- do return(named | join(', ')) -%}
{%- endmacro -%}

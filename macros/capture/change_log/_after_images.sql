{#- After-images of a log that keeps before-images only. -#}

{%- macro _with_after_images(table, scope, upto) -%}
    {#- CTEs that end in `completed`: the log's rows with after-images. The after-image of a change that no
        later one follows comes from the version that was logged last, which may be gone if the range has no such change. -#}
    {%- set commits = table.own.timeline.commits -%}
    {%- set place = dbt_cdc._past_quiet(commits, upto - table.timeline.offset) -%}
    {%- set needed = place >= table.own.timeline.images_from or dbt_cdc._has_newest_changes(table, scope) -%}
    {%- if needed -%}
        {%- do dbt_cdc._require_images(table, place, "run the model, which brings the log up to the table") -%}
        {%- set held = dbt_cdc._rows_at_version(table, commits[place].version) -%}
        {%- set conditions = ["logged.op != 'd'", 'logged.following is null', dbt_cdc._same(table.key, 'logged.key', 'held.image')] -%}
    held as (
        select {{ held.image }} as image
        from {{ held.source }}
    ),
    {%- endif %}

    completed as (
        select
            logged.position,
            logged.op,
            logged.ts,
            logged.version,
            logged.before,
            case
                when logged.op = 'd' then null
                when logged.following is not null then {{ dbt_cdc._log_struct(table, 'logged.following.before') }}
                {%- if needed %}
                else held.image
                {%- endif %}
            end as after
        from logged
        {%- if needed %}
        left join held on {{ conditions | join(' and ') }}
        {%- endif %}
    ),
{%- endmacro -%}


{%- macro _has_newest_changes(table, scope) -%}
    {#- Has the range a row that no later row of the log follows? -#}
    {%- set commits = table.timeline.commits -%}
    {%- set found = run_query(
        "select 1 as found from (select op, ts, lead(op) over (partition by key order by ts asc) as following from "
        ~ table.log.relation ~ ") where op != 'd' and following is null and ts <= timestamp_micros("
        ~ commits[scope.end].micros ~ ")"
        ~ (" and ts > timestamp_micros(" ~ commits[scope.begin].micros ~ ")" if scope.begin >= 0 else "") ~ " limit 1") -%}
    {%- do return(found.rows | length > 0) -%}
{%- endmacro -%}

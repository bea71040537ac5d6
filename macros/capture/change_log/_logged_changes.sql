{#- The answer of a log. What it does not keep of a row is read from the table: before- and after-images from the versions
    on both sides of a change (key_op); an after-image from the next change of the row or, where there is none, from the
    table as it was when last logged (data_before, but where the table's feed tells the range). -#}

{%- macro _logged_changes(table, scope) -%}
    {#- CTEs that end in `row_changes`: the log's rows of a range, and what the table has seen since it was last logged. -#}
    {%- set log, commits = table.log, table.timeline.commits -%}
    {%- if log.mode == 'key_op' or (log.mode == 'data_before' and dbt_cdc._is_fed_within(table, scope)) -%}
        {%- do return(dbt_cdc._changes_at_versions(table, scope)) -%}
    {%- endif -%}
    {%- set upto = dbt_cdc._place_of_version(table, log.upto) -%}
    {%- if upto <= scope.begin -%}{%- do return(dbt_cdc._since_logged(table, scope.begin, scope.end)) -%}{%- endif -%}
    {%- if upto < scope.end %}
    {{ dbt_cdc._since_logged(table, upto, scope.end, 'since_logged') }},
    {%- endif %}

    logged as (
        select
            unix_micros(logged.ts) as position,
            logged.op,
            logged.ts,
            logged.version,
            logged.key,
            {{ dbt_cdc._log_struct(table, 'logged.before', 'before') }},
            {% if log.mode == 'data_before' -%}
                lead(struct(logged.before)) over (partition by logged.key order by logged.ts asc) as following
            {%- else -%}
                {{ dbt_cdc._log_struct(table, 'logged.after', 'after') }}
            {%- endif %}
        from {{ log.relation }} as logged
        where logged.ts > timestamp_micros({{ commits[scope.begin].micros if scope.begin >= 0 else -1 }})
    ),

    {{ dbt_cdc._with_after_images(table, scope, upto) if log.mode == 'data_before' }}

    {%- set key = [] -%}
    {%- for name in dbt_cdc._quoted_list(table.key) -%}
        {%- do key.append('if(after is null, before.' ~ name ~ ', after.' ~ name ~ ')') -%}
    {%- endfor %}

    row_changes as (
        select
            {{ dbt_cdc._as_key_columns(key) }},
            position,
            op,
            ts,
            version,
            before,
            after
        from {{ 'completed' if log.mode == 'data_before' else 'logged' }}
        {#- what a later run logs is no part of it, also in a view; a change of nothing but columns that the table has
            no more is none #}
        where ts <= timestamp_micros({{ commits[[upto, scope.end] | min].micros }}) and {{ dbt_cdc._differ(table) }}
        {%- if upto < scope.end %}
        {#- after all that is logged, whose positions are microseconds since 1970 (10^15) #}
        union all
        select {{ dbt_cdc._key_columns(table) }}, position + 1000000000000000000, op, ts, version, before, after from since_logged
        {%- endif %}
    )
{%- endmacro -%}


{%- macro _is_fed_within(table, scope) -%}
    {#- Does the table's own feed tell a range that begins in the log? It reads what changed, not the table. -#}
    {%- set offset = table.timeline.offset -%}
    {%- do return(scope.begin >= table.timeline.begun and dbt_cdc._for_format('is_told_by_feed', table.format)(
        table.own, scope.begin - offset, scope.end - offset)) -%}
{%- endmacro -%}


{%- macro _since_logged(table, begin, end, name='row_changes') -%}
    {#- CTEs that end in one called `name`: what the log does not have yet, from the table. -#}
    {%- set offset = table.timeline.offset -%}
    {%- do dbt_cdc._raise_faults([table.log.lost] if begin < offset else []) -%}
    images as (
        {{ dbt_cdc._images_by_commit(table.own, begin - offset, end - offset) }}
    ),

    {{ dbt_cdc._paired_by_key(table, name) }}
{%- endmacro -%}


{%- macro _changes_at_versions(table, scope) -%}
    {#- CTEs that end in `row_changes`: what a log without images tells, from the table's own versions. A range that begins
        with the log begins with an `i` of every row that the table held then. -#}
    {%- set begun, offset = table.timeline.begun, table.timeline.offset -%}
    {%- set begin, end = [scope.begin, begun] | max - offset, scope.end - offset -%}
    {%- set queries, fed_from = [], table.own.timeline.feed_from -%}
    {%- if scope.begin < begun or fed_from is none or fed_from > begin + 1 -%}
        {%- do dbt_cdc._require_images(table, begin, "begin there, or keep images with change_log 'data_before_after'") -%}
    {%- endif -%}
    {%- if scope.begin < begun -%}
        {%- do queries.append(dbt_cdc._two_versions(table, none, table.own.timeline.commits[begin], -1)) -%}
    {%- endif -%}
    {%- if begin < end -%}{%- do queries.append(dbt_cdc._images_by_commit(table.own, begin, end)) -%}{%- endif -%}
    images as (
        {{ queries | join('\n        union all\n        ') }}
    ),

    {{ dbt_cdc._paired_by_key(table) }}
{%- endmacro -%}


{%- macro _images_by_commit(table, begin, end) -%}
    {#- The images of each commit of a range: from the format's feed or, where it does not cover the range, from the versions. -#}
    {%- set from = table.timeline.feed_from -%}
    {%- if from is not none and from <= begin + 1 -%}
        {%- do return(dbt_cdc._for_format('changes', table.format)(table, begin, end)) -%}
    {%- endif -%}
    {%- if begin < table.timeline.images_from -%}
        {%- do dbt_cdc._raise_faults(["changes of " ~ table.source ~ " since " ~ dbt_cdc._commit_name(table, begin) ~ ", where its"
            ~ " log ends, can't be told: the oldest version that can still be read is "
            ~ dbt_cdc._commit_name(table, table.timeline.images_from) ~ "; drop the log (`<model>__changes`) to begin a"
            ~ " new one, and keep versions for longer than the time between two runs"]) -%}
    {%- endif -%}
    {%- do return(dbt_cdc._adjacent_versions(table, begin, end)) -%}
{%- endmacro -%}


{%- macro _require_images(table, place, remedy) -%}
    {%- set own = table.own.timeline -%}
    {%- if place < own.images_from -%}
        {%- do dbt_cdc._raise_faults(["changes of " ~ table.source ~ ": its log keeps no such images (change_log '"
            ~ table.log.mode ~ "') and the table's version is gone that has them, expected a range that begins at or after "
            ~ dbt_cdc._commit_name(table.own, own.images_from) ~ "; " ~ remedy]) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _place_of_version(table, version) -%}
    {%- do return((table.timeline.commits | map(attribute='version') | list).index(version)) -%}
{%- endmacro -%}


{%- macro _log_struct(table, image, name=none) -%}
    {#- An image as logged, in the order and with the columns of the table; `name`: as a column of that name. -#}
    {%- set logged = '(select before.* from ' ~ table.log.relation ~ ')' -%}
    {%- set types = dbt_cdc._types_of(logged) -%}
    {%- if types.items() | list == dbt_cdc._types_by_name(table.columns).items() | list -%}{%- do return(image) -%}{%- endif -%}
    {%- do return('if(' ~ image ~ ' is null, null, ' ~ dbt_cdc._image(table, types, logged, image) ~ ')'
                  ~ (' as ' ~ name if name else '')) -%}
{%- endmacro -%}

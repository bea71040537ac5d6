{#- What a table's log holds. -#}

{%- macro _change_log_of(relation, table) -%}
    {#- relation, mode, from (version that it begins with), upto (last version logged), commits (oldest first, with the
        operations they hold); none if there is no log, or it belongs to a table that was made anew since. -#}
    {%- set existing = dbt_cdc._load_relation(dbt_cdc._companion(relation, 'changes')) -%}
    {%- if existing is none -%}{%- do return(none) -%}{%- endif -%}
    {%- set kept = {} -%}
    {%- for row in run_query('show tblproperties ' ~ existing).rows -%}{%- do kept.update({row[0]: row[1] | string}) -%}{%- endfor -%}
    {%- set mode, begun = kept.get('dbt_cdc.change_log'), kept.get('dbt_cdc.from') -%}
    {%- if mode is none or kept.get('dbt_cdc.key') != table.key | join('\n') | lower -%}{%- do return(none) -%}{%- endif -%}
    {%- set commits = [] -%}
    {%- for row in run_query(
        "select version, max(unix_micros(ts)) as micros, count_if(op != 'i') as earlier, count_if(op != 'd') as later from "
        ~ existing ~ " group by version order by micros").rows -%}
        {%- do commits.append({'version': row['version'] | string, 'micros': row['micros'] | int,
                               'earlier': row['earlier'] | int > 0, 'later': row['later'] | int > 0}) -%}
    {%- endfor -%}
    {%- set upto = commits[-1].version if commits else begun -%}
    {%- set upto_micros = commits[-1].micros if commits else kept['dbt_cdc.from_micros'] | int -%}
    {%- set known = table.timeline.commits | map(attribute='version') | list -%}
    {#- the time of a commit tells a table from another that was made anew under its name -#}
    {%- set another = upto in known and table.timeline.commits[known.index(upto)].micros != upto_micros -%}
    {%- if another or (upto not in known and table.timeline.whole) -%}{%- do return(none) -%}{%- endif -%}
    {%- if upto not in known -%}
        {%- do dbt_cdc._raise_faults([existing ~ " ends with version " ~ upto ~ ", which " ~ table.source
            ~ " no longer knows (expired or cleaned), so that what changed since can't be told; drop " ~ existing
            ~ " to begin a new log, and keep versions for longer than the time between two runs"]) -%}
    {%- endif -%}
    {%- do return({'relation': existing, 'mode': mode, 'from': begun, 'upto': upto, 'commits': commits}) -%}
{%- endmacro -%}


{%- macro _with_log(table, log) -%}
    {#- A table's timeline with the commits that only its log remembers; `offset` is how many these are. -#}
    {%- set known = table.timeline.commits | map(attribute='version') | list -%}
    {%- set older = log.commits | rejectattr('version', 'in', known) | list -%}
    {%- set timeline = dict(table.timeline, commits=older + table.timeline.commits) -%}
    {%- set versions = timeline.commits | map(attribute='version') | list -%}
    {%- set begun = versions.index(log['from']) if log['from'] in versions else 0 -%}
    {%- do timeline.update(feed_from=begun, offset=older | length, own_feed=table.timeline.feed_from) -%}
    {%- do return(dict(table, timeline=timeline, log=log, own=table)) -%}
{%- endmacro -%}


{%- macro _logged_changes(table, scope) -%}
    {#- CTEs that end in `row_changes`: the log's rows of a range, missing images read from the table's versions, and what
        the table has seen since the log was last brought up to it. -#}
    {%- set log, commits = table.log, table.timeline.commits -%}
    {%- set versions = commits | map(attribute='version') | list -%}
    {%- set scoped = [] -%}
    {%- for commit in log.commits if scope.begin < versions.index(commit.version) <= scope.end -%}
        {%- do scoped.append(commit) -%}
    {%- endfor -%}
    {%- set stored = {'key_op': [], 'data_before': ['before'], 'data_before_after': ['before', 'after']}[log.mode] -%}
    {%- set tail = [versions.index(log.upto), scope.begin] | max -%}
    {%- if tail < scope.end -%}
        {%- set begin, end = tail - table.timeline.offset, scope.end - table.timeline.offset -%}
        {%- set fed = table.timeline.own_feed is not none and table.timeline.own_feed <= begin + 1 -%}
    images as (
        {{ (dbt_cdc._for_format('changes', table.format) if fed else dbt_cdc._adjacent_versions)(table.own, begin, end) }}
    ),

    {{ dbt_cdc._paired_by_key(table).replace('row_changes as (', 'since_logged as (') }},
    {%- endif %}

    {{ dbt_cdc._images_at(table, 'later_images', scoped | selectattr('later') | list, 0) if 'after' not in stored }}
    {{ dbt_cdc._images_at(table, 'earlier_images', scoped | selectattr('earlier') | list, 1) if 'before' not in stored }}

    row_changes as (
        select
            unix_micros(logged.ts) as position,
            logged.op,
            logged.ts,
            logged.version,
            {{ dbt_cdc._log_struct(table, 'logged.before') if 'before' in stored else 'earlier_images.image' }} as before,
            {{ dbt_cdc._log_struct(table, 'logged.after') if 'after' in stored else 'later_images.image' }} as after
        from {{ log.relation }} as logged
        {{ dbt_cdc._join_images(table, 'later_images', "logged.op != 'd'") if 'after' not in stored }}
        {{ dbt_cdc._join_images(table, 'earlier_images', "logged.op != 'i'") if 'before' not in stored }}
        where
            logged.ts > timestamp_micros({{ commits[scope.begin].micros if scope.begin >= 0 else -1 }})
            and logged.ts <= timestamp_micros({{ commits[scope.end].micros }})
        {%- if tail < scope.end %}
        union all
        select position + 1000000000000000000, op, ts, version, before, after from since_logged
        {%- endif %}
    )
{%- endmacro -%}


{%- macro _log_struct(table, image) -%}
    {#- An image as logged, in the order and with the columns of the table. -#}
    {%- set fields = run_query('select ' ~ image ~ '.* from ' ~ table.log.relation ~ ' as logged limit 0').column_names | list -%}
    {%- if fields == table.columns | map(attribute='name') | list -%}{%- do return(image) -%}{%- endif -%}
    {%- do return('if(' ~ image ~ ' is null, null, ' ~ dbt_cdc._image(table.columns, fields, image) ~ ')') -%}
{%- endmacro -%}


{%- macro _join_images(table, name, wanted) -%}
    {%- set conditions = [wanted, 'logged.version = ' ~ name ~ '.version'] -%}
    {%- for column in table.key -%}
        {%- set quoted = dbt_cdc._quote(column) -%}
        {%- do conditions.append('logged.key.' ~ quoted ~ ' <=> ' ~ name ~ '.image.' ~ quoted) -%}
    {%- endfor -%}
    {%- do return('left join ' ~ name ~ ' on ' ~ conditions | join(' and ')) -%}
{%- endmacro -%}


{%- macro _images_at(table, name, commits, back) -%}
    {#- A CTE of the table's rows at some of its versions (`back` 1: at the ones before); an error if one is gone. -#}
    {%- set own = table.own.timeline -%}
    {%- set versions = own.commits | map(attribute='version') | list -%}
    {%- set queries, gone = [], [] -%}
    {%- for commit in commits -%}
        {%- set place = versions.index(commit.version) - back if commit.version in versions else -1 -%}
        {%- if place < own.images_from -%}
            {%- do gone.append(commit.version) -%}
        {%- else -%}
            {%- set source = dbt_cdc._for_format('version_at', table.format)(table.relation, versions[place]) -%}
            {%- do queries.append('select ' ~ dbt_cdc._literal(commit.version) ~ ' as version, '
                ~ dbt_cdc._image(table.columns, dbt_cdc._columns_of(source)) ~ ' as image from ' ~ source) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if gone -%}
        {%- do dbt_cdc._raise_faults(["changes of " ~ table.source ~ ": its log keeps no such images (change_log '"
            ~ table.log.mode ~ "') and the table's version " ~ gone | join(', ') ~ " or the one before is gone, expected a "
            ~ "range that begins at or after " ~ dbt_cdc._commit_name(table.own, own.images_from) ~ "; begin there, or keep "
            ~ "whole images with change_log 'data_before_after'"]) -%}
    {%- endif -%}
    {%- set nothing = 'select cast(null as string) as version, ' ~ dbt_cdc._image(table.columns) ~ ' as image from '
                      ~ table.relation ~ ' where false' -%}
    {%- do return(name ~ ' as (\n        ' ~ (queries | join('\n        union all\n        ') or nothing) ~ '\n    ),\n') -%}
{%- endmacro -%}

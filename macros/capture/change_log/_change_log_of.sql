{#- What a table's log holds. -#}

{%- macro _change_log_of(relation, table) -%}
    {#- relation, mode, from (version that it begins with), upto (last version that it is brought up to), commits (those with
        changes, oldest first); none if there is no log, or it belongs to a table that was made anew since. -#}
    {%- set existing = dbt_cdc._load_relation(dbt_cdc._companion(relation, 'changes')) -%}
    {%- if existing is none -%}{%- do return(none) -%}{%- endif -%}
    {%- set kept = dbt_cdc._own_properties(existing) -%}
    {%- set mode, begun = kept.get('dbt_cdc.change_log'), kept.get('dbt_cdc.from') -%}
    {%- if mode is none or kept.get('dbt_cdc.key') != table.key | join('\n') | lower -%}{%- do return(none) -%}{%- endif -%}
    {%- set commits = [] -%}
    {%- for row in run_query("select version, max(unix_micros(ts)) as micros from " ~ existing
                             ~ " group by version order by micros").rows -%}
        {%- do commits.append({'version': row['version'] | string, 'micros': row['micros'] | int}) -%}
    {%- endfor -%}
    {%- set seen = {'version': kept['dbt_cdc.upto'], 'micros': kept['dbt_cdc.upto_micros'] | int} -%}
    {%- set upto = (commits + [seen]) | sort(attribute='micros') | last -%}
    {%- set known = table.timeline.commits | map(attribute='version') | list -%}
    {#- the time of a commit tells a table from another that was made anew under its name -#}
    {%- set another = upto.version in known and table.timeline.commits[known.index(upto.version)].micros != upto.micros -%}
    {%- if another or (upto.version not in known and table.timeline.whole) -%}{%- do return(none) -%}{%- endif -%}
    {%- if upto.version not in known -%}
        {%- do dbt_cdc._raise_faults([existing ~ " ends with version " ~ upto.version ~ ", which " ~ table.source
            ~ " no longer knows (expired or cleaned), so that what changed since can't be told; drop " ~ existing
            ~ " to begin a new log, and keep versions for longer than the time between two runs"]) -%}
    {%- endif -%}
    {%- do return({'relation': existing, 'mode': mode, 'from': begun, 'upto': upto.version, 'commits': commits}) -%}
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

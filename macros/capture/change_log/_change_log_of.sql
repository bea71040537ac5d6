{#- What a table's log holds. -#}

{%- macro _change_log_of(relation, table) -%}
    {#- relation, mode, from (version that it begins with), upto (last version that it is brought up to), commits (those with
        changes, oldest first), restarts (a run has begun to build the table and its log anew); none if there is no log of
        this key, or it belongs to the table as it was before a run that built it anew and was killed. -#}
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
    {%- if not dbt_cdc._is_of_history(table, upto) -%}
        {%- if kept.get('dbt_cdc.restarts') == 'true' -%}{%- do return(none) -%}{%- endif -%}
        {%- do dbt_cdc._raise_faults([dbt_cdc._lost_log(existing, table, upto)]) -%}
    {%- endif -%}
    {%- do return({'relation': existing, 'mode': mode, 'from': begun, 'upto': upto.version, 'commits': commits,
                   'restarts': kept.get('dbt_cdc.restarts') == 'true'}) -%}
{%- endmacro -%}


{%- macro _is_of_history(table, commit) -%}
    {#- The time of a commit tells a table from another that was made anew under its name. -#}
    {%- for known in table.timeline.commits if known.version == commit.version -%}
        {%- do return(known.micros == commit.micros) -%}
    {%- endfor -%}
    {%- do return(false) -%}
{%- endmacro -%}


{%- macro _lost_log(log, table, upto) -%}
    {%- set known = table.timeline.commits | map(attribute='version') | list -%}
    {%- set anew = table.timeline.whole or upto.version in known -%}
    {%- do return(log ~ " ends with version " ~ upto.version ~ " of " ~ table.source ~ ", which "
        ~ ("the table as it is does not come from (it was rolled back, or made anew)" if anew
           else "it no longer knows (expired or cleaned)")
        ~ ", so that what changed since can't be told; drop " ~ log ~ " to begin a new log"
        ~ ("" if anew else ", and keep versions for longer than the time between two runs")) -%}
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

{#- What a table's log holds. -#}

{%- macro _change_log_of(relation, table, begin=none, end_only=false, is_looked_at_again=false) -%}
    {#- relation, mode, from (version that it begins with), noted (last version that it is brought up to), upto (the same, or
        the oldest version of the table that has the same rows), commits (see _logged_commits), lost (why what came after it
        can't be told, or none), restarts (a run has begun to build the table and its log anew), renamed (the last commit that
        renamed a column since the log began, or none); none if there is no log of this key, or it belongs to the table as it was
        before a run that built it anew and was killed. `begin`: of the range. -#}
    {%- set existing = dbt_cdc._load_relation(dbt_cdc._companion(relation, 'changes')) -%}
    {%- if existing is none -%}{%- do return(none) -%}{%- endif -%}
    {%- set kept = dbt_cdc._own_properties(existing) -%}
    {%- set mode, begun = kept.get('dbt_cdc.change_log'), kept.get('dbt_cdc.from') -%}
    {%- if mode is none or kept.get('dbt_cdc.key') != table.key | join('\n') | lower -%}{%- do return(none) -%}{%- endif -%}
    {%- set end_only = end_only or dbt_cdc._begins_in_history(table, begin) -%}
    {%- set commits = dbt_cdc._logged_commits(existing, table, kept, end_only) -%}
    {%- set noted, restarts = commits[-1], kept.get('dbt_cdc.restarts') == 'true' -%}
    {%- set upto = table.timeline.commits[0] if noted.version == table.timeline.follows else noted -%}
    {%- set lost = none if dbt_cdc._is_of_history(table, upto) else dbt_cdc._lost_log(existing, table, upto) -%}
    {%- if lost and not is_looked_at_again -%}
        {#- the log may be of a commit that another run made since this one looked at the table -#}
        {%- do dbt_cdc._refresh_metadata(table.relation) -%}
        {%- do table.update(timeline=dbt_cdc._for_format('timeline', table.format)(table.relation)) -%}
        {%- do return(dbt_cdc._change_log_of(relation, table, begin, end_only, is_looked_at_again=true)) -%}
    {%- endif -%}
    {%- if lost and (restarts or table.unchecked) -%}{%- do return(none) -%}{%- endif -%}
    {%- do dbt_cdc._raise_faults([lost] if lost and not dbt_cdc._is_expired(table, upto) else []) -%}
    {%- set renamed = kept.get('dbt_cdc.renamed') -%}
    {%- do return({'relation': existing, 'mode': mode, 'from': begun, 'noted': noted.version, 'upto': upto.version,
                   'commits': commits, 'lost': lost, 'restarts': restarts,
                   'renamed': {'version': renamed, 'micros': kept['dbt_cdc.renamed_micros'] | int} if renamed else none}) -%}
{%- endmacro -%}


{%- macro _logged_commits(log, table, kept, end_only) -%}
    {#- Oldest first: the two that the log's properties name, its first and one near its end, those after that and, unless
        `end_only`, those before all that the table's history has. Not read is what the two named ones logged, as the first
        may have brought the whole table: by `version` Delta leaves out its files, by `ts` Iceberg does. -#}
    {%- set commits, conditions = [], [] -%}
    {%- for name in ['from', 'upto'] if name == 'from' or kept['dbt_cdc.upto'] != kept['dbt_cdc.from'] -%}
        {%- do commits.append({'version': kept['dbt_cdc.' ~ name], 'micros': kept['dbt_cdc.' ~ name ~ '_micros'] | int}) -%}
        {%- do conditions.append('version <> ' ~ dbt_cdc._literal(commits[-1].version)) -%}
    {%- endfor -%}
    {%- set times = 'ts > timestamp_micros(' ~ commits[-1].micros ~ ')' -%}
    {%- if not (end_only or table.timeline.whole) -%}
        {%- set times = times ~ ' or (ts > timestamp_micros(' ~ commits[0].micros ~ ') and ts < timestamp_micros('
                        ~ table.timeline.commits[0].micros ~ '))' -%}
    {%- endif -%}
    {%- for row in run_query('select version, max(unix_micros(ts)) as micros from ' ~ log ~ ' where (' ~ times ~ ') and '
        ~ conditions | join(' and ') ~ ' group by version').rows -%}
        {%- do commits.append({'version': row['version'] | string, 'micros': row['micros'] | int}) -%}
    {%- endfor -%}
    {%- do return(commits | sort(attribute='micros')) -%}
{%- endmacro -%}


{%- macro _begins_in_history(table, begin) -%}
    {#- Whether a range begins with a commit that the table knows itself, whatever its log remembers. -#}
    {%- if begin is none or begin == 'earliest' or table.timeline.whole -%}{%- do return(false) -%}{%- endif -%}
    {%- do return(dbt_cdc._place_of(table, begin, 'begin', []) >= 0) -%}
{%- endmacro -%}


{%- macro _is_of_history(table, commit) -%}
    {#- The time of a commit tells a table from another that was made anew under its name. -#}
    {%- for known in table.timeline.commits if known.version == commit.version -%}
        {%- do return(known.micros == commit.micros) -%}
    {%- endfor -%}
    {%- do return(false) -%}
{%- endmacro -%}


{%- macro _is_expired(table, commit) -%}
    {#- Whether a commit may be one of those before the oldest that the table knows. -#}
    {%- do return(not table.timeline.whole and commit.micros < table.timeline.commits[0].micros) -%}
{%- endmacro -%}


{%- macro _is_replaced_since(table, version) -%}
    {#- By a run that was killed before it came to the log. (On Iceberg the table's history begins anew.) -#}
    {%- set versions = table.timeline.commits | map(attribute='version') | list -%}
    {%- if version not in versions -%}{%- do return(false) -%}{%- endif -%}
    {%- for commit in table.timeline.commits[versions.index(version) + 1:] if 'REPLACE TABLE' in (commit.operation or '') -%}
        {%- do return(true) -%}
    {%- endfor -%}
    {%- do return(false) -%}
{%- endmacro -%}


{%- macro _lost_log(log, table, upto) -%}
    {%- set anew = not dbt_cdc._is_expired(table, upto) -%}
    {%- do return(log ~ " ends with version " ~ upto.version ~ " of " ~ table.source ~ ", which "
        ~ ("the table as it is does not come from (it was rolled back, or made anew)" if anew
           else "it no longer knows (expired or cleaned)")
        ~ ", so that what changed since can't be told; drop " ~ log ~ " to begin a new log"
        ~ ("" if anew else ", and keep versions for longer than the time between two runs")) -%}
{%- endmacro -%}


{%- macro _with_log(table, log) -%}
    {#- A table's timeline with the commits that only its log remembers, and one for those that nothing remembers; `offset`
        is how many these are, `begun` where the log begins, `log_from` the first place after which it tells all that came. -#}
    {%- set known = {} -%}
    {%- for commit in table.timeline.commits -%}{%- do known.update({commit.version: true}) -%}{%- endfor -%}
    {%- set logged = log.commits + ([log.renamed] if log.renamed and log.renamed not in log.commits else []) -%}
    {%- set older = logged | rejectattr('version', 'in', known) | sort(attribute='micros') | list -%}
    {%- if log.lost -%}{%- do older.append({'version': log.upto, 'micros': older[-1].micros + 1}) -%}{%- endif -%}
    {%- set timeline = dict(table.timeline, commits=older + table.timeline.commits) -%}
    {%- set versions = timeline.commits | map(attribute='version') | list -%}
    {%- set begun = versions.index(log['from']) if log['from'] in versions else 0 -%}
    {%- set offset, renamed = older | length, table.timeline.renamed -%}
    {%- set renamed = renamed + offset if renamed is number else versions.index(log.renamed.version) if log.renamed else none -%}
    {%- set named = 0 if renamed is none else renamed + 1 -%}
    {#- of the commit that it begins with it tells nothing; a renaming since changes no rows -#}
    {%- do timeline.update(begun=begun, feed_from=[begun, named] | max, log_from=[begun, named - 1] | max, offset=offset,
                           renamed=renamed) -%}
    {%- do return(dict(table, timeline=timeline, log=log, own=table)) -%}
{%- endmacro -%}


{%- macro _note_renaming(table, log, upto) -%}
    {#- A column that was renamed since a place has its old name in the images before: the log remembers that for longer than the
        table's history. -#}
    {%- set place = table.timeline.renamed -%}
    {%- if place is number and place > upto -%}
        {%- set commit = table.timeline.commits[place] -%}
        {%- do dbt_cdc._set_properties(log.relation, {'dbt_cdc.renamed': commit.version, 'dbt_cdc.renamed_micros': commit.micros}) -%}
    {%- endif -%}
{%- endmacro -%}

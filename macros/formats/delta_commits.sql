{#- The commits of a Delta table, out of `describe history`. -#}

{%- macro _delta_commits(relation, newest=none) -%}
    {#- All, or so many of the newest. Oldest first: {version, micros, operation, parameters, quiet: rows stay as they are, keeps_files:
        takes none away, retypes: columns may be others after it, maps: it says how columns are mapped to names,
        restores: the version that it brings back, or none}. -#}
    {%- set history = 'describe history ' ~ relation ~ (' limit ' ~ newest if newest else '') -%}
    {%- set rows, commits = run_query(history).rows | list, [] -%}
    {%- do rows.reverse() -%}
    {%- set micros = dbt_cdc._delta_commit_times(relation, rows) -%}
    {%- for row in rows -%}
        {#- a commit need not say anything of itself -#}
        {%- set operation, parameters = row['operation'] or '', dbt_cdc._delta_parameters(row['operationParameters'] or '{}') -%}
        {%- set is_metadata = operation in dbt_cdc._delta_metadata_operations() -%}
        {%- do commits.append({
            'version': row['version'] | int | string,
            'micros': micros[row['version'] | int],
            'operation': operation,
            'parameters': parameters,
            'quiet': is_metadata or operation in dbt_cdc._delta_file_operations(),
            'keeps_files': is_metadata or 'Append' in [parameters.get('mode'), parameters.get('outputMode')],
            'retypes': 'REPLACE TABLE' in operation or parameters.get('mode') == 'Overwrite'
                       or operation in ['RESTORE', 'CLONE', 'CHANGE COLUMN', 'CHANGE COLUMNS'],
            'restores': dbt_cdc._delta_restored(row['version'] | int, operation, parameters, commits),
            'maps': 'delta.columnMapping.mode' in (row['operationParameters'] | string),
        }) -%}
    {%- endfor -%}
    {%- do return(commits) -%}
{%- endmacro -%}


{#- A table's newest commit, {version, micros}, where a format gives it without the rest of the history. -#}

{%- macro delta__newest_commit(relation) -%}
    {%- set rows = run_query('describe history ' ~ relation ~ ' limit 1').rows | list -%}
    {%- set version = rows[0]['version'] | int -%}
    {%- do return({'version': version | string, 'micros': dbt_cdc._delta_commit_times(relation, rows)[version]}) -%}
{%- endmacro -%}


{%- macro default__newest_commit(relation) -%}{%- do return(none) -%}{%- endmacro -%}


{%- macro _delta_restored(version, operation, parameters, before) -%}
    {#- -1 where that is not known, or of another table, cloned over this one; `before`: the commits that came before. -#}
    {%- if operation == 'CLONE' and version > 0 -%}{%- do return(-1) -%}{%- endif -%}
    {%- if operation != 'RESTORE' -%}{%- do return(none) -%}{%- endif -%}
    {%- if parameters.get('version') is not none -%}{%- do return(parameters['version'] | int) -%}{%- endif -%}
    {%- set moment = dbt_cdc._literal(parameters.get('timestamp')) -%}
    {%- set micros = run_query('select unix_micros(try_cast(' ~ moment ~ ' as timestamp_ltz))')[0][0] -%}
    {%- set until = before | selectattr('micros', 'le', micros | int) | list if micros is not none else [] -%}
    {%- do return(until[-1].version | int if until else -1) -%}
{%- endmacro -%}


{%- macro _delta_commit_times(relation, rows) -%}
    {#- Microseconds since 1970 UTC by version. dbt-spark's session method gives Python's local time, which knows which of two
        equal hours it is in; a server gives the time of the Spark session's zone, and when clocks go back an hour comes twice:
        then the history is asked for once more, in UTC. -#}
    {%- set micros, of_session = {}, adapter.config.credentials.method | string == 'session' -%}
    {%- for row in rows if of_session -%}
        {%- do micros.update({row['version'] | int: (row['timestamp'].timestamp() * 1000000) | round | int}) -%}
    {%- endfor -%}
    {%- if of_session or not rows -%}{%- do return(micros) -%}{%- endif -%}
    {%- set texts = 'split(' ~ dbt_cdc._literal(rows | map(attribute='timestamp') | join(',')) ~ ", ',')" -%}
    {%- set told = run_query('with given as (select transform(' ~ texts ~ ', text -> cast(text as timestamp_ltz)) as moments) '
        ~ 'select to_json(transform(moments, moment -> unix_micros(moment))), '
        ~ "exists(moments, moment -> cast(moment + interval '1' hour as string) = cast(moment as string)) from given")[0] -%}
    {%- if told[1] -%}{%- do return(dbt_cdc._delta_commit_times_in_utc(relation)) -%}{%- endif -%}
    {%- for moment in fromjson(told[0]) -%}{%- do micros.update({rows[loop.index0]['version'] | int: moment | int}) -%}{%- endfor -%}
    {%- do return(micros) -%}
{%- endmacro -%}


{%- macro _delta_commit_times_in_utc(relation) -%}
    {#- Of all commits: another may have come meanwhile. -#}
    {%- set micros, zone = {}, dbt_cdc._session_setting('spark.sql.session.timeZone') -%}
    {%- do run_query("set time zone 'UTC'") -%}
    {%- for row in run_query('describe history ' ~ relation).rows -%}
        {%- set seconds = row['timestamp'].replace(tzinfo=modules.pytz.utc).timestamp() -%}
        {%- do micros.update({row['version'] | int: (seconds * 1000000) | round | int}) -%}
    {%- endfor -%}
    {%- do run_query('set time zone ' ~ dbt_cdc._literal(zone)) -%}
    {%- do return(micros) -%}
{%- endmacro -%}


{%- macro _delta_parameters(text) -%}
    {#- Of a commit, by name. A thrift server leaves the quotes within values as they are, which is no JSON: then those that
        are asked for are looked for in the text. -#}
    {%- set read = fromjson(text) -%}
    {%- if read is mapping -%}{%- do return(read) -%}{%- endif -%}
    {%- set found = {} -%}
    {%- for name in ['mode', 'outputMode', 'version', 'specifiedRetentionMillis', 'defaultRetentionMillis'] -%}
        {%- for value in modules.re.findall('"' ~ name ~ '"\\s*:\\s*"?(\\w+)', text) -%}{%- do found.update({name: value}) -%}{%- endfor -%}
    {%- endfor -%}
    {%- for value in modules.re.findall('"partitionBy"\\s*:\\s*"(\\[.*?\\])"', text) -%}
        {%- do found.update({'partitionBy': value}) -%}
    {%- endfor -%}
    {%- set feed = dbt_cdc._delta_feed() -%}
    {%- for value in modules.re.findall('"' ~ feed ~ '"(?:\\s*:\\s*"(\\w+))?', text) -%}
        {%- do found.update({'properties': {feed: value} if value else [feed]}) -%}
    {%- endfor -%}
    {%- do return(found) -%}
{%- endmacro -%}


{%- macro _delta_metadata_operations() -%}
    {#- Commits that leave rows and files as they are. -#}
    {%- do return([
        'ADD COLUMNS', 'CHANGE COLUMN', 'CHANGE COLUMNS', 'RENAME COLUMN', 'DROP COLUMNS', 'SET TBLPROPERTIES',
        'UNSET TBLPROPERTIES', 'ADD CONSTRAINT', 'DROP CONSTRAINT', 'CLUSTER BY', 'UPGRADE PROTOCOL', 'COMPUTE STATS',
        'VACUUM START', 'VACUUM END', 'DROP FEATURE', 'ROW TRACKING BACKFILL', 'ROW TRACKING UNBACKFILL', 'DOMAIN METADATA CLEANUP',
        'REORG TABLE UPGRADE UNIFORM', 'OPTIMIZE CHECKPOINT', 'Empty Commit',
    ]) -%}
{%- endmacro -%}


{%- macro _delta_file_operations() -%}
    {#- Commits that leave rows as they are, in other files. -#}
    {%- do return(['OPTIMIZE', 'REORG', 'REMOVE COLUMN MAPPING', 'Deletion Vector Tombstones']) -%}
{%- endmacro -%}

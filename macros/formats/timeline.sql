{#- What a table can still tell about its past, as one mapping for all formats:
    commits      oldest first: {version (string), micros (commit time since 1970 UTC), operation}
    feed_from    place in `commits` of the first commit whose row changes the format's feed holds; none: no feed
    images_from  place in `commits` of the oldest version that can still be read
    whole        true if the first commit in the list is the table's first, so that before it there was nothing
    renamed      place of the last commit that renamed a column: images before it have other columns; none: not said
    follows      version that is gone and had the rows of the first commit in the list; none: not said
    Of a commit, `quiet` says that it leaves the rows as they are, where the format tells that. -#}

{%- macro delta__timeline(relation) -%}
    {%- set rows = run_query('describe history ' ~ relation).rows | list -%}
    {%- do rows.reverse() -%}
    {%- set micros = dbt_cdc._epoch_micros(rows | map(attribute='timestamp') | list) -%}
    {%- set commits, fed, vacuum = [], namespace(value=none, start=none), namespace(horizon=none, kept=0) -%}
    {%- set renamed = namespace(place=none, version=-1) -%}
    {%- for row in rows -%}
        {%- set parameters = fromjson(row['operationParameters'] or '{}') or {} -%}
        {%- set state = dbt_cdc._delta_feed_state(row['operation'], parameters) -%}
        {#- RESTORE brings back the feed's state, too: where that was not surely on, it is known again after the commit -#}
        {%- set since = commits[fed.start] if fed.start is not none and fed.start < commits | length else none -%}
        {%- set restored = (parameters.get('version') or -1) | int if row['operation'] == 'RESTORE' else none -%}
        {%- if restored is not none and (since is none or restored < since.version | int) -%}
            {%- set fed.value, fed.start = none, loop.index0 + 1 -%}
        {%- endif -%}
        {%- if row['operation'] == 'RENAME COLUMN' or (restored is not none and restored < renamed.version) -%}
            {%- set renamed.place, renamed.version = loop.index0, row['version'] | int -%}
        {%- endif -%}
        {#- the first that is said may be that it was switched on, after older commits that are gone -#}
        {%- if fed.value is none and state is sameas true -%}{%- set fed.start = none -%}{%- endif -%}
        {%- set fed.value = state if state is not none else fed.value -%}
        {%- if fed.value is sameas false -%}
            {%- set fed.start = none -%}
        {%- elif fed.start is none -%}
            {%- set fed.start = loop.index0 -%}
        {%- endif -%}
        {%- if row['operation'] == 'VACUUM START' -%}
            {%- set retention = parameters.get('specifiedRetentionMillis') or parameters.get('defaultRetentionMillis') -%}
            {%- set vacuum.horizon = [vacuum.horizon or 0, micros[loop.index0] - (retention or 0) | int * 1000] | max -%}
        {%- endif -%}
        {%- do commits.append({'version': row['version'] | int | string, 'micros': micros[loop.index0],
                               'operation': row['operation'],
                               'quiet': row['operation'] in dbt_cdc._delta_metadata_operations(),
                               'appends': 'Append' in [parameters.get('mode'), parameters.get('outputMode')],
                               'retypes': 'REPLACE TABLE' in row['operation']
                                           or row['operation'] in ['RESTORE', 'CHANGE COLUMN', 'CHANGE COLUMNS']
                                           or parameters.get('mode') == 'Overwrite'}) -%}
    {%- endfor -%}
    {%- for commit in commits if vacuum.horizon and commit.micros < vacuum.horizon -%}
        {%- if dbt_cdc._delta_replaces_files(commit) -%}{%- set vacuum.kept = loop.index0 -%}{%- endif -%}
    {%- endfor -%}
    {%- set on = dbt_cdc._delta_feed_is_on(relation) -%}
    {#- what the first commit in the list changed can be compared with nothing if there were others before it -#}
    {%- set whole = commits[0].version == '0' -%}
    {%- set kept = [vacuum.kept, renamed.place or 0] | max -%}
    {%- set lost = kept + 1 if kept > 0 or not whole else 0 -%}
    {%- do return({
        'commits': commits,
        'feed_from': [fed.start or 0, lost] | max if on else none,
        'images_from': kept,
        'whole': whole,
        'renamed': renamed.place,
    }) -%}
{%- endmacro -%}


{%- macro _delta_feed_is_on(relation) -%}
    {#- Delta keeps the text that it was given: dbt writes a YAML `true` as True. -#}
    {%- do return((dbt_cdc._table_property(relation, 'delta.enableChangeDataFeed') or '') | lower == 'true') -%}
{%- endmacro -%}


{%- macro _delta_feed_state(operation, parameters) -%}
    {#- What a commit says about the feed: true, false, or none where it says nothing. -#}
    {%- set name = 'delta.enableChangeDataFeed' -%}
    {%- set said = parameters.get('properties') -%}
    {%- set properties = fromjson(said) if said is string else said -%}
    {%- if operation == 'UNSET TBLPROPERTIES' -%}
        {%- do return(false if name in (properties or []) else none) -%}
    {%- endif -%}
    {%- if properties is mapping and name in properties -%}
        {%- do return(properties[name] | string | lower == 'true') -%}
    {%- endif -%}
    {%- do return(false if 'CREATE' in operation or 'REPLACE TABLE' in operation else none) -%}
{%- endmacro -%}


{%- macro _delta_replaces_files(commit) -%}
    {#- Does the commit take files out of the table, so that VACUUM may delete what older versions need? -#}
    {%- set harmless = ['CREATE TABLE', 'CREATE TABLE AS SELECT'] + dbt_cdc._delta_metadata_operations() -%}
    {%- do return(commit.operation not in harmless and not commit.appends) -%}
{%- endmacro -%}


{%- macro _delta_metadata_operations() -%}
    {#- Commits that leave rows and files as they are. -#}
    {%- do return(['ADD COLUMNS', 'CHANGE COLUMN', 'CHANGE COLUMNS', 'RENAME COLUMN', 'DROP COLUMNS', 'SET TBLPROPERTIES',
                   'UNSET TBLPROPERTIES', 'ADD CONSTRAINT', 'DROP CONSTRAINT', 'CLUSTER BY', 'UPGRADE PROTOCOL', 'COMPUTE STATS', 'VACUUM START',
                   'VACUUM END']) -%}
{%- endmacro -%}


{%- macro iceberg__timeline(relation) -%}
    {#- delete_files: also of the commit that takes the last ones away, which still has a list of them -#}
    {%- set snapshots = {} -%}
    {%- for row in run_query(
        "select cast(snapshot_id as string) as version, cast(parent_id as string) as parent, "
        ~ "unix_micros(committed_at) as micros, operation, "
        ~ "coalesce(cast(summary['total-delete-files'] as bigint), 0) > 0 "
        ~ "or coalesce(cast(summary['removed-delete-files'] as bigint), 0) > 0 as delete_files from "
        ~ relation ~ ".snapshots").rows -%}
        {%- do snapshots.update({row['version']: row}) -%}
    {%- endfor -%}
    {%- set commits, walk = [], namespace(at=dbt_cdc.iceberg__current_version(relation), parent=none) -%}
    {%- for _ in snapshots if walk.at in snapshots -%}
        {%- set row = snapshots[walk.at] -%}
        {%- do commits.append({'version': walk.at, 'micros': row['micros'] | int, 'operation': row['operation'],
                               'delete_files': row['delete_files']}) -%}
        {%- set walk.at, walk.parent = row['parent'], row['parent'] -%}
    {%- endfor -%}
    {%- do commits.reverse() -%}
    {%- set whole = walk.parent is none -%}
    {%- set follows = walk.parent if commits and commits[0].operation == 'replace' else none -%}
    {%- do return({'commits': commits, 'feed_from': 0 if whole else 1, 'images_from': 0, 'whole': whole, 'follows': follows}) -%}
{%- endmacro -%}


{%- macro _table_property(relation, name) -%}
    {#- The value of a table property as text, or none. -#}
    {%- for row in run_query('show tblproperties ' ~ relation).rows if row[0] == name -%}
        {%- do return(row[1] | string) -%}
    {%- endfor -%}
    {%- do return(none) -%}
{%- endmacro -%}


{%- macro _epoch_micros(moments) -%}
    {#- Microseconds since 1970 UTC of timestamps as a query gave them: Python's local time from dbt-spark's session
        method, the Spark session's time zone from a server. No macro is told the method: a query tells. -#}
    {%- set local, literals, micros = [], [], [] -%}
    {%- for moment in moments -%}
        {%- do local.append((moment.timestamp() * 1000000) | round | int) -%}
        {%- do literals.append('unix_micros(timestamp ' ~ dbt_cdc._literal(moment) ~ ')') -%}
    {%- endfor -%}
    {%- if not moments -%}{%- do return([]) -%}{%- endif -%}
    {%- set row = run_query('select timestamp_micros(' ~ local[-1] ~ '), to_json(array(' ~ literals | join(', ') ~ '))').rows[0] -%}
    {%- if row[0] == moments[-1] -%}{%- do return(local) -%}{%- endif -%}
    {%- for value in fromjson(row[1]) -%}{%- do micros.append(value | int) -%}{%- endfor -%}
    {%- do return(micros) -%}
{%- endmacro -%}

{#- Delta's timeline. Each part of it is found by a walk of its own through the commits, oldest first. -#}

{%- macro delta__timeline(relation, since=none) -%}
    {#- Of thousands of commits mostly few have come since a version: no more of them are read where these can tell what came. (Where
        columns may have changed, so may how they are mapped, as older commits say.) -#}
    {%- set properties = dbt_cdc._table_properties(relation) -%}
    {%- if dbt_cdc._is_number(since | string) -%}
        {%- set margin = 100 -%}{#- commits of one time get times that grow, by those before them in what is read -#}
        {%- set commits = dbt_cdc._delta_commits(relation, newest=2 * margin) -%}
        {%- set timeline = dbt_cdc._delta_timeline_of(commits, properties) -%}
        {%- set place = (since | int) - (commits[0].version | int) -%}
        {%- set reaches = place >= [margin, timeline.images_from, (timeline.feed_from or 0) - 1] | max -%}
        {%- if timeline.whole or (reaches and not commits[place + 1:] | selectattr('retypes') | list) -%}
            {%- do return(timeline) -%}
        {%- endif -%}
    {%- endif -%}
    {%- do return(dbt_cdc._delta_timeline_of(dbt_cdc._delta_commits(relation), properties)) -%}
{%- endmacro -%}


{%- macro _delta_timeline_of(commits, properties) -%}
    {%- set renamed = dbt_cdc._delta_last_rename(commits) -%}
    {%- set kept = [dbt_cdc._delta_oldest_file(commits), renamed or 0] | max -%}
    {%- set allowed = dbt_cdc._delta_oldest_allowed(commits, properties) -%}
    {#- what the first commit in the list changed can be compared with nothing if there were others before it -#}
    {%- set whole = commits[0].version == '0' -%}
    {%- set comparable_from = kept + 1 if kept > 0 or not whole else 0 -%}
    {%- set is_on, switched_on = dbt_cdc._is_delta_feed_on(properties), dbt_cdc._delta_fed_from(commits) -%}
    {%- set fed_from = [switched_on, comparable_from, allowed] | max -%}
    {#- a feature stays the table's: when its switch, which dbt sets as True, is off again, or when the table is made anew -#}
    {%- set maps = properties.get('delta.columnMapping.mode', 'none') != 'none' -%}
    {%- set can_map = 'delta.feature.columnMapping' in properties or properties.get('delta.minReaderVersion') == '2' -%}
    {%- do return({
        'commits': commits,
        'feed_from': fed_from if is_on else none,
        'feed_lacks': is_on and whole and fed_from == switched_on and dbt_cdc._writes_rows(commits[:switched_on]),
        'images_from': [kept, allowed] | max,
        'whole': whole,
        'renamed': renamed,
        'widens': 'delta.feature.typeWidening' in properties or 'delta.feature.typeWidening-preview' in properties,
        'maps': maps,
        'unmapped': can_map and not maps,
    }) -%}
{%- endmacro -%}


{%- macro _delta_fed_from(commits) -%}
    {#- Place of the first commit since which the feed has surely been on, as far as the commits tell and if it is on now. RESTORE
        and CLONE bring the feed's state, too: where that was not surely on, it is known again after the commit. -#}
    {%- set fed = namespace(is_on=none, since=none) -%}
    {%- for commit in commits -%}
        {%- if commit.operation == 'CLONE' and fed.is_on is sameas true -%}
            {%- set fed.is_on = none -%}
        {%- elif commit.restores is not none and (fed.since is none or commit.restores < commits[fed.since].version | int) -%}
            {%- set fed.is_on, fed.since = none, loop.index0 + 1 -%}
        {%- endif -%}
        {%- set said = dbt_cdc._delta_feed_state(commit.operation, commit.parameters) -%}
        {#- the first that is said may be that it was switched on, after older commits that are gone -#}
        {%- if fed.is_on is none and said is sameas true -%}{%- set fed.since = none -%}{%- endif -%}
        {%- set fed.is_on = said if said is not none else fed.is_on -%}
        {%- if fed.is_on is sameas false -%}
            {%- set fed.since = none -%}
        {%- elif fed.since is none -%}
            {%- set fed.since = loop.index0 -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(fed.since or 0) -%}
{%- endmacro -%}


{%- macro _delta_feed_state(operation, parameters) -%}
    {#- What a commit says about the feed: true, false, or none where it says nothing. -#}
    {%- set name = dbt_cdc._delta_feed() -%}
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


{%- macro _delta_last_rename(commits) -%}
    {#- Place of the last commit that renamed a column, or brought back a version from before one that did; or none. -#}
    {%- set renamed = namespace(place=none) -%}
    {%- for commit in commits -%}
        {%- set taken_back = commit.restores is not none and renamed.place is not none
                             and commit.restores < commits[renamed.place].version | int -%}
        {%- if commit.operation == 'RENAME COLUMN' or taken_back -%}{%- set renamed.place = loop.index0 -%}{%- endif -%}
    {%- endfor -%}
    {%- do return(renamed.place) -%}
{%- endmacro -%}


{%- macro _delta_oldest_allowed(commits, properties) -%}
    {#- Place of the oldest version that Delta lets anyone read: Delta 4.4 refuses those that were committed longer ago
        than the table keeps deleted files, whether or not VACUUM took any, unless a setting says otherwise; the latest may
        be of any age. -#}
    {%- set given = properties.get('delta.deletedFileRetentionDuration') -%}
    {%- if given -%}
        {%- set span = given if (given | lower | trim).startswith('interval') else 'interval ' ~ given -%}
        {%- set oldest = run_query('select unix_micros(current_timestamp() - cast(' ~ dbt_cdc._literal(span) ~ ' as interval))')[0][0] -%}
    {%- else -%}
        {%- set oldest = ((modules.datetime.datetime.now(modules.pytz.utc).timestamp() - 7 * 86400) * 1000000) | int -%}
    {%- endif -%}
    {%- set older = commits | map(attribute='micros') | select('lt', oldest) | list | length -%}
    {%- if older > 0 -%}
        {%- set enforced = dbt_cdc._session_setting(
            'spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration') -%}
        {%- if enforced | lower == 'false' -%}{%- do return(0) -%}{%- endif -%}
    {%- endif -%}
    {%- do return([older, commits | length - 1] | min) -%}
{%- endmacro -%}


{%- macro _delta_oldest_file(commits) -%}
    {#- Place of the oldest version whose files no VACUUM may have deleted: the last that took files out of the table before
        the time that was kept. -#}
    {%- set horizon, oldest = namespace(micros=0), namespace(place=0) -%}
    {%- for commit in commits if commit.operation == 'VACUUM START' -%}
        {%- set retention = commit.parameters.get('specifiedRetentionMillis') or commit.parameters.get('defaultRetentionMillis') -%}
        {%- set horizon.micros = [horizon.micros, commit.micros - (retention or 0) | int * 1000] | max -%}
    {%- endfor -%}
    {%- for place in range(commits | length) if commits[place].micros < horizon.micros
        and not commits[place].keeps_files and commits[place].operation not in ['CREATE TABLE', 'CREATE TABLE AS SELECT'] -%}
        {%- set oldest.place = place -%}
    {%- endfor -%}
    {%- do return(oldest.place) -%}
{%- endmacro -%}

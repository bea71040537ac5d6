{%- macro hudi__timeline(relation, since=none) -%}
    {#- See timeline.sql. Hudi archives old commits and cleans the files that only they need; its CDC query reads neither. -#}
    {%- set commits, properties = [], dbt_cdc._hudi_properties(relation) -%}
    {%- for row in run_query(dbt_cdc._hudi_commits(relation, properties, 'false') ~ ' order by version').rows -%}
        {%- do commits.append({'version': row['version'], 'micros': row['micros'] | int, 'operation': row['operation']}) -%}
    {%- endfor -%}
    {%- set archived = run_query(
        'select min(version) as version from (' ~ dbt_cdc._hudi_commits(relation, properties, 'true') ~ ')').rows[0]['version'] -%}
    {%- set whole = not commits or archived == commits[0].version -%}
    {%- set kept = namespace(since='') -%}
    {%- for row in run_query('call show_cleans(table => ' ~ dbt_cdc._literal(relation) ~ ', limit => 1)').rows -%}
        {#- cleaning that keeps a number of files, not of commits, says no more than what is newest -#}
        {%- set kept.since = (row['earliest_commit_to_retain'] or row['last_completed_commit_timestamp'] or '') | string -%}
    {%- endfor -%}
    {%- set images_from = commits | map(attribute='version') | select('lt', kept.since) | list | length -%}
    {%- set on = properties.get('hoodie.table.cdc.enabled') == 'true' -%}
    {%- set feed_from = 0 if whole and images_from == 0 else images_from + 1 -%}
    {%- do return({'commits': commits, 'feed_from': feed_from if on else none, 'images_from': images_from, 'whole': whole}) -%}
{%- endmacro -%}


{%- macro _hudi_commits(relation, properties, archived_too) -%}
    {#- Completed commits: version (the instant), micros, operation. -#}
    {%- set zone = "'UTC'" if properties.get('hoodie.table.timeline.timezone') | upper == 'UTC'
                   else "reflect('java.time.ZoneId', 'systemDefault')" -%}
    {%- set text = "regexp_replace(rpad(timestamp, 17, '0'), '(....)(..)(..)(..)(..)(..)(...)', '$1-$2-$3 $4:$5:$6.$7')" -%}
    {%- do return(
        "select timestamp as version, unix_micros(cast(concat(" ~ text ~ ", ' ', " ~ zone ~ ") as timestamp_ltz)) as micros, "
        ~ "action as operation from hudi_query_timeline(" ~ dbt_cdc._literal(relation) ~ ", '" ~ archived_too ~ "') "
        ~ "where state = 'COMPLETED' and action in ('commit', 'deltacommit', 'replacecommit')") -%}
{%- endmacro -%}


{%- macro _hudi_properties(relation) -%}
    {#- What the table's own hoodie.properties say: the catalog's copy may claim otherwise (`alter table … set
        tblproperties` changes that copy alone). -#}
    {%- set properties = {} -%}
    {%- for row in run_query(
        'call show_table_properties(table => ' ~ dbt_cdc._literal(relation) ~ ', limit => 1000)').rows -%}
        {%- do properties.update({row[0]: row[1]}) -%}
    {%- endfor -%}
    {%- do return(properties) -%}
{%- endmacro -%}

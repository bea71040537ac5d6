{%- macro hudi__timeline(relation) -%}
    {#- See timeline.sql. Hudi archives old commits and cleans the files that only they need. -#}
    {%- set table = 'table => ' ~ dbt_cdc._literal(relation) -%}
    {%- set instants = [] -%}
    {%- for row in run_query('call show_commits(' ~ table ~ ', limit => 1000000)').rows -%}
        {%- do instants.append(row['commit_time'] | string) -%}
    {%- endfor -%}
    {%- set instants = instants | sort -%}
    {%- set moments = [] -%}
    {%- for instant in instants -%}
        {%- do moments.append("unix_micros(to_timestamp('" ~ instant ~ "', 'yyyyMMddHHmmssSSS'))") -%}
    {%- endfor -%}
    {%- set micros = fromjson(run_query('select to_json(array(' ~ moments | join(', ') ~ ')) as micros').rows[0][0]) -%}
    {%- set kept = namespace(since='') -%}
    {%- for row in run_query('call show_cleans(' ~ table ~ ', limit => 1)').rows -%}
        {%- set kept.since = (row['earliest_commit_to_retain'] or '') | string -%}
    {%- endfor -%}
    {%- set commits = [] -%}
    {%- for instant in instants -%}
        {%- do commits.append({'version': instant, 'micros': micros[loop.index0] | int, 'operation': none}) -%}
    {%- endfor -%}
    {%- set whole = run_query('call show_archived_commits(' ~ table ~ ', limit => 1)').rows | length == 0 -%}
    {%- set images_from = instants | select('lt', kept.since) | list | length -%}
    {%- set on = dbt_cdc._table_property(relation, 'hoodie.table.cdc.enabled') == 'true' -%}
    {%- set feed_from = 0 if whole and images_from == 0 else images_from + 1 -%}
    {%- do return({'commits': commits, 'feed_from': feed_from if on else none, 'images_from': images_from, 'whole': whole}) -%}
{%- endmacro -%}

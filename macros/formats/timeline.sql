{#- What a table can still tell about its past, as one mapping for all formats (`since`: a version, or another bound; a format may leave
    out what came before it):
    commits      oldest first: {version (string), micros (commit time since 1970 UTC), operation}
    feed_from    place in `commits` of the first commit whose row changes the format's feed holds; none: no feed
    feed_lacks   true if there are commits before it whose rows are in no feed, though nothing is gone (Delta)
    images_from  place in `commits` of the oldest version that can still be read
    whole        true if the first commit in the list is the table's first, so that before it there was nothing
    renamed      place of the last commit that renamed a column: images before it have other columns; none: not said
    follows      version that is gone and had the rows of the first commit in the list; none: not said
    widens       columns may have got wider types in any commit that writes rows (Delta)
    maps         columns are mapped to names (Delta)
    unmapped     they are not, and may have been (Delta)
    aside        versions that can be read and are not in `commits`, such as those of a table that was replaced (Iceberg)
    Of a commit, `quiet` says that it leaves the rows as they are, where the format tells that. -#}

{%- macro iceberg__timeline(relation, since=none) -%}
    {%- set commits, branches, walk = [], [], namespace(at=none) -%}
    {#- the heads first: what is committed in between is among the snapshots then, and no head is missing there -#}
    {%- for row in run_query("select name, cast(snapshot_id as string) as version from " ~ relation
        ~ ".refs where type = 'BRANCH'").rows -%}
        {%- if row['name'] == 'main' -%}{%- set walk.at = row['version'] -%}
        {%- else -%}{%- do branches.append(row['version']) -%}{%- endif -%}
    {%- endfor -%}
    {#- delete_files: also of the commit that takes the last ones away, which still lists them -#}
    {%- set snapshots = {} -%}
    {%- for row in run_query(
        "select cast(snapshot_id as string) as version, cast(parent_id as string) as parent, "
        ~ "unix_micros(committed_at) as micros, operation, "
        ~ "coalesce(cast(summary['total-delete-files'] as bigint), 0) > 0 "
        ~ "or coalesce(cast(summary['removed-delete-files'] as bigint), 0) > 0 as delete_files, "
        ~ "summary['wap.id'] is not null as is_staged from " ~ relation ~ ".snapshots").rows -%}
        {%- do snapshots.update({row['version']: row}) -%}
    {%- endfor -%}
    {%- for _ in range(snapshots | length) if walk.at in snapshots -%}
        {%- set row = snapshots[walk.at] -%}
        {%- do commits.append({'version': walk.at, 'micros': row['micros'] | int, 'operation': row['operation'],
                               'delete_files': row['delete_files'], 'quiet': row['operation'] == 'replace'}) -%}
        {%- do snapshots.pop(walk.at) -%}
        {%- set walk.at = row['parent'] -%}
    {%- endfor -%}
    {%- do commits.reverse() -%}
    {%- set whole = walk.at is none -%}
    {%- set follows = walk.at if commits and commits[0].operation == 'replace' else none -%}
    {%- do return({'commits': commits, 'feed_from': 0 if whole else 1, 'images_from': 0, 'whole': whole, 'follows': follows,
                   'aside': dbt_cdc._iceberg_aside(snapshots, branches)}) -%}
{%- endmacro -%}


{%- macro _iceberg_aside(snapshots, branches) -%}
    {#- The snapshots that are not in the line of `main`. Those on other branches, and those that are staged (write-audit-publish),
        may never have been: of these `unpublished` is true. -#}
    {%- set walk, aside, apart = namespace(at=none), [], {} -%}
    {%- for head in branches -%}
        {%- set walk.at = head -%}
        {%- for _ in range(snapshots | length) if walk.at in snapshots -%}
            {%- do apart.update({walk.at: true}) -%}
            {%- set walk.at = snapshots[walk.at]['parent'] -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for version, row in snapshots.items() -%}
        {%- do aside.append({'version': version, 'micros': row['micros'] | int, 'quiet': false,
                             'unpublished': row['is_staged'] or version in apart}) -%}
    {%- endfor -%}
    {%- do return(aside) -%}
{%- endmacro -%}


{%- macro _iceberg_lists_delete_files(table, begin, end) -%}
    {#- Whether commits of a range, as in `changes`, list delete files. Those that are gone stay listed by appends that merge no
        lists, such as a stream's, which only these lists tell. -#}
    {%- set commits = table.timeline.commits -%}
    {%- set scope, before = commits[begin + 1:end + 1], commits[:begin + 1] -%}
    {%- if scope | selectattr('delete_files') | list -%}{%- do return(true) -%}{%- endif -%}
    {%- if table.timeline.whole and not before | selectattr('delete_files') | list -%}{%- do return(false) -%}{%- endif -%}
    {%- set listed = run_query('select 1 from ' ~ table.relation ~ '.all_manifests where content = 1 and reference_snapshot_id in ('
                               ~ scope | map(attribute='version') | join(', ') ~ ') limit 1') -%}
    {%- do return(listed.rows | length > 0) -%}
{%- endmacro -%}


{%- macro _writes_rows(first_commits) -%}
    {#- `first_commits`: a table's first, which may have made it without rows. -#}
    {%- for commit in first_commits -%}
        {%- set makes_it = loop.first and commit.operation in ['CREATE TABLE', 'CREATE OR REPLACE TABLE'] -%}
        {%- if not (commit.quiet or makes_it) -%}{%- do return(true) -%}{%- endif -%}
    {%- endfor -%}
    {%- do return(false) -%}
{%- endmacro -%}

{#- The format's own feed as images, before anything is paired. `table` is what _changed_table gives; the commits from
    place `begin` (exclusive) to place `end` (inclusive) of its timeline. A query of one shape for all formats:
    image (struct of the table's columns), is_after (boolean), position (orders commits), version (of the feed's own
    type: it goes through a shuffle), ts. -#}

{%- macro delta__changes(table, begin, end) -%}
    {%- set commits = table.timeline.commits -%}
    {%- if dbt_cdc._delta_is_compared(table, begin, end) -%}{%- do return(dbt_cdc._adjacent_versions(table, begin, end)) -%}{%- endif -%}
    {%- set faults = dbt_cdc.delta__feed_faults(table.columns) + dbt_cdc._delta_view_faults() -%}
    {%- do dbt_cdc._raise_faults(faults, about='changes of ' ~ table.source ~ ': ') -%}
    {%- set versions = commits[begin + 1].version ~ ', ' ~ commits[end].version -%}
    {#- schema and table alone are respelled (_spelling): in a catalog's name capitals count -#}
    {%- set parts = modules.re.findall('(?:`[^`]*`)+|[^.`]+', table.relation | string) -%}
    {%- set spelled = parts[:-2] + [dbt_cdc._spelling(table.relation, parts[-2:] | join('.'), versions)] -%}
    {%- set feed = 'table_changes(' ~ dbt_cdc._literal(spelled | join('.')) ~ ', ' ~ versions ~ ')' -%}
    {#- a range that ends before the latest commit may have older columns -#}
    {%- set available = dbt_cdc._types_of(feed) if end + 1 < commits | length else none -%}
    select
        {{ dbt_cdc._image(table, available, feed, 'held') }} as image,
        _change_type in ('insert', 'update_postimage') as is_after,
        _commit_version as position,
        _commit_version as version,
        _commit_timestamp as ts
    from {{ feed }} as held
{%- endmacro -%}


{%- macro _delta_is_compared(table, begin, end) -%}
    {#- Delta refuses its feed over commits that take columns away, and before or at a commit that retyped a column, made the
        table anew with other columns or partitions, or took their mapping to names; there each commit is compared with the one
        before. -#}
    {%- set commits = table.timeline.commits -%}
    {%- set takes_columns = commits[begin + 1:end + 1] | selectattr('operation', 'in', ['DROP COLUMNS', 'REPLACE COLUMNS']) | list -%}
    {%- set repartitioned = table.timeline.maps and dbt_cdc._delta_repartitioned(commits, begin) -%}
    {%- do return(takes_columns | length > 0 or repartitioned or dbt_cdc._delta_unmapped(table.timeline, begin)
                  or dbt_cdc._delta_other_columns(table, begin)) -%}
{%- endmacro -%}


{#- Whether the feed alone, without a look at whole versions of the table, surely tells a range. -#}
{%- macro default__is_told_by_feed(table, begin, end) -%}{%- do return(false) -%}{%- endmacro -%}


{%- macro delta__is_told_by_feed(table, begin, end) -%}
    {#- a commit that retypes may also have made a column NOT NULL, at which Delta refuses its feed -#}
    {%- set from, retyped = table.timeline.feed_from, table.timeline.commits[begin + 1:] | selectattr('retypes') | list -%}
    {%- do return(from is not none and from <= begin + 1 and not retyped and not dbt_cdc._delta_is_compared(table, begin, end)
                  and not dbt_cdc.delta__feed_faults(table.columns) and not dbt_cdc._may_become_view()) -%}
{%- endmacro -%}


{#- Where a range from 'earliest' begins, if the feed begins at `first`. -#}
{%- macro default__earliest(table, first, end) -%}{%- do return(first) -%}{%- endmacro -%}


{%- macro delta__earliest(table, first, end) -%}
    {#- versions that are compared have to be readable themselves -#}
    {%- set oldest = table.timeline.images_from -%}
    {%- do return(oldest if 0 <= first < oldest and dbt_cdc._delta_is_compared(table, first, end) else first) -%}
{%- endmacro -%}


{%- macro _delta_repartitioned(commits, begin) -%}
    {#- Under column mapping: has the table been made anew with other partitions since, or may it have been? -#}
    {%- set known, now = [], namespace(partitions='unknown') -%}
    {%- for commit in commits -%}
        {%- if commit.restores is not none -%}
            {%- set place = commit.restores - commits[0].version | int -%}
            {%- set now.partitions = known[place] if 0 <= place < known | length else 'unknown' -%}
        {%- elif ('CREATE' in commit.operation or 'REPLACE TABLE' in commit.operation) and 'partitionBy' in commit.parameters -%}
            {%- set now.partitions = commit.parameters.partitionBy | string -%}
        {%- endif -%}
        {%- do known.append(now.partitions) -%}
    {%- endfor -%}
    {%- do return(known[begin + 1:] | unique | list | length > 1) -%}
{%- endmacro -%}


{%- macro _delta_unmapped(timeline, begin) -%}
    {#- Has the table lost the mapping of its columns to names since? -#}
    {%- set commits = timeline.commits -%}
    {%- for place in range(begin + 1, commits | length) -%}
        {%- set made_without = 'REPLACE TABLE' in commits[place].operation and not commits[place].maps -%}
        {#- what mapped them may be gone from the history -#}
        {%- set had_maps = timeline.unmapped or commits[:place] | selectattr('maps') | list -%}
        {%- if commits[place].operation == 'REMOVE COLUMN MAPPING' or (made_without and had_maps) -%}{%- do return(true) -%}{%- endif -%}
    {%- endfor -%}
    {%- do return(false) -%}
{%- endmacro -%}


{%- macro _delta_other_columns(table, begin) -%}
    {#- Has the table been replaced, overwritten or altered since, and had it columns or types then that it does not have now? -#}
    {#- of a version that can't be read any more, Delta itself has to say so -#}
    {%- set oldest = [begin + 1, table.timeline.images_from + 1] | max -%}
    {%- set known = table.setdefault('had_other_columns', {}) -%}
    {%- if oldest not in known -%}{%- do known.update({oldest: dbt_cdc._delta_had_other_columns(table, oldest)}) -%}{%- endif -%}
    {%- do return(known[oldest]) -%}
{%- endmacro -%}


{%- macro _delta_had_other_columns(table, oldest) -%}
    {#- Columns that are altered keep their names; where any write may widen them, the first version of the range tells. -#}
    {%- set commits, state, compared = table.timeline.commits, namespace(types=none), [] -%}
    {%- for place in range(oldest, commits | length) -%}
        {%- set may_differ = commits[place].retypes or (table.timeline.widens and place == oldest) -%}
        {#- of several in a row that retype and write no rows, the first stands for all -#}
        {%- set follows = place > oldest and commits[place].quiet and commits[place - 1].quiet and commits[place - 1].retypes -%}
        {%- if may_differ and not follows -%}{%- do compared.append(place) -%}{%- endif -%}
    {%- endfor -%}
    {%- for place in compared -%}
        {%- set state.types = state.types or dbt_cdc._types_as_spelled(table.relation) -%}
        {%- set older = dbt_cdc._types_as_spelled(dbt_cdc.default__version_at(table.relation, commits[place - 1].version)) -%}
        {%- set is_made_anew = commits[place].retypes and 'CHANGE COLUMN' not in commits[place].operation -%}
        {%- for name, type in older.items() if (is_made_anew or name in state.types) and state.types.get(name) != type -%}
            {%- do return(true) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(false) -%}
{%- endmacro -%}


{%- macro iceberg__changes(table, begin, end) -%}
    {#- Iceberg 1.12 refuses changelog scans over delete files (merge-on-read); there each commit is compared with the
        one before it, which gives the same images. -#}
    {%- set commits = table.timeline.commits -%}
    {%- set scope = commits[begin + 1:end + 1] -%}
    {#- nor does it scan a table that has columns of the changelog's own names -#}
    {%- set reserved = ['_change_type', '_change_ordinal', '_commit_snapshot_id'] -%}
    {%- if table.columns | map(attribute='name') | select('in', reserved) | list
           or dbt_cdc._iceberg_lists_delete_files(table, begin, end) -%}
        {%- do return(dbt_cdc._adjacent_versions(table, begin, end)) -%}
    {%- endif -%}
    {%- set options = ["`end-snapshot-id` = '" ~ commits[end].version ~ "'"] -%}
    {%- if begin >= 0 -%}{%- do options.append("`start-snapshot-id` = '" ~ commits[begin].version ~ "'") -%}{%- endif -%}
    {#- Iceberg numbers the commits of the scan from 0 and leaves out those that only rewrite files. A join with its
        table of snapshots would say the same, but a changelog scan takes part in no join (no statistics). -#}
    {%- set moments = scope | rejectattr('operation', 'equalto', 'replace') | map(attribute='micros') -%}
    {%- set asked = options | join(', ') -%}
    select
        {{ dbt_cdc._image(table) }} as image,
        _change_type in ('INSERT', 'UPDATE_AFTER') as is_after,
        cast(_change_ordinal as bigint) as position,
        _commit_snapshot_id as version,
        timestamp_micros(array({{ moments | join(', ') }})[_change_ordinal]) as ts
    from {{ table.relation }}.{{ dbt_cdc._spelling(table.relation, 'changes', asked) }} with ({{ asked }})
{%- endmacro -%}

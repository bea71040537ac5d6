{#- Ranges: `begin` exclusive and `end` inclusive, each a version, a timestamp, 'earliest' or none, as places in a
    table's timeline. -#}

{%- macro _change_range(table, begin, end) -%}
    {#- {begin: place, exclusive; end: place, inclusive; fed: read from the format's feed}, or {before_log: true} where the
        range begins before the table's log, so that the table itself has to tell; raises if it can't be had. -#}
    {%- set timeline = table.timeline -%}
    {%- set last = timeline.commits | length - 1 -%}
    {%- set fed = timeline.feed_from is not none -%}
    {%- set first = dbt_cdc._told_from(timeline) -%}
    {%- set faults = [] -%}
    {%- set earliest = begin is none or begin == 'earliest' -%}
    {%- set to = last if end is none else first if end == 'earliest' else dbt_cdc._place_of(table, end, 'end', faults) -%}
    {%- if earliest -%}
        {%- set asked = dbt_cdc._for_format('earliest', table.format)(table, first, to) if fed and table.log is none else first -%}
    {%- else -%}
        {%- set asked = dbt_cdc._place_of(table, begin, 'begin', faults) -%}
    {%- endif -%}
    {%- set from = asked if earliest else [asked, [to, dbt_cdc._past_quiet(timeline.commits, asked)] | min] | max -%}
    {%- set before_log = table.log is not none and not earliest and from < timeline.log_from -%}
    {#- what reaches further back tells, or says where it begins -#}
    {%- if before_log and not faults and dbt_cdc._told_from(table.own.timeline) + timeline.offset <= first -%}
        {%- do return({'before_log': true}) -%}
    {%- endif -%}
    {%- if not faults -%}
        {%- if end is not none and (from > last or to > last) -%}
            {%- do faults.append("range (" ~ ('earliest' if begin is none else begin) ~ ", " ~ end
                ~ "] goes beyond the last commit, expected one up to "
                ~ dbt_cdc._commit_name(table, last) ~ "; leave `end` out to read up to the latest") -%}
        {%- elif earliest and timeline.feed_lacks and table.log is none -%}
            {%- do faults.append(dbt_cdc._range_fault(table, 'earliest', end, 'begins', first, fed)) -%}
        {%- elif before_log -%}
            {%- do faults.append(dbt_cdc._range_fault(table, begin, end, 'begins', timeline.log_from, fed)) -%}
        {%- elif end is not none and earliest and (to < from or (not fed and 0 <= to < timeline.images_from)) -%}
            {%- do faults.append(dbt_cdc._range_fault(table, 'earliest', end, 'ends', first, fed)) -%}
        {%- elif end is not none and to < from -%}
            {%- do faults.append("range (" ~ begin ~ ", " ~ end ~ "] ends before it begins; exchange the two") -%}
        {%- elif from < first or (not fed and (0 <= from < timeline.images_from or 0 <= to < timeline.images_from)) -%}
            {%- do faults.append(dbt_cdc._range_fault(table, begin, end, 'begins', first, fed)) -%}
        {%- endif -%}
    {%- endif -%}
    {%- do dbt_cdc._raise_faults(faults, about='changes of ' ~ table.source ~ ': ') -%}
    {%- if earliest and from >= 0 and table.log is none
            and (not timeline.whole or dbt_cdc._writes_rows(timeline.commits[:from + 1])) -%}
        {%- do log('dbt_cdc: ' ~ dbt_cdc._running() ~ ': changes of ' ~ table.source ~ ' up to ' ~ dbt_cdc._commit_name(table, from)
                   ~ " are gone, 'earliest' begins after it", info=true) -%}
    {%- endif -%}
    {%- do return({'begin': from, 'end': to, 'fed': fed}) -%}
{%- endmacro -%}


{%- macro _told_from(timeline) -%}
    {#- The first place after which a table's own feed, or its versions, tell what came. -#}
    {%- do return(timeline.feed_from - 1 if timeline.feed_from is not none else -1 if timeline.whole else timeline.images_from) -%}
{%- endmacro -%}


{%- macro _past_quiet(commits, place) -%}
    {#- The last of the commits right after a place that leave the rows as they are: the same changes follow both. -#}
    {%- set at = namespace(place=place) -%}
    {#- what follows a commit that only a log remembers is not known -#}
    {%- for commit in commits[place + 1:] if place >= 0 and commits[place].quiet is defined -%}
        {%- if commit.quiet and at.place == place + loop.index0 -%}{%- set at.place = at.place + 1 -%}{%- endif -%}
    {%- endfor -%}
    {%- do return(at.place) -%}
{%- endmacro -%}


{%- macro _range_fault(table, begin, end, what, first, fed) -%}
    {#- `what`: which bound lies too early, 'begins' or 'ends'. -#}
    {%- set first = [first, -1 if fed else table.timeline.images_from or -1] | max -%}
    {%- set since = dbt_cdc._commit_name(table, first) if first >= 0 else "the table's first commit ("
                    ~ dbt_cdc._commit_name(table, 0) ~ ")" -%}
    {%- set since = since ~ ", where a column was renamed," if first == table.timeline.renamed else since -%}
    {%- set place = "its log" if table.log is not none else "the change feed" if fed else "what can still be read" -%}
    {%- do return("range (" ~ begin ~ ", " ~ (end if end is not none else 'latest') ~ "] " ~ what ~ " before " ~ place
        ~ ", expected one that begins at or after " ~ since
        ~ " and ends up to " ~ dbt_cdc._commit_name(table, table.timeline.commits | length - 1)
        ~ ("; ask for a later `end`" if what == 'ends' else "; begin there" if table.timeline.feed_lacks and table.log is none
           else "; begin there, or at 'earliest'")) -%}
{%- endmacro -%}


{%- macro _place_of(table, bound, name, faults) -%}
    {#- The place of the last commit at or before a bound. -1: before the table's first commit; -2: before the oldest that is
        known, or `faults` has one more; one past the last: beyond it. -#}
    {%- set commits = table.timeline.commits -%}
    {%- set versions = commits | map(attribute='version') | list -%}
    {%- set text = bound | string | trim -%}
    {%- if text in versions -%}{%- do return(versions.index(text)) -%}{%- endif -%}
    {%- if bound is number or dbt_cdc._is_number(text) -%}
        {%- if versions and dbt_cdc._is_number(text) and dbt_cdc._formats()[table.format].ordered_versions -%}
            {%- if text | int > versions[-1] | int -%}{%- do return(versions | length) -%}{%- endif -%}
            {%- if text | int < versions[0] | int -%}{%- do return(-2) -%}{%- endif -%}
            {%- do return(versions | map('int') | select('le', text | int) | list | length - 1) -%}
        {%- endif -%}
        {%- do faults.append("`" ~ name ~ "` is no " ~ dbt_cdc._formats()[table.format].version
            ~ " of this table's history (expired, taken back, of another branch, or never there), got " ~ text ~ ", expected one of "
            ~ (versions[-5:] | join(', ') or 'none: the table has no commit') ~ (" and older" if versions | length > 5 else "")
            ~ ", a timestamp or 'earliest'") -%}
        {%- do return(-2) -%}
    {%- endif -%}
    {%- do return(dbt_cdc._place_of_moment(table, text, name, faults)) -%}
{%- endmacro -%}


{%- macro _place_of_moment(table, text, name, faults) -%}
    {%- set commits = table.timeline.commits -%}
    {%- set micros = run_query(
        'select unix_micros(try_cast(' ~ dbt_cdc._literal(text) ~ ' as timestamp_ltz)) as micros').rows[0]['micros'] -%}
    {%- if micros is none -%}
        {%- do faults.append("`" ~ name ~ "` must be a version, a timestamp or 'earliest', got '" ~ text ~ "'") -%}
        {%- do return(-2) -%}
    {%- endif -%}
    {%- set at = namespace(place=-2) -%}
    {#- the last one: Iceberg takes clocks that lie a minute apart, so that times need not grow -#}
    {%- for place in range(commits | length) if commits[place].micros <= micros | int -%}{%- set at.place = place -%}{%- endfor -%}
    {%- if at.place == -2 and table.timeline.whole -%}
        {%- set created = dbt_cdc._for_format('created', table.format)(table.relation) -%}
        {%- if created is not none and created | int <= micros | int -%}{%- set at.place = -1 -%}{%- endif -%}
    {%- endif -%}
    {%- set is_beyond = commits and commits | map(attribute='micros') | max < micros | int -%}
    {%- do return(commits | length if is_beyond else at.place) -%}
{%- endmacro -%}


{%- macro _is_number(text) -%}
    {%- do return(modules.re.fullmatch('-?[0-9]+', text) is not none) -%}
{%- endmacro -%}


{%- macro _commit_name(table, place) -%}
    {%- set commits = table.timeline.commits -%}
    {%- if not commits -%}{%- do return('nothing: the table has no commit') -%}{%- endif -%}
    {%- set commit = commits[place] -%}
    {%- set moment = modules.datetime.datetime.fromtimestamp(commit.micros / 1000000, modules.pytz.utc) -%}
    {%- do return('version ' ~ commit.version ~ ' (' ~ moment.strftime('%Y-%m-%d %H:%M:%S.%f') ~ ' UTC)') -%}
{%- endmacro -%}

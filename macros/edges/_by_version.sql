{#- By version: the changes between the last version that was processed and the one that is current when the model
    starts, one row for each key that changed, with `_op`. Late rows are found too, as no stamp is asked. -#}

{%- macro _read_by_version(relation, unique_key) -%}
    {%- set edge = {'source': dbt_cdc._edge_name(relation), 'by': 'version'} -%}
    {#- `compile` and `docs generate` also work before the first run, and where the next one has to read everything -#}
    {%- set writes = dbt_cdc._writes_tables() -%}
    {%- if not writes and dbt_cdc._load_relation(relation) is none -%}
        {%- do edge.update({'sql': "select *, 'i' as _op from " ~ relation}) -%}
        {%- do return(edge) -%}
    {%- endif -%}
    {%- set old = dbt_cdc._known_watermark(edge.source, {'by': 'version'}) -%}
    {%- set table = dbt_cdc._changed_table(relation, unique_key, old) -%}
    {%- if not table.key -%}
        {%- set table = dict(table, key=dbt_cdc._key_of_reader(table, 'ref_changes by version'), taken_for_key=true) -%}
    {%- endif -%}
    {%- set commits = table.timeline.commits -%}
    {%- set new = commits[-1] if commits else none -%}
    {%- set read_at = dbt_cdc._recorded_edges()[edge.source].time if old is not none else none -%}
    {%- set old, read_at = dbt_cdc._version_still_there(table, old, read_at) -%}
    {%- set table = dbt_cdc._reaching_back(table, old, read_at) -%}
    {%- set faults = dbt_cdc._history_faults(table, old, read_at) if old is not none else [] -%}
    {#- docs are of the whole project, whatever the tables hold just now -#}
    {%- set as_whole = not writes and (faults or flags.WHICH == 'generate') -%}
    {%- if as_whole -%}{%- set old = none -%}{%- else -%}{%- do dbt_cdc._raise_faults(faults) -%}{%- endif -%}
    {%- do edge.update({
        'column': table.key | tojson, 'watermark': new.version if new else old, 'time': new.micros if new else none,
        'sql': dbt_cdc._rows_since(table, old, new),
    }) -%}
    {%- set kept_deletes = '; what was deleted there before stays in ' ~ dbt_cdc._edge_name(this) ~ ', but with --full-refresh'
                           if old is none and not dbt_cdc._read_edges().anew else '' -%}
    {%- do log('dbt_cdc: ' ~ dbt_cdc._edge_name(this) ~ ' reads ' ~ edge.source
               ~ (' whole, as of version ' if old is none else ', changes of versions after ' ~ old ~ ' up to ')
               ~ (edge.watermark or 'none') ~ kept_deletes, info=true) -%}
    {%- do return(edge) -%}
{%- endmacro -%}


{%- macro _history_faults(table, version, read_at) -%}
    {#- What keeps the changes since a watermark from being told. A table that was dropped and made anew counts its versions
        from 0 again: the commit's time tells. A version that is itself a time comes no second time. -#}
    {%- set remedy = ", so what was deleted since is not known: run this model with --full-refresh"
                     ~ (", which drops its events and their history" if model.config.materialized == 'apply_changes' else '')
                     ~ ", or `dbt run-operation reset_watermarks` to read all rows and keep those that were deleted since" -%}
    {%- set read = "version " ~ version ~ " of " ~ table.source ~ ", which this model has read last, " -%}
    {%- for commit in table.timeline.commits if commit.version == version -%}
        {%- if commit.micros | string != read_at and not dbt_cdc._formats()[table.format].timed_versions -%}
            {%- do return([read ~ "has another commit time now (the table was made anew, its files were copied, or Delta's in-commit"
                           ~ " timestamps were switched off)" ~ remedy]) -%}
        {%- elif not dbt_cdc._is_told_since(table, version) -%}
            {%- do return([read ~ "is older than what the table's changes can still be told from (its feed was switched on"
                           ~ " later, a column was renamed, VACUUM or Hudi's cleaning took the files, or Delta, without a feed, reads"
                           ~ " nothing older than delta.deletedFileRetentionDuration: raise that)" ~ remedy]) -%}
        {%- endif -%}
        {%- do return([]) -%}
    {%- endfor -%}
    {%- do return([read ~ "is no longer in its history (expired, or the table was made anew)" ~ remedy]) -%}
{%- endmacro -%}


{%- macro _is_told_since(table, version) -%}
    {#- Whether log, feed or versions still hold what changed after a version of the table's timeline. -#}
    {%- set own = table.timeline -%}
    {%- set place = dbt_cdc._past_quiet(own.commits, dbt_cdc._place_of_version(table, version)) -%}
    {%- if table.log is not none -%}
        {%- set own, offset = table.own.timeline, table.timeline.offset -%}
        {%- if place >= table.timeline.log_from -%}
            {%- set upto = [place, dbt_cdc._place_of_version(table, table.log.upto)] | max -%}
            {%- set whole = table.log.mode == 'data_before_after' and upto == table.timeline.commits | length - 1 -%}
            {%- set fed_since = own.images_from if own.feed_from is none else [own.images_from, own.feed_from - 1] | min -%}
            {#- a log without after-images takes the last ones from the version that it ends with -#}
            {%- set since = own.images_from if table.log.mode == 'data_before' and upto > place else fed_since -%}
            {%- do return(whole or (place if table.log.mode == 'key_op' else upto) - offset >= since) -%}
        {%- endif -%}
        {%- set place = place - offset -%}
    {%- endif -%}
    {%- do return(place >= (own.images_from if own.feed_from is none else own.feed_from - 1)) -%}
{%- endmacro -%}


{%- macro _rows_since(table, old, new) -%}
    {%- set columns = dbt_cdc._columns_beside_op(table.columns, 'image') -%}
    {%- if new is none -%}
        {%- do return('select ' ~ columns ~ ", 'i' as _op from " ~ table.relation ~ ' as image where false') -%}
    {%- elif old is none -%}
        {#- a column that was added after this version is in none of its rows -#}
        {%- set held = dbt_cdc._rows_at_version(table, new.version, alone=true) -%}
        {%- set rows = '(select ' ~ held.image ~ ' as image from ' ~ held.source ~ ')' -%}
        {%- set kept = ' where ' ~ table.where if table.where else '' -%}
        {%- do return('select ' ~ columns ~ ", 'i' as _op from " ~ rows ~ kept) -%}
    {%- endif -%}
    {%- do return('select ' ~ columns ~ ", op as _op from (select op, if(op = 'd', before, after) as image from "
                  ~ dbt_cdc._unread_changes(table, old, new.version) ~ ')') -%}
{%- endmacro -%}


{%- macro _columns_beside_op(columns, prefix='') -%}
    {#- A table's own `_op` is left out: that of the changes takes its place. -#}
    {%- set names = [] -%}
    {%- for column in columns if column.name | lower != '_op' -%}{%- do names.append(column.name) -%}{%- endfor -%}
    {%- do return(dbt_cdc._quoted_list(names, prefix) | join(', ')) -%}
{%- endmacro -%}


{%- macro _unread_changes(table, old, new) -%}
    {#- The newest change of each key, of all commits in between. Not the net change, and not a comparison of the two ends:
        a run that was killed before its watermark moved may have written what came since and has gone again. -#}
    {%- do return(dbt_cdc._changes_of(table, old, new, 'latest_state', each_commit=true)) -%}
{%- endmacro -%}

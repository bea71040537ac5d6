{#- When a table was made, in microseconds since 1970 UTC: nothing was in it before its first commit. None where the format
    does not tell, or where that is a commit of its own. -#}

{%- macro default__created(relation) -%}{%- do return(none) -%}{%- endmacro -%}


{%- macro iceberg__created(relation) -%}
    {#- `create or replace` keeps the table and begins anew: before that commit there were rows. Where expiry has left one beginning
        alone, it is the first if it has the first number: numbers go on through a replacement (in the format's version 1 all are 0,
        which tells nothing). Where nothing was written since, the table began after the snapshots that there are, or, without any, at
        the latest with its last entry. -#}
    {%- set entries, snapshots = relation ~ '.metadata_log_entries', relation ~ '.snapshots' -%}
    {%- do return(run_query(
        'select if((select count(*) from ' ~ snapshots ~ ') = 0, max(unix_micros(timestamp)), min(unix_micros(timestamp))) as micros'
        ~ ' from ' ~ entries ~ ' where if((select count(*) from ' ~ relation
        ~ ".refs where name = 'main') > 0, latest_snapshot_id is null"
        ~ ' and (select count(*) from ' ~ snapshots ~ ' where parent_id is null) <= 1'
        ~ ' and (select min(latest_sequence_number) from ' ~ entries ~ ') = 1'
        ~ ', timestamp > (select coalesce(max(committed_at), timestamp_micros(0)) from ' ~ snapshots ~ '))'
    ).rows[0]['micros']) -%}
{%- endmacro -%}

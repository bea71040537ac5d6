{#- A version that was read last and has left the table's history, though it can still be read: Iceberg keeps those of a table
    that was replaced, as dbt's `table` does in every run, or rolled back. -#}
{%- macro _reaching_back(table, version, read_at) -%}
    {#- The table, where need be with a timeline that begins at such a version (`read_at`: its time) and has every version that
        came since, to be compared one after another. Whatever line they were of: a run that was killed may have read any of
        them, and of each key the newest change counts, which leads to the table as it is. Not across a renaming. (What was
        read last was published, whatever has a hold on it now.) -#}
    {%- set aside = table.timeline.get('aside', []) -%}
    {%- set commits = table.timeline.commits -%}
    {%- set found = aside | selectattr('version', 'equalto', version) | first -%}
    {%- if not commits or not found or found.micros | string != read_at -%}{%- do return(table) -%}{%- endif -%}
    {%- set since, last = [found], commits[-1] -%}
    {%- for commit in ((aside | rejectattr('unpublished') | list) + commits[:-1]) | sort(attribute='micros')
        if commit.micros >= found.micros and commit.version != version -%}
        {%- do since.append(dict(commit, quiet=false)) -%}
    {%- endfor -%}
    {%- do since.append(dict(last, quiet=false)) -%}
    {%- set columns_at = dbt_cdc._for_format('columns_at', table.format) -%}
    {%- for commit in since
        if dbt_cdc._rename_faults(table, commit.version, dbt_cdc._types_by_name(columns_at(table.relation, commit.version))) -%}
        {%- do return(table) -%}
    {%- endfor -%}
    {#- a log that was begun since does not have what came before -#}
    {%- set timeline = {'commits': since, 'feed_from': none, 'images_from': 0, 'whole': false, 'follows': none} -%}
    {%- do return(dict(table, log=none, timeline=timeline)) -%}
{%- endmacro -%}


{%- macro _version_still_there(table, version, read_at) -%}
    {#- [version, time]: those of what was read last or, where that is gone, of the compaction after it, which has the same rows. -#}
    {%- set own = (table.own or table).timeline -%}
    {%- if version is none or version != own.follows or version in table.timeline.commits | map(attribute='version') -%}
        {%- do return([version, read_at]) -%}
    {%- endif -%}
    {%- do return([own.commits[0].version, own.commits[0].micros | string]) -%}
{%- endmacro -%}

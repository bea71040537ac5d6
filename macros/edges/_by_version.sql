{#- By version: the changes between the last version that was processed and the one that is current when the model
    starts, one row for each key that changed, with `_op`. Late rows are found too, as no stamp is asked. -#}

{%- macro _read_by_version(relation, column, unique_key) -%}
    {%- set table = dbt_cdc._changed_table(relation, dbt_cdc._key_for_changes(relation, unique_key, model)) -%}
    {%- set edge = {'source': dbt_cdc._edge_name(relation), 'by': 'version', 'asked': ['version', column]} -%}
    {%- set commits = table.timeline.commits -%}
    {%- set new = commits[-1] if commits else none -%}
    {%- set old = dbt_cdc._known_watermark(edge.source, {'by': 'version'}) -%}
    {%- if old is not none -%}
        {%- do dbt_cdc._raise_faults(dbt_cdc._history_faults(edge.source, old, commits)) -%}
    {%- endif -%}
    {%- do edge.update({
        'watermark': new.version if new else old, 'time': new.micros if new else none,
        'sql': dbt_cdc._rows_since(table, old, new),
    }) -%}
    {%- do log('dbt_cdc: ' ~ dbt_cdc._edge_name(this) ~ ' reads ' ~ edge.source
               ~ (' whole, as of version ' if old is none else ', changes of versions after ' ~ old ~ ' up to ')
               ~ (edge.watermark or 'none'), info=true) -%}
    {%- do return(edge) -%}
{%- endmacro -%}


{%- macro _history_faults(source, version, commits) -%}
    {#- A table that was dropped and made anew counts its versions from 0 again: the commit's time tells. -#}
    {%- set read_at = dbt_cdc._recorded_edges()[source].time -%}
    {%- for commit in commits if commit.version == version and commit.micros | string == read_at -%}
        {%- do return([]) -%}
    {%- endfor -%}
    {%- do return(["version " ~ version ~ " of " ~ source ~ ", which this model has read last, is no longer in its history"
                   ~ " (expired, or the table was dropped and made anew), so what was deleted since is not known: run this"
                   ~ " model with --full-refresh"]) -%}
{%- endmacro -%}


{%- macro _rows_since(table, old, new) -%}
    {%- set columns = dbt_cdc._quoted_list(table.columns | map(attribute='name')) | join(', ') -%}
    {%- if new is none or old is none -%}
        {%- set from = dbt_cdc._for_format('version_at', table.format)(table.relation, new.version) if new
                       else table.relation ~ ' where false' -%}
        {%- set kept = ' as image where ' ~ table.where if new and table.where else '' -%}
        {%- do return('select ' ~ columns ~ ", 'i' as _op from " ~ from ~ kept) -%}
    {%- endif -%}
    {%- set changes = dbt_cdc._changes_of(table, old, new.version, 'net' if table.key else 'cdc') -%}
    {%- do return("select image.*, op as _op from (select op, if(op = 'd', before, after) as image from "
                  ~ changes ~ ')') -%}
{%- endmacro -%}


{%- macro _key_for_changes(relation, unique_key, reader) -%}
    {#- The upstream's own key where it has one; else its reader's, where the upstream has these columns: by that key the
        rows will be merged. -#}
    {%- if unique_key is not none or dbt_cdc._key_of_table(relation, none, none) -%}{%- do return(unique_key) -%}{%- endif -%}
    {%- set own = (reader.config.get('unique_key') if reader else none) or [] -%}
    {%- set own = [own] if own is string else own | list -%}
    {%- set columns = adapter.get_columns_in_relation(relation) | map(attribute='name') | map('lower') | list -%}
    {%- for name in own if name | lower not in columns -%}{%- do return(none) -%}{%- endfor -%}
    {%- do return(own or none) -%}
{%- endmacro -%}

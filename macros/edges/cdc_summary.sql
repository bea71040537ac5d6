{%- macro cdc_summary(source=none, destination=none) -%}
    {#- Prints one line for each edge, or for those of an upstream or a reader: how it is tracked, how far its reader has come, what
        waits. -#}
    {%- set lines = [['source', 'destination', 'mode', 'watermark', 'rows waiting', 'lag']] -%}
    {%- for edge in dbt_cdc._asked_edges('cdc_summary', source, destination) | sort(attribute='source,destination') -%}
        {%- do lines.append([edge.source, edge.destination] + dbt_cdc._edge_state(edge)) -%}
    {%- endfor -%}
    {%- do log(dbt_cdc._as_table(lines) if lines | length > 1 else 'dbt_cdc: no edges yet in ' ~ dbt_cdc._metadata_relation(),
               info=true) -%}
{%- endmacro -%}


{%- macro _edge_state(edge) -%}
    {#- [mode, watermark, rows waiting, lag] -#}
    {%- set relation = dbt_cdc._relation_called(edge.source) -%}
    {%- set mode = {'column': 'by ' ~ edge.get('column'), 'version': 'by version', 'all': 'all rows', 'reset': 'start again'}[edge.by] -%}
    {#- files, as in parquet.`/folder`, have no columns to list -#}
    {%- if '/' not in relation.identifier and not dbt_cdc._exists(relation) -%}
        {%- do return([mode, '-', 'the upstream is gone', '-']) -%}
    {%- endif -%}
    {#- such as a view whose table is gone: it has columns still -#}
    {%- if not dbt_cdc._can_be_read(relation) -%}
        {%- do return([mode, '-', "the upstream can't be read", '-']) -%}
    {%- endif -%}
    {%- set columns = dbt_cdc._columns_of(relation) -%}
    {%- if edge.by == 'version' -%}{%- do return(dbt_cdc._version_state(edge, relation, columns)) -%}{%- endif -%}
    {%- set stamp = dbt_cdc._column_named(columns, edge.get('column') or '') -%}
    {%- if stamp is none or edge.by in ['all', 'reset'] or stamp.dtype != edge.type -%}
        {%- set mode = 'all rows' if edge.by == 'column' else mode -%}
        {%- do return([mode, '-', run_query('select count(*) from ' ~ relation)[0][0] | string, '-']) -%}
    {%- endif -%}
    {%- set name = dbt_cdc._stamp(stamp) -%}
    {%- set watermark = dbt_cdc._watermark_value(edge.watermark, edge.type) if edge.get('watermark') is not none else 'null' -%}
    {%- set is_time = edge.type in ['timestamp', 'timestamp_ntz', 'date'] -%}
    {%- set query -%}
select coalesce(cast({{ watermark }} as string), '-'),
       cast(count_if({{ watermark }} is null or {{ name }} is null or {{ name }} > {{ watermark }}) as string),
    {% if is_time %}coalesce(cast(timestampdiff(second, {{ watermark }}, max({{ name }})) as string), '-'){% else %}'-'{% endif %}
from {{ relation }}
where {{ watermark }} is null or {{ name }} is null or {{ name }} >= {{ watermark }}
    {%- endset -%}
    {%- set row = run_query(query)[0] -%}
    {%- do return([mode, row[0], row[1], dbt_cdc._duration(row[2])]) -%}
{%- endmacro -%}


{%- macro _version_state(edge, relation, columns) -%}
    {%- if not dbt_cdc._format_of(dbt_cdc._load_relation(dbt_cdc._storage_relation(relation))) -%}
        {%- do return(['by version', edge.watermark or '-', 'the upstream keeps no versions', '-']) -%}
    {%- endif -%}
    {%- set key = fromjson(edge.column) -%}
    {%- for name in key if dbt_cdc._column_named(columns, name) is none -%}
        {%- do return(['by version', edge.watermark or '-', 'the upstream lacks the key column ' ~ name, '-']) -%}
    {%- endfor -%}
    {#- what is wrong with an upstream is an error of its reader's run, not of this list -#}
    {%- set table = dbt_cdc._changed_table(relation, key, edge.get('watermark'), unchecked=true) -%}
    {%- set commits = table.timeline.commits -%}
    {%- set last = commits[-1] if commits else none -%}
    {%- if last is none or not edge.get('watermark') -%}{%- do return(['by version', '-', '-', '-']) -%}{%- endif -%}
    {%- set version, read_at = dbt_cdc._version_still_there(table, edge.watermark, edge.time) -%}
    {%- set waiting, table = '0', dbt_cdc._reaching_back(table, version, read_at) -%}
    {%- if dbt_cdc._history_faults(table, version, read_at) -%}
        {%- set waiting = 'needs --full-refresh' -%}
    {%- elif last.version != version -%}
        {%- set changes = dbt_cdc._unread_changes(table, version, last.version) -%}
        {%- set not_counted = dbt_cdc._of_this_run().pop('not counted', none) -%}
        {%- set waiting = not_counted or run_query('select count(*) from ' ~ changes)[0][0] | string -%}
    {%- endif -%}
    {#- a table that was rolled back ends before what was read -#}
    {%- set lag = [(last.micros - (edge.time | int)) // 1000000, 0] | max -%}
    {%- do return(['by version', edge.watermark, waiting, dbt_cdc._duration(lag)]) -%}
{%- endmacro -%}


{%- macro _duration(seconds) -%}
    {#- '3 d 04:05:06' -#}
    {%- if seconds == '-' -%}{%- do return(seconds) -%}{%- endif -%}
    {%- set seconds = seconds | int -%}
    {%- set clock = '%02d:%02d:%02d' % (seconds % 86400 // 3600, seconds % 3600 // 60, seconds % 60) -%}
    {%- do return((seconds // 86400 ~ ' d ' if seconds >= 86400 else '') ~ clock) -%}
{%- endmacro -%}


{%- macro _as_table(lines) -%}
    {#- Columns as wide as their widest value, a rule below the heads. -#}
    {%- set widths = [] -%}
    {%- for i in range(lines[0] | length) -%}
        {%- do widths.append(lines | map(attribute=i) | map('length') | max) -%}
    {%- endfor -%}
    {%- set printed = [] -%}
    {%- for line in lines -%}
        {%- set cells = [] -%}
        {%- for cell in line -%}{%- do cells.append(cell.ljust(widths[loop.index0])) -%}{%- endfor -%}
        {%- do printed.append((cells | join('  ')).rstrip()) -%}
        {%- if loop.first -%}{%- do printed.append('-' * (printed[0] | length)) -%}{%- endif -%}
    {%- endfor -%}
    {%- do return(printed | join('\n')) -%}
{%- endmacro -%}

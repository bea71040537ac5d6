{#- `<model>__changes`: the row changes of a table, taken from its own versions. A run brings the log up to the table at its
    start (for a run that was killed in between) and again after its write; the table's version is what makes that
    repeatable. The log begins with an `i` of every row that the table held when the log was made. -#}

{%- macro _keep_change_log(relation, restart=false) -%}
    {#- To be called by a materialization before its first write and after its last one. `restart`: the table was built
        anew (full refresh), so is its log. Does nothing for a node without `change_log` or a table not yet there. -#}
    {%- set mode = dbt_cdc._meta().get('change_log') -%}
    {%- if mode is none or not execute -%}{%- do return(none) -%}{%- endif -%}
    {%- set held = dbt_cdc._held_in(relation) -%}
    {%- if dbt_cdc._load_relation(held) is none -%}{%- do return(none) -%}{%- endif -%}
    {%- set table = dbt_cdc._changed_table(relation, unique_key=dbt_cdc._key_of_node(model), log=false) -%}
    {%- if not table.key -%}
        {%- do dbt_cdc._raise_faults(["change_log needs the key, got no unique_key; give the model its `unique_key`"]) -%}
    {%- endif -%}
    {%- set log = none if restart else dbt_cdc._change_log_of(relation, table) -%}
    {%- if log is none -%}
        {%- do dbt_cdc._start_change_log(relation, table, mode) -%}
    {%- elif log.mode != mode -%}
        {%- do dbt_cdc._raise_faults([dbt_cdc._companion(relation, 'changes') ~ " was begun with change_log '" ~ log.mode
            ~ "', got '" ~ mode ~ "'; set it back, or drop that table to begin a new log"]) -%}
    {%- else -%}
        {%- do dbt_cdc._continue_change_log(relation, table, log) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _start_change_log(relation, table, mode) -%}
    {%- if dbt_cdc._for_format('feed_on', table.format)(table.relation) -%}
        {%- do table.update(timeline=dbt_cdc._for_format('timeline', table.format)(table.relation)) -%}
    {%- endif -%}
    {%- set commits = table.timeline.commits -%}
    {%- if not commits -%}{%- do return(none) -%}{%- endif -%}
    {%- set properties = {
        'dbt_cdc.change_log': mode,
        'dbt_cdc.from': commits[-1].version,
        'dbt_cdc.key': table.key | join('\n') | lower,
        'dbt_cdc.from_micros': commits[-1].micros,
    } -%}
    {%- if modules.re.search('[ ,;{}()\\n\\t=.]', table.columns | map(attribute='name') | join('')) -%}
        {%- do properties.update(dbt_cdc._formats()[table.format].column_names) -%}
    {%- endif -%}
    {%- set pairs = [] -%}
    {%- for name, value in properties.items() -%}
        {%- do pairs.append(dbt_cdc._literal(name) ~ ' = ' ~ dbt_cdc._literal(value)) -%}
    {%- endfor -%}
    {%- set log = dbt_cdc._companion(relation, 'changes') -%}
    {%- set images = dbt_cdc._two_versions(table, none, commits[-1], commits | length - 1) -%}
    {#- not `or replace`: Iceberg calls that an overwrite, which a stream over the log refuses -#}
    {%- set stale = dbt_cdc._load_relation(log) -%}
    {%- if stale is not none -%}{%- do adapter.drop_relation(stale) -%}{%- endif -%}
    {%- call statement('change_log', auto_begin=false) -%}
create table {{ log }}
using {{ table.format }}
tblproperties ({{ pairs | join(', ') }})
as
{{ dbt_cdc._change_log_rows(table, mode, images) }}
    {%- endcall -%}
    {%- do apply_grants(log, config.get('grants'), should_revoke(true, full_refresh_mode=true)) -%}
{%- endmacro -%}


{%- macro _continue_change_log(relation, table, log) -%}
    {%- set commits = table.timeline.commits -%}
    {%- set versions = commits | map(attribute='version') | list -%}
    {%- set begin, end = versions.index(log.upto), commits | length - 1 -%}
    {%- if begin == end -%}{%- do return(none) -%}{%- endif -%}
    {%- set fed = table.timeline.feed_from is not none and table.timeline.feed_from <= begin + 1 -%}
    {%- set images = (dbt_cdc._for_format('changes', table.format) if fed else dbt_cdc._adjacent_versions)(table, begin, end) -%}
    {%- set images_wanted = {'key_op': [], 'data_before': ['before'], 'data_before_after': ['before', 'after']}[log.mode] -%}
    {%- set fields = dbt_cdc._grow_log_images(table, log, images_wanted) -%}
    {%- set names = ['op', 'ts', 'version', 'key'] + images_wanted -%}
    {%- set literals = [] -%}
    {%- for version in versions[begin + 1:] -%}{%- do literals.append(dbt_cdc._literal(version)) -%}{%- endfor -%}
    {%- call statement('change_log', auto_begin=false) -%}
merge into {{ log.relation }} as logged
using (
{{ dbt_cdc._change_log_rows(table, log.mode, images, fields) }}
) as found
on logged.version in ({{ literals | join(', ') }}) and logged.version = found.version and logged.key <=> found.key
when not matched then insert ({{ names | join(', ') }}) values (found.{{ names | join(', found.') }})
    {%- endcall -%}
{%- endmacro -%}


{%- macro _change_log_rows(table, mode, images, fields=none) -%}
    {#- Rows of the log out of images; `fields`: names of the log's image fields in order, where they differ. -#}
    {%- set names = {'key_op': [], 'data_before': ['before'], 'data_before_after': ['before', 'after']}[mode] -%}
    {%- set key = [] -%}
    {%- for name in table.key -%}
        {%- set quoted = dbt_cdc._quote(name) -%}
        {%- do key.append('if(after is null, before.' ~ quoted ~ ', after.' ~ quoted ~ ') as ' ~ quoted) -%}
    {%- endfor -%}
with images as (
    {{ images }}
),

{{ dbt_cdc._paired_by_key(table) }}

select
    op,
    ts,
    version,
    struct({{ key | join(', ') }}) as key
    {%- for name in names %},
    {{ dbt_cdc._log_image(table, name, fields) }} as {{ name }}
    {%- endfor %}
from row_changes
{%- endmacro -%}


{%- macro _log_image(table, name, fields) -%}
    {%- set own = table.columns | map(attribute='name') | list -%}
    {%- if fields is none or fields == own -%}{%- do return(name) -%}{%- endif -%}
    {%- set known = own | map('lower') | list -%}
    {%- set values = [] -%}
    {%- for field in fields -%}
        {%- set quoted = dbt_cdc._quote(field) -%}
        {%- do values.append((name ~ '.' ~ quoted if field | lower in known else 'null') ~ ' as ' ~ quoted) -%}
    {%- endfor -%}
    {%- do return('if(' ~ name ~ ' is null, null, struct(' ~ values | join(', ') ~ '))') -%}
{%- endmacro -%}


{%- macro _grow_log_images(table, log, names) -%}
    {#- Adds the table's new columns to the log's images; gives the names of all their fields, or none without images. -#}
    {%- if not names -%}{%- do return(none) -%}{%- endif -%}
    {%- set fields = run_query('select ' ~ names[0] ~ '.* from ' ~ log.relation ~ ' limit 0').column_names | list -%}
    {%- set known, added = fields | map('lower') | list, [] -%}
    {%- for column in table.columns if column.name | lower not in known -%}
        {%- do fields.append(column.name) -%}
        {%- for name in names -%}
            {%- do added.append(name ~ '.' ~ dbt_cdc._quote(column.name) ~ ' ' ~ column.dtype) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if added -%}
        {%- do run_query('alter table ' ~ log.relation ~ ' add columns (' ~ added | join(', ') ~ ')') -%}
    {%- endif -%}
    {%- do return(fields) -%}
{%- endmacro -%}

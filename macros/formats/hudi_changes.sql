{%- macro hudi__changes(table, begin, end) -%}
    {#- See changes.sql. Hudi's CDC query fails as a whole where one commit of its range left no CDC file though it wrote
        a file anew, as SQL's `insert` does; such a commit is compared with the one before it, which gives the same
        images. So is every commit of a table of which the query may tell what is not so, or with columns that it does not
        give back whole. -#}
    {%- set own, fields, values = dbt_cdc._hudi_properties(table.relation), [], [] -%}
    {%- if dbt_cdc._hudi_tells_late_deletes(own) or dbt_cdc._hudi_may_keep_milliseconds(table) -%}
        {%- do return(dbt_cdc._adjacent_versions(table, begin, end)) -%}
    {%- endif -%}
    {%- for column in table.columns -%}
        {%- set name, spelling = dbt_cdc._quote(column.name), dbt_cdc._hudi_json(column.dtype | lower) -%}
        {%- if spelling is none -%}{%- do return(dbt_cdc._adjacent_versions(table, begin, end)) -%}{%- endif -%}
        {%- do fields.append(name ~ ' ' ~ spelling[0]) -%}
        {%- do values.append(spelling[1].replace('?', 'parsed.' ~ name) ~ ' as ' ~ name) -%}
    {%- endfor -%}
    {%- set commits, queries = table.timeline.commits, [] -%}
    {%- set compared = dbt_cdc._hudi_without_cdc_file(table.relation, own, commits[begin + 1:end + 1]) -%}
    {%- set open = namespace(since=begin) -%}
    {%- for place in range(begin + 1, end + 2) if place > end or commits[place].version in compared -%}
        {%- if place - 1 > open.since -%}
            {%- do queries.append(dbt_cdc._hudi_cdc_query(table, open.since, place - 1, fields, values)) -%}
        {%- endif -%}
        {%- if place <= end -%}
            {%- do queries.append(dbt_cdc._two_versions(
                table, commits[place - 1].version if place > 0 else none, commits[place], commits[place].version)) -%}
        {%- endif -%}
        {%- set open.since = place -%}
    {%- endfor -%}
    {%- do return(queries | join('\n    union all\n    ')) -%}
{%- endmacro -%}


{%- macro _hudi_cdc_query(table, begin, end, fields, values) -%}
    {#- Hudi's images are JSON text; for an image that is not there some commits say NULL and some the text `null`. -#}
    {%- set commits, moments = table.timeline.commits, [] -%}
    {%- for commit in commits[begin + 1:end + 1] -%}
        {%- do moments.append("'" ~ commit.version ~ "', " ~ commit.micros) -%}
    {%- endfor -%}
    select
        struct({{ values | join(', ') }}) as image,
        is_after,
        cast(version as bigint) as position,
        version,
        timestamp_micros(map({{ moments | join(', ') }})[version]) as ts
    from (
        select
            is_after,
            ts_ms as version,
            from_json(json, {{ dbt_cdc._literal(fields | join(', ')) }}) as parsed
        from hudi_table_changes({{ dbt_cdc._literal(table.relation) }}, 'cdc',
            '{{ commits[begin].version if begin >= 0 else 'earliest' }}', '{{ commits[end].version }}')
        lateral view stack(2, true, after, false, before) as is_after, json
        where json != 'null'
    )
{%- endmacro -%}


{%- macro _hudi_without_cdc_file(relation, properties, commits) -%}
    {#- The instants, out of some commits, that wrote a data file anew and left no CDC file beside it. Hudi's metadata table
        knows the names of all files: `<group>_<token>_<instant>.parquet`, `.<group>_<instant>.log.<n>_<token>.cdc`.
        Without that table it can't be told, and all are named. -#}
    {%- set known = properties.get('hoodie.table.metadata.partitions') or '' -%}
    {%- if 'files' not in known.split(',') -%}{%- do return(commits | map(attribute='version') | list) -%}{%- endif -%}
    {%- set found = run_query(
        "select distinct instant from ("
        ~ " select instant, wrote_data, wrote_cdc, row_number() over (partition by place, file_group order by instant) as age"
        ~ " from (select place, file_group, instant, bool_or(name not like '.%') as wrote_data,"
        ~ " bool_or(name like '%.cdc') as wrote_cdc from"
        ~ " (select key as place, name, regexp_extract(name, '^[.]?([^_]+)_', 1) as file_group,"
        ~ " regexp_extract(name, '_([0-9]+)[.]', 1) as instant from hudi_metadata(" ~ dbt_cdc._literal(relation) ~ ")"
        ~ " lateral view explode(map_keys(filesystemmetadata)) as name where type = 2)"
        ~ " group by place, file_group, instant))"
        ~ " where wrote_data and not wrote_cdc and age > 1") -%}
    {%- do return(found.columns[0].values() | map('string') | list) -%}
{%- endmacro -%}


{%- macro _hudi_tells_late_deletes(properties) -%}
    {#- Where rows have an order of their own, merge-on-read leaves a row that a late delete names, and the query tells its deletion.
        Older tables name the ordering field alone. -#}
    {%- set mode = properties.get('hoodie.record.merge.mode') -%}
    {%- set ordered = mode != 'COMMIT_TIME_ORDERING' if mode else properties.get('hoodie.table.precombine.field') -%}
    {%- do return(properties.get('hoodie.table.type') == 'MERGE_ON_READ' and ordered) -%}
{%- endmacro -%}


{%- macro _hudi_may_keep_milliseconds(table) -%}
    {#- The query gives the number that a timestamp is kept as. A commit says what its numbers are; Spark's are microseconds. -#}
    {%- if 'timestamp' not in table.columns | map(attribute='dtype') | map('lower') | list -%}{%- do return(false) -%}{%- endif -%}
    {%- set said = run_query('call show_commit_extra_metadata(table => ' ~ dbt_cdc._literal(table.relation)
                             ~ ", metadata_key => 'schema')").rows -%}
    {%- set schema = said[0][3] if said else '' -%}
    {%- do return('timestamp-micros' not in schema or 'timestamp-millis' in schema) -%}
{%- endmacro -%}


{%- macro _hudi_json(type) -%}
    {#- How a type stands in Hudi's JSON, and the expression that brings it back from there; none if it can't be:
        decimals and what is nested lose their values, binary is written in two ways. -#}
    {%- if type in ['string', 'int', 'bigint', 'smallint', 'tinyint', 'boolean', 'float', 'double'] -%}
        {%- do return([type, '?']) -%}
    {%- endif -%}
    {%- do return({
        'date': ['int', "date_add(date'1970-01-01', ?)"],
        'timestamp': ['bigint', 'timestamp_micros(?)'],
    }.get(type)) -%}
{%- endmacro -%}

{%- macro hudi__changes(table, begin, end) -%}
    {#- See changes.sql. Hudi's CDC query gives images as JSON text, in which decimals are lost and nested values lose their
        types; a table with such columns is read version by version instead, which gives the same images. -#}
    {%- set fields, values = [], [] -%}
    {%- for column in table.columns -%}
        {%- set name, type = dbt_cdc._quote(column.name), column.dtype | lower -%}
        {%- set spelling = dbt_cdc._hudi_json(type) -%}
        {%- if spelling is none -%}{%- do return(dbt_cdc._adjacent_versions(table, begin, end)) -%}{%- endif -%}
        {%- do fields.append(name ~ ' ' ~ spelling[0]) -%}
        {%- do values.append(spelling[1].replace('?', 'parsed.' ~ name) ~ ' as ' ~ name) -%}
    {%- endfor -%}
    {%- set commits = table.timeline.commits -%}
    {%- set since = commits[begin].version if begin >= 0 else 'earliest' -%}
    select
        struct({{ values | join(', ') }}) as image,
        is_after,
        cast(version as bigint) as position,
        version,
        to_timestamp(version, 'yyyyMMddHHmmssSSS') as ts
    from (
        select
            is_after,
            ts_ms as version,
            from_json(json, {{ dbt_cdc._literal(fields | join(', ')) }}) as parsed
        from hudi_table_changes({{ dbt_cdc._literal(table.relation) }}, 'cdc', '{{ since }}', '{{ commits[end].version }}')
        lateral view stack(2, true, after, false, before) as is_after, json
        where json is not null
    )
{%- endmacro -%}


{%- macro _hudi_json(type) -%}
    {#- How a type stands in Hudi's JSON, and the expression that brings it back from there; none if it can't be. -#}
    {%- if type in ['string', 'int', 'bigint', 'smallint', 'tinyint', 'boolean', 'float', 'double'] -%}
        {%- do return([type, '?']) -%}
    {%- endif -%}
    {%- do return({
        'date': ['int', "date_add(date'1970-01-01', ?)"],
        'timestamp': ['bigint', 'timestamp_micros(?)'],
        'binary': ['string', 'unbase64(?)'],
    }.get(type)) -%}
{%- endmacro -%}

{#- Images of rows, and how two of them are told apart. -#}

{%- macro _image(table, available=none, alias=none) -%}
    {#- A struct of the table's columns. `available`: types by name of what the source has, where it may be of an older
        schema; what it lacks is null. Spark's texts of long structs and of names in structs are not for casting: no cast
        where the types agree, and a null of such a type comes from the table. -#}
    {%- set fields = [] -%}
    {%- for column in table.columns -%}
        {%- set name = dbt_cdc._quote(column.name) -%}
        {%- set value = (alias ~ '.' if alias else '') ~ name -%}
        {%- set type = column.dtype if available is none else available.get(column.name | lower) -%}
        {%- if type is none and 'struct<' in column.dtype -%}
            {%- set value = '(select ' ~ name ~ ' from ' ~ table.relation ~ ' where false)' -%}
        {%- elif type != column.dtype -%}
            {%- set value = 'cast(' ~ (value if type is not none else 'null') ~ ' as ' ~ column.dtype ~ ')' -%}
        {%- endif -%}
        {%- do fields.append(value ~ ' as ' ~ name) -%}
    {%- endfor -%}
    {%- do return('struct(' ~ fields | join(', ') ~ ')') -%}
{%- endmacro -%}


{%- macro _comparable(columns, image) -%}
    {#- An expression that `<=>` and hashes take: Spark compares structs and arrays, NULLs within them too, but no maps
        and no variants. A map's entries are compared whatever their order. -#}
    {%- set fields, plain = [], namespace(all=true) -%}
    {%- for column in columns -%}
        {%- set type, value = column.dtype | lower, image ~ '.' ~ dbt_cdc._quote(column.name) -%}
        {%- if 'map<' not in type and 'variant' not in type and 'more fields' not in type -%}
            {%- do fields.append(value) -%}
        {%- else -%}
            {%- set plain.all = false -%}
            {%- set flat = type.startswith('map<') and 'map<' not in type[4:] and 'variant' not in type -%}
            {%- do fields.append('array_sort(map_entries(' ~ value ~ '))' if flat else dbt_cdc._as_json(value)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(image if plain.all else 'struct(' ~ fields | join(', ') ~ ')') -%}
{%- endmacro -%}


{%- macro _as_json(value) -%}
    {#- Text that tells NULL from absent and keeps microseconds, the same in every session's time zone. -#}
    {%- do return("to_json(struct(" ~ value ~ "), map('ignoreNullFields', 'false', 'timeZone', 'UTC', 'timestampFormat', "
                  ~ "'yyyy-MM-dd HH:mm:ss.SSSSSSXXX', 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))") -%}
{%- endmacro -%}


{%- macro _types_of(source, columns='*') -%}
    {#- Types, as text by lower-case name, of the columns of what stands in a `from` clause. -#}
    {%- set types = {} -%}
    {%- for row in run_query('describe query select ' ~ columns ~ ' from ' ~ source).rows -%}
        {%- do types.update({row[0] | lower: row[1]}) -%}
    {%- endfor -%}
    {%- do return(types) -%}
{%- endmacro -%}


{%- macro _adjacent_versions(table, begin, end) -%}
    {#- Each commit of the range beside the one before it, as images: what a feed would give where none is kept. -#}
    {%- set commits, queries = table.timeline.commits, [] -%}
    {%- for place in range(begin + 1, end + 1) -%}
        {%- set before = commits[place - 1].version if place > 0 else none -%}
        {%- do queries.append(dbt_cdc._two_versions(table, before, commits[place], place)) -%}
    {%- endfor -%}
    {%- do return(queries | join('\n    union all\n    ')) -%}
{%- endmacro -%}


{%- macro _two_versions(table, before, commit, position) -%}
    {#- All rows of two versions as images of one change; `before` none: the table was not there yet. -#}
    {%- set sides = [(commit.version, 'true')] + ([(before, 'false')] if before is not none else []) -%}
    {%- set queries = [] -%}
    {%- for version, is_after in sides -%}
        {%- set source = dbt_cdc._for_format('version_at', table.format)(table.relation, version) -%}
        {%- set types = dbt_cdc._for_format('types_at', table.format)(table.relation, version) -%}
        {%- do queries.append(
            'select ' ~ dbt_cdc._image(table, types) ~ ' as image, ' ~ is_after
            ~ ' as is_after, ' ~ 'cast(' ~ position ~ ' as bigint) as position, ' ~ dbt_cdc._literal(commit.version)
            ~ ' as version, timestamp_micros(' ~ commit.micros ~ ') as ts from ' ~ source) -%}
    {%- endfor -%}
    {%- do return(queries | join('\n    union all\n    ')) -%}
{%- endmacro -%}

{#- Envelopes of each form as before, after, op, source (map of text), ts_ms, kinds (what the schema part says of each
    column: its Kafka Connect type, name and scale; NULL without one), is_tombstone, _given_sequence. -#}

{%- macro _debezium_envelope(relation, columns, path, faults) -%}
    {#- The column, or field of a struct, that holds the envelopes: its form, its type, and the fields of a struct. -#}
    {%- set held = namespace(fields=columns, type='') -%}
    {%- for name in path -%}
        {%- if name | lower not in held.fields -%}
            {%- do faults.append("from_debezium: " ~ dbt_cdc._unknown_name('column in value', name, held.fields.keys() | list)
                                 ~ "; give the column of the envelopes, or a relation with before, after and op") -%}
            {%- do return({'form': '', 'type': '', 'has': {}}) -%}
        {%- endif -%}
        {%- set held.type = held.fields[name | lower] | lower -%}
        {%- set inside = 'held.' ~ dbt_cdc._quoted_list(path[:loop.index]) | join('.') ~ '.*' -%}
        {%- set held.fields = dbt_cdc._types_of(relation ~ ' as held', inside) if held.type.startswith('struct') else {} -%}
    {%- endfor -%}
    {%- if held.fields and not ('before' in held.fields and 'after' in held.fields and 'op' in held.fields) -%}
        {%- do faults.append("from_debezium: value: " ~ path | join('.') ~ " is a struct of " ~ held.fields | join(', ')
            ~ ", expected one of before, after and op" ~ ("; give value='" ~ path | join('.') ~ ".payload'" if 'payload' in held.fields
                                                         else '')) -%}
    {%- endif -%}
    {%- do return({'form': 'struct' if held.fields else 'json', 'type': held.type, 'has': held.fields}) -%}
{%- endmacro -%}


{%- macro _debezium_json(feed) -%}
    {%- set fields = [] -%}
    {%- for name in feed.columns -%}{%- do fields.append(dbt_cdc._quote(name) ~ ' string') -%}{%- endfor -%}
    {%- set row = 'struct<' ~ fields | join(', ') ~ '>' -%}
    {%- set payload = 'before ' ~ row ~ ', after ' ~ row ~ ', op string, source map<string, string>, ts_ms string' -%}
    {%- set part = 'schema struct<fields array<struct<field string, fields array<struct<field string, type string, name string, '
                   ~ 'parameters map<string, string>>>>>>' -%}
    {%- set text = 'cast(' ~ feed.value ~ ' as string)' if feed.binary else feed.value -%}
        select
            {% for name in ['before', 'after', 'op', 'source', 'ts_ms'] -%}
            coalesce(envelope.payload.{{ name }}, envelope.{{ name }}) as {{ name }},
            {% endfor -%}
            map_from_entries(transform(
                get(filter(envelope.schema.fields, part -> part.field = 'after'), 0).fields,
                field -> struct(field.field, struct(field.type, field.name, field.parameters['scale'] as scale))
            )) as kinds,
            trim(given) = 'null' or (
                get_json_object(given, '$.payload') is null
                and array_sort(json_object_keys(given)) in (array('payload'), array('payload', 'schema'))
            ) as is_tombstone
            {%- if feed.sequence %},
            _given_sequence
            {%- endif %}
        from (
            select
                {{ text }} as given,
                from_json({{ text }}, {{ dbt_cdc._literal(part ~ ', payload struct<' ~ payload ~ '>, ' ~ payload) }}) as envelope
                {%- if feed.sequence %},
                {{ feed.sequence }} as _given_sequence
                {%- endif %}
            from {{ feed.relation }}
            where {{ feed.value }} is not null
        )
{%- endmacro -%}


{%- macro _debezium_struct(feed) -%}
        select
            {{ dbt_cdc._debezium_image(feed, 'before') }} as before,
            {{ dbt_cdc._debezium_image(feed, 'after') }} as after,
            {{ feed.prefix }}op,
            {% if 'source' not in feed.has -%}
            cast(null as map<string, string>) as source,
            {%- else -%}
            from_json(to_json({{ feed.prefix }}source), 'map<string, string>') as source,
            {%- endif %}
            {{ 'cast(' ~ feed.prefix ~ 'ts_ms as string)' if 'ts_ms' in feed.has else 'cast(null as string)' }} as ts_ms,
            cast(null as map<string, struct<type: string, name: string, scale: string>>) as kinds,
            false as is_tombstone
            {%- if feed.sequence %},
            {{ feed.sequence }} as _given_sequence
            {%- endif %}
        from {{ feed.relation }}
        where {{ 'op is not null or before is not null or after' if feed.form == 'flat' else feed.value }} is not null
{%- endmacro -%}


{%- macro _debezium_raw(feed, name) -%}
    {#- A column as the envelope has it, but for the mark. -#}
    {%- set raw = 'image.' ~ dbt_cdc._quote(name) -%}
    {%- set mark = dbt_cdc._debezium_unavailable(feed, name) -%}
    {%- do return('if(' ~ mark ~ ', null, ' ~ raw ~ ')' if mark else raw) -%}
{%- endmacro -%}


{%- macro _debezium_set_columns(feed) -%}
    {#- PostgreSQL sends a mark instead of a large value that an update left alone. Such an event sets the other columns
        only: their names, for `columns_to_update`; NULL where it sets all. -#}
    {%- set marked, names = [], [] -%}
    {%- for name in feed.columns or feed.fields -%}
        {%- set mark = dbt_cdc._debezium_unavailable(feed, name) -%}
        {%- if mark -%}{%- do marked.append(mark) -%}{%- endif -%}
        {%- do names.append('if(' ~ mark ~ ', null, ' ~ dbt_cdc._literal(name) ~ ')' if mark else dbt_cdc._literal(name)) -%}
    {%- endfor -%}
    {%- if not marked -%}{%- do return('cast(null as array<string>)') -%}{%- endif -%}
    {%- do return('if(' ~ marked | join(' or ') ~ ',\n            array_compact(array(' ~ names | join(', ') ~ ')), null)') -%}
{%- endmacro -%}


{%- macro _debezium_unavailable(feed, name) -%}
    {#- The condition that a column is the mark: as text, in base64 or hex, and what stands in arrays (of texts, of its bytes
        as numbers or base64, of the UUID that is made of it) and in maps. None for a type that can't hold it. -#}
    {%- set raw, type = 'image.' ~ dbt_cdc._quote(name), feed.fields[dbt_cdc._spelled(name, feed.fields)] -%}
    {%- set json = 'to_json(' ~ raw ~ ')' -%}
    {%- set read = {'string': raw, 'binary': 'cast(' ~ raw ~ ' as string)', 'array': json, 'map': json} -%}
    {%- if dbt_cdc._base_type(type) not in read -%}{%- do return('') -%}{%- endif -%}
    {%- set mark = '__debezium_unavailable_value' -%}
    {%- set bytes = '[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]' -%}
    {%- set base64, hex = 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==', '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565' -%}
    {%- set uuid = 'b68a35a7-17ad-35b3-af2a-ae46edb4545a' -%}
    {%- set spellings = [mark, base64, hex, bytes, '["' ~ mark ~ '"]', '["' ~ base64 ~ '"]', '["' ~ uuid ~ '"]',
                         '{"' ~ mark ~ '":"' ~ mark ~ '"}'] -%}
    {%- do return('coalesce(' ~ read[dbt_cdc._base_type(type)] ~ ' in (' ~ dbt_cdc._literal_list(spellings) ~ '), false)') -%}
{%- endmacro -%}

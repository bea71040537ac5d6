{#- Envelopes of each form as before, after, op, source (map of text), ts_ms, kinds (what the schema part says of each
    column: its Kafka Connect name and scale; NULL without one), _given_sequence. A tombstone has no value. -#}

{%- macro _debezium_json(feed) -%}
    {%- set fields = [] -%}
    {%- for name in feed.columns -%}{%- do fields.append(dbt_cdc._quote(name) ~ ' string') -%}{%- endfor -%}
    {%- set row = 'struct<' ~ fields | join(', ') ~ '>' -%}
    {%- set payload = 'before ' ~ row ~ ', after ' ~ row ~ ', op string, source map<string, string>, ts_ms string' -%}
    {%- set part = 'schema struct<fields array<struct<field string, fields array<struct<field string, name string, '
                   ~ 'parameters map<string, string>>>>>>' -%}
    {%- set text = 'cast(' ~ feed.value ~ ' as string)' if feed.binary else feed.value -%}
        select
            {% for name in ['before', 'after', 'op', 'source', 'ts_ms'] -%}
            coalesce(envelope.payload.{{ name }}, envelope.{{ name }}) as {{ name }},
            {% endfor -%}
            map_from_entries(transform(
                get(filter(envelope.schema.fields, part -> part.field = 'after'), 0).fields,
                field -> struct(field.field, struct(field.name, field.parameters['scale'] as scale))
            )) as kinds
            {%- if feed.sequence %},
            _given_sequence
            {%- endif %}
        from (
            select
                from_json({{ text }}, {{ dbt_cdc._literal(part ~ ', payload struct<' ~ payload ~ '>, ' ~ payload) }}) as envelope
                {%- if feed.sequence %},
                {{ feed.sequence }} as _given_sequence
                {%- endif %}
            from {{ feed.relation }}
            where {{ feed.value }} is not null and trim({{ text }}) <> 'null'
        )
{%- endmacro -%}


{%- macro _debezium_struct(feed) -%}
    {%- set prefix = '' if feed.form == 'flat' else feed.value ~ '.' -%}
        select
            {{ prefix }}before,
            {{ prefix }}after,
            {{ prefix }}op,
            {% if feed.form == 'flat' and 'source' not in feed.has -%}
            cast(null as map<string, string>) as source,
            {%- else -%}
            from_json(to_json({{ prefix }}source), 'map<string, string>') as source,
            {%- endif %}
            {{ 'cast(null as string)' if feed.form == 'flat' and 'ts_ms' not in feed.has
               else 'cast(' ~ prefix ~ 'ts_ms as string)' }} as ts_ms,
            cast(null as map<string, struct<name: string, scale: string>>) as kinds
            {%- if feed.sequence %},
            {{ feed.sequence }} as _given_sequence
            {%- endif %}
        from {{ feed.relation }}
        where {{ 'op' if feed.form == 'flat' else feed.value }} is not null
{%- endmacro -%}


{%- macro _debezium_set_columns(feed) -%}
    {#- PostgreSQL sends a mark instead of a large value that an update left alone. Such an event sets the other columns
        only: their names, for `columns_to_update`; NULL where it sets all. -#}
    {%- if feed.form != 'json' -%}{%- do return('cast(null as array<string>)') -%}{%- endif -%}
    {%- set marked, names = [], [] -%}
    {%- for name in feed.columns -%}
        {%- set mark = dbt_cdc._debezium_unavailable('image.' ~ dbt_cdc._quote(name)) -%}
        {%- do marked.append(mark) -%}
        {%- do names.append('if(' ~ mark ~ ', null, ' ~ dbt_cdc._literal(name) ~ ')') -%}
    {%- endfor -%}
    {%- do return('if(' ~ marked | join(' or ') ~ ',\n            array_compact(array(' ~ names | join(', ') ~ ')), null)') -%}
{%- endmacro -%}


{%- macro _debezium_unavailable(raw) -%}
    {#- The mark: as text, in base64, and what stands in arrays (as text, as the numbers of its bytes) and in maps. -#}
    {%- set mark = '__debezium_unavailable_value' -%}
    {%- set bytes = '[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]' -%}
    {%- set spellings = [mark, 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==', '["' ~ mark ~ '"]', bytes,
                         '{"' ~ mark ~ '":"' ~ mark ~ '"}'] -%}
    {%- do return('coalesce(' ~ raw ~ ' in (' ~ dbt_cdc._literal_list(spellings) ~ '), false)') -%}
{%- endmacro -%}

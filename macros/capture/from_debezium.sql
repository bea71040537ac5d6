{%- macro from_debezium(relation, columns=none, value='value', encodings={}, sequence=none) -%}
    {#- Debezium's change events as rows, a subquery for a `from` clause: the table's columns (of a delete: as they were
        before), then _op, _ts, _sequence, _columns. Envelopes come as JSON text or as structs; tombstones are left out. -#}
    {%- set source_relation = dbt_cdc._feed_relation(relation) -%}
    {%- if not execute or dbt_cdc._is_not_built_yet(source_relation) -%}
        {%- do return('(select cast(null as string) as _op)') -%}
    {%- endif -%}
    {%- set feed = dbt_cdc._debezium_feed(source_relation, columns, value, encodings, sequence) -%}
    {%- do return(dbt_cdc._debezium_query(feed)) -%}
{%- endmacro -%}


{%- macro _debezium_feed(relation, columns, value, encodings, sequence) -%}
    {#- What is asked for, checked: form is json, struct (one column holds the envelope) or flat (before, after, op are
        the relation's own columns). -#}
    {%- if value is not string or not value -%}
        {%- do dbt_cdc._raise_faults(["from_debezium: value must name the column of the envelopes, got " ~ dbt_cdc._value_text(value)]) -%}
    {%- endif -%}
    {%- set found = {} -%}
    {%- for name, type in dbt_cdc._feed_columns_of(relation, [value]).items() -%}
        {%- do found.update({name | lower: type | lower}) -%}
    {%- endfor -%}
    {%- set path, faults = [value] if value | lower in found else value.split('.'), [] -%}
    {%- if not found -%}
        {%- do dbt_cdc._raise_faults(["from_debezium: " ~ dbt_cdc._feed_name(relation) ~ " does not exist or has no columns; build it"
                                      ~ " first"]) -%}
    {%- endif -%}
    {%- set envelope = {'form': 'flat', 'type': '', 'has': found} if 'before' in found and 'after' in found and 'op' in found
                       else dbt_cdc._debezium_envelope(relation, found, path, faults) -%}
    {%- set form = envelope.form -%}
    {#- one with an underscore may be a format's own, which a table does not tell -#}
    {%- if sequence is string and dbt_cdc._is_plain_name(sequence) and not sequence.startswith('_')
           and sequence | lower not in found and not dbt_cdc._is_cte(relation) -%}
        {%- do faults.append("from_debezium: " ~ dbt_cdc._unknown_name('column in sequence', sequence, found.keys() | list)) -%}
    {%- endif -%}
    {%- if form == 'json' and columns is none -%}
        {%- do faults.append("from_debezium: JSON has no types, got no `columns`, expected a mapping of names to types, "
                             ~ "as in columns={'id': 'int', 'name': 'string'}") -%}
    {%- endif -%}
    {%- do faults.extend(dbt_cdc._feed_column_faults('from_debezium', columns)) -%}
    {%- do faults.extend(dbt_cdc._encoding_faults(columns, encodings)) -%}
    {%- do faults.extend(dbt_cdc._json_key_faults(columns) if form == 'json' and columns is mapping else []) -%}
    {%- do dbt_cdc._raise_faults(faults) -%}
    {%- set feed = {'relation': relation, 'form': form, 'columns': columns, 'value': dbt_cdc._quoted_list(path) | join('.'),
                    'encodings': encodings, 'sequence': sequence, 'has': envelope.has, 'binary': envelope.type == 'binary',
                    'prefix': dbt_cdc._quoted_list(path) | join('.') ~ '.' if form == 'struct' else ''} -%}
    {%- do feed.update(sides={} if form == 'json' else dbt_cdc._debezium_sides(feed)) -%}
    {%- do feed.update(fields=dbt_cdc._debezium_fields(feed)) -%}
    {%- if not feed.fields -%}
        {%- do faults.append("from_debezium: neither before nor after of " ~ dbt_cdc._feed_name(relation)
            ~ " is a struct, expected at least one") -%}
    {%- endif -%}
    {%- for name in columns or {} if feed.fields and dbt_cdc._spelled(name, feed.fields) not in feed.fields -%}
        {%- do faults.append("from_debezium: " ~ dbt_cdc._unknown_name('column', name, feed.fields.keys() | list)) -%}
    {%- endfor -%}
    {%- do faults.extend(dbt_cdc._feed_name_faults('from_debezium', (columns or feed.fields) | list,
        ['_op', '_ts', '_sequence', '_columns'])) -%}
    {%- do dbt_cdc._raise_faults(faults) -%}
    {%- do return(feed) -%}
{%- endmacro -%}


{%- macro _debezium_query(feed) -%}
    (
    with envelopes as (
        {{ dbt_cdc._debezium_json(feed) if feed.form == 'json' else dbt_cdc._debezium_struct(feed) }}
    ),

    events as (
        select
            case op when 'c' then 'i' else op end as _op,
            timestamp_millis(cast(coalesce(source['ts_ms'], ts_ms) as bigint)) as _ts,
            {{ '_given_sequence' if feed.sequence else dbt_cdc._debezium_position() }} as _sequence,
            if(op = 'd', before, after) as image,
            kinds
        from envelopes
        where
            case
                when op in ('d', 't') or (op in ('c', 'u', 'r') and after is not null) then true
                when op = 'm' or is_tombstone then false
                else raise_error(concat({{ dbt_cdc._literal("dbt_cdc: " ~ dbt_cdc._feed_name(feed.relation)
                    ~ " has a row that is no Debezium envelope: its op is missing or none of c, u, d, r, t, m, or its after is no row,"
                    ~ " got op ") }}, coalesce(op, 'NULL'), {{ dbt_cdc._literal(". Expected before, after, op, source, ts_ms; messages"
                    ~ " flattened by ExtractNewRecordState are none: give those before it") }}))
            end
    )

    select
        {% for name, type in (feed.columns or feed.fields).items() -%}
        {{ dbt_cdc._debezium_value(feed, name, type) if feed.columns else dbt_cdc._debezium_raw(feed, name) }}
            as {{ dbt_cdc._quote(name) }},
        {% endfor -%}
        _op,
        _ts,
        _sequence,
        {{ dbt_cdc._debezium_set_columns(feed) }} as _columns
    from events
    )
{%- endmacro -%}


{%- macro _debezium_position() -%}
    {#- Where the change stands in the source's log, as text that sorts: numbers padded to one width, that of a binlog's file
        (mysql-bin.000042), which outgrows its six digits, too. -#}
    {%- set padded = {} -%}
    {%- for field in ['pos', 'row', 'event_serial_no', 'scn', 'ssn'] -%}
        {%- do padded.update({field: "lpad(coalesce(source['" ~ field ~ "'], '0'), 20, '0')"}) -%}
    {%- endfor -%}
            case
                when source['snapshot'] = 'incremental' and source['connector'] in ('postgresql', 'oracle')
                {#- before anything is recorded, SQL Server has no LSN to give to the rows of a snapshot: they come first #}
                {%- for field, is_due in {'lsn': "= 'postgresql'", 'file': "in ('mysql', 'mariadb')", 'scn': "= 'oracle'",
                                          'commit_lsn': "in ('sqlserver', 'db2') and op <> 'r'"}.items() %}
                    or source['{{ field }}'] is null and source['connector'] {{ is_due }}
                {%- endfor %} then raise_error(
                    {{ dbt_cdc._literal("dbt_cdc: from_debezium: a row that an incremental snapshot of PostgreSQL or Oracle has read, or"
                        ~ " whose source has no place in the log of its connector (lsn, file, commit_lsn, scn), has none among the"
                        ~ " changes; expected that place, or `sequence`: a column that follows the order in which Debezium wrote,"
                        ~ " such as the offset in a topic of one partition; give it from the start") }})
                when source['connector'] in ('mysql', 'mariadb')
                    then concat_ws('/', {{ dbt_cdc._debezium_binlog() }}, {{ padded.pos }}, {{ padded.row }})
                when source['connector'] in ('sqlserver', 'db2')
                    then concat_ws('/', source['commit_lsn'], source['change_lsn'], {{ padded.event_serial_no }})
                when source['connector'] = 'oracle' then concat_ws('/', {{ padded.scn }}, trim(source['rs_id']), {{ padded.ssn }})
                when source['connector'] = 'postgresql' then lpad(source['lsn'], 20, '0')
                else lpad(coalesce(source['ts_ms'], ts_ms), 20, '0')
            end
{%- endmacro -%}


{%- macro _debezium_binlog() -%}
    {%- set parts = [] -%}
    {%- for group in [1, 2] -%}{%- do parts.append("regexp_extract(source['file'], '^(.*?)([0-9]*)$', " ~ group ~ ')') -%}{%- endfor -%}
    {%- do return('concat(' ~ parts[0] ~ ', lpad(' ~ parts[1] ~ ", 20, '0'))") -%}
{%- endmacro -%}

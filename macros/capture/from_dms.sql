{%- macro from_dms(relation, columns=none, op='Op', timestamp=none, sequence=none) -%}
    {#- Rows of AWS DMS (full load and changes) as events, a subquery for a `from` clause: the table's columns, then _op,
        _ts, _sequence. A full load has no operation: its rows read as r. -#}
    {%- set source_relation = dbt_cdc._feed_relation(relation) -%}
    {%- if not execute or dbt_cdc._is_not_built_yet(source_relation) -%}
        {%- do return('(select cast(null as string) as _op)') -%}
    {%- endif -%}
    {%- set has = dbt_cdc._feed_columns_of(source_relation,
        (columns if columns is mapping else {}).keys() | list + [op, timestamp, sequence]) -%}
    {%- set op, timestamp, sequence = dbt_cdc._spelled(op, has), dbt_cdc._spelled(timestamp, has), dbt_cdc._spelled(sequence, has) -%}
    {%- do dbt_cdc._raise_faults(dbt_cdc._dms_faults(source_relation, has, columns, op, timestamp, sequence)) -%}
    (
    select
        {% for name, type in (columns or has).items() if columns or name not in [op, timestamp, sequence] -%}
        {{ dbt_cdc._dms_value(name, type, has) }} as {{ dbt_cdc._quote(name) }},
        {% endfor -%}
        {{ dbt_cdc._dms_operation(source_relation, op, sequence) if op in has else "'r'" }} as _op,
        {{ dbt_cdc._dms_value(timestamp, 'timestamp', has) if timestamp in has else 'cast(null as timestamp_ltz)' }} as _ts,
        {{ dbt_cdc._dms_sequence(sequence, timestamp, op, has) }} as _sequence
    from {{ source_relation }}
    )
{%- endmacro -%}


{%- macro _dms_value(name, type, has) -%}
    {%- set value, given = dbt_cdc._quote(name), has[dbt_cdc._spelled(name, has)] -%}
    {%- if given == type -%}{%- do return(value) -%}{%- endif -%}
    {%- do return(dbt_cdc._read_or_fail('from_dms', name, type, value, dbt_cdc._read_from(value, given, type))) -%}
{%- endmacro -%}


{%- macro _dms_is_load(op, sequence) -%}
    {#- No operation, or under IncludeOpForFullLoad an insert that has no place among the changes. -#}
    {%- set is_bare = "coalesce(" ~ dbt_cdc._quote(op) ~ ", '') = ''" -%}
    {%- if not sequence -%}{%- do return(is_bare) -%}{%- endif -%}
    {%- do return('(' ~ is_bare ~ ' or (' ~ dbt_cdc._quote(op) ~ " = 'I' and coalesce(cast(" ~ dbt_cdc._quote(sequence)
                  ~ " as string), '') = ''))") -%}
{%- endmacro -%}


{%- macro _dms_operation(relation, op, sequence) -%}
    {%- set column = dbt_cdc._quote(op) -%}
        case
            when {{ dbt_cdc._dms_is_load(op, sequence) }} then 'r'
            when {{ column }} in ('I', 'U', 'D') then lower({{ column }})
            else raise_error(concat({{ dbt_cdc._literal("dbt_cdc: " ~ dbt_cdc._feed_name(relation)
                ~ " has a row with another operation than I, U, D in " ~ op ~ ", got ") }}, {{ column }},
                {{ dbt_cdc._literal("; expected DMS output, give the column of the operation as `op`") }}))
        end
{%- endmacro -%}


{%- macro _dms_sequence(sequence, timestamp, op, has) -%}
    {#- As text that sorts. The rows of a full load come first, whatever they hold: a load's time is that of the transfer,
        which may be later than a change that the row does not show yet. -#}
    {%- set name = sequence or timestamp -%}
    {%- if name not in has or op not in has -%}{%- do return("''") -%}{%- endif -%}
    {%- set column = dbt_cdc._quote(name) -%}
    {%- set text = 'cast(' ~ column ~ ' as string)' -%}
    {%- if has[name] == 'timestamp' -%}
        {#- its text is in the session's zone, where hours come again when clocks go back -#}
        {%- set text = "lpad(cast(unix_micros(" ~ column ~ ") as string), 20, '0')" -%}
    {%- elif dbt_cdc._family_of_type(has[name]) == 'number' -%}
        {%- set text = "lpad(" ~ text ~ ", 38, '0')" -%}
    {%- elif dbt_cdc._family_of_type(has[name]) == 'text' -%}
        {%- set text = 'if(' ~ column ~ " rlike '^[0-9]{1,38}$', lpad(" ~ column ~ ", 38, '0'), " ~ column ~ ')' -%}
    {%- endif -%}
    {%- do return('if(' ~ dbt_cdc._dms_is_load(op, sequence) ~ ", '', " ~ text ~ ')') -%}
{%- endmacro -%}


{%- macro _dms_faults(relation, has, columns, op, timestamp, sequence) -%}
    {#- A full load may lack operation, timestamp and sequence; rows of changes need an order. -#}
    {%- if not has -%}
        {%- do return(["from_dms: " ~ dbt_cdc._feed_name(relation) ~ " does not exist or has no columns; build it first"]) -%}
    {%- endif -%}
    {%- set faults = dbt_cdc._feed_column_faults('from_dms', columns) -%}
    {%- set names = columns | list if columns is mapping else has | reject('in', [op, timestamp, sequence]) | list -%}
    {%- do faults.extend(dbt_cdc._feed_name_faults('from_dms', names, ['_op', '_ts', '_sequence'])) -%}
    {%- if dbt_cdc._is_cte(relation) and columns is none -%}
        {%- do faults.append("from_dms: " ~ (dbt_cdc._feed_name(relation) if relation is string else relation.identifier)
                             ~ ", an ephemeral model or a unit test's input, can't be asked for its columns before it is read,"
                             ~ " got no `columns`, expected a mapping of names to types") -%}
    {%- endif -%}
    {%- for name in (columns if columns is mapping else {}) if dbt_cdc._spelled(name, has) not in has -%}
        {%- do faults.append("from_dms: " ~ dbt_cdc._unknown_name('column', name, has.keys() | list)) -%}
    {%- endfor -%}
    {%- if op not in has and op not in [none, 'Op'] -%}
        {%- do faults.append("from_dms: " ~ dbt_cdc._unknown_name('column in op', op, has.keys() | list)) -%}
    {%- endif -%}
    {#- a full load is known by the lack of the usual column -#}
    {%- for argument, name in {'timestamp': timestamp, 'sequence': sequence}.items() if name and name not in has
        and (op in has or op not in [none, 'Op']) -%}
        {%- do faults.append("from_dms: " ~ dbt_cdc._unknown_name('column in ' ~ argument, name, has.keys() | list)) -%}
    {%- endfor -%}
    {%- if op in has -%}
        {%- set type = has.get(sequence or timestamp, 'string') -%}
        {%- if dbt_cdc._base_type(type) in ['float', 'double'] or dbt_cdc._family_of_type(type) in ['boolean', 'binary', 'other'] -%}
            {%- do faults.append("from_dms: column '" ~ (sequence or timestamp) ~ "' of type " ~ type ~ " can't order changes, expected"
                ~ " text, a timestamp, a date, an integer or a decimal") -%}
        {%- endif -%}
        {%- if not (timestamp or sequence) -%}
            {%- do faults.append("from_dms: rows with an operation need an order, got neither `timestamp` nor `sequence`, expected "
                ~ "the column of DMS's TimestampColumnName, or one that holds AR_H_CHANGE_SEQ") -%}
        {%- endif -%}
    {%- endif -%}
    {%- do return(faults) -%}
{%- endmacro -%}

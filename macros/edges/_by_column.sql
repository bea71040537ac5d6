{#- By column: what is stamped after the watermark, up to the greatest stamp that is there when the model starts. That
    bound becomes the next watermark, so a row that lands while the model runs lies beyond it and is read next time.
    A view's rows are read beyond it too: it may take its stamp from the clock, and would have none left when the model reads it. So are
    those of files, which no catalog tells from a view.
    Rows without a stamp have no place in that order: every run reads them, so that none is lost. -#}

{%- macro _read_by_column(relation, column) -%}
    {%- set edge = {'source': dbt_cdc._edge_name(relation), 'by': 'column'} -%}
    {%- set existing, writes = dbt_cdc._load_relation(relation), dbt_cdc._writes_tables() -%}
    {#- files, as in parquet.`/folder`, can be read and are no relation; what is not built yet is asked for by a run alone -#}
    {%- set can_be_read = existing is not none or (writes and dbt_cdc._can_be_read(relation)) -%}
    {%- if writes and not can_be_read -%}
        {%- do dbt_cdc._raise_faults(["ref_changes: " ~ edge.source ~ " does not exist; build it first"]) -%}
    {%- endif -%}
    {%- set columns = dbt_cdc._columns_of(relation) if can_be_read else [] -%}
    {%- set stamp = dbt_cdc._column_named(columns, column) -%}
    {%- if columns and stamp is none -%}
        {%- set hint = dbt_cdc._suggestion(column, columns | map(attribute='name') | list) -%}
        {%- do log('dbt_cdc: ' ~ edge.source ~ ' has no column ' ~ column ~ ', ' ~ dbt_cdc._edge_name(this)
                   ~ ' reads all its rows' ~ (hint if hint != '.' else ''), info=true) -%}
    {%- endif -%}
    {%- if stamp is none -%}
        {%- do edge.update({'by': 'all', 'sql': 'select * from ' ~ relation}) -%}
        {%- do return(edge) -%}
    {%- endif -%}
    {%- if dbt_cdc._family_of_type(stamp.dtype) not in ['moment', 'date', 'number', 'text'] -%}
        {%- do dbt_cdc._raise_faults(["column " ~ stamp.name ~ " of " ~ edge.source ~ " is of type " ~ stamp.dtype
            ~ ", which can't be a watermark: ref_changes needs a timestamp, date, number or string; name such a `column`,"
            ~ " or read by='version'"]) -%}
    {%- endif -%}
    {%- set old = dbt_cdc._known_watermark(edge.source, {'by': 'column', 'column': stamp.name, 'type': stamp.dtype}) -%}
    {#- `compile`, `show` and `docs generate` move nothing, and so need no bound -#}
    {%- set new = dbt_cdc._rows_beyond(relation, stamp, old) if writes else {'bound': none, 'unstamped': true} -%}
    {%- set is_bounded = writes and existing is not none and not existing.is_view -%}
    {%- do edge.update({
        'column': stamp.name, 'type': stamp.dtype, 'watermark': old if new.bound is none else new.bound,
        'sql': 'select * from ' ~ relation ~ ' where ' ~ dbt_cdc._between_watermarks(stamp, old, new, is_bounded),
    }) -%}
    {%- if writes -%}{%- do dbt_cdc._log_rows(edge, old, new) -%}{%- endif -%}
    {%- do return(edge) -%}
{%- endmacro -%}


{%- macro _column_named(columns, name) -%}
    {%- for column in columns if column.name | lower == name | lower -%}{%- do return(column) -%}{%- endfor -%}
    {%- do return(none) -%}
{%- endmacro -%}


{%- macro _stamp(stamp) -%}
    {#- The column, as an expression. NaN, which Spark takes for the greatest number of all, is no stamp. -#}
    {%- set name = dbt_cdc._quote(stamp.name) -%}
    {%- do return("nullif(" ~ name ~ ", cast('NaN' as " ~ stamp.dtype ~ '))' if stamp.dtype in ['float', 'double'] else name) -%}
{%- endmacro -%}


{%- macro _rows_beyond(relation, stamp, watermark) -%}
    {#- Of the rows after the watermark: how many there are, the greatest stamp, and how many rows have none. -#}
    {%- set name = dbt_cdc._stamp(stamp) -%}
    {%- set query -%}
select to_json(named_struct(
    'rows', count({{ name }}),
    'unstamped', count_if({{ name }} is null),
    'bound', {{ dbt_cdc._watermark_text('max(' ~ name ~ ')', stamp.dtype) }},
    'shown', cast(max({{ name }}) as string)
))
from {{ relation }}
{%- if watermark is not none %}
where {{ name }} > {{ dbt_cdc._watermark_value(watermark, stamp.dtype) }} or {{ name }} is null
{%- endif %}
    {%- endset -%}
    {#- JSON leaves out what is NULL -#}
    {%- do return(dict({'bound': none}, **fromjson(run_query(query)[0][0]))) -%}
{%- endmacro -%}


{%- macro _between_watermarks(stamp, old, new, is_bounded) -%}
    {%- set name, conditions, ends = dbt_cdc._stamp(stamp), [], [] -%}
    {%- if old is not none -%}{%- do ends.append(name ~ ' > ' ~ dbt_cdc._watermark_value(old, stamp.dtype)) -%}{%- endif -%}
    {%- if is_bounded and new.bound is not none -%}
        {%- do ends.append(name ~ ' <= ' ~ dbt_cdc._watermark_value(new.bound, stamp.dtype)) -%}
    {%- endif -%}
    {%- if new.bound is not none or not is_bounded -%}{%- do conditions.append(ends | join(' and ') or 'true') -%}{%- endif -%}
    {%- if new.unstamped -%}{%- do conditions.append(name ~ ' is null') -%}{%- endif -%}
    {#- No parentheses: Spark takes `t where (false)` for a table with the alias `where`. -#}
    {%- do return(conditions | join(' or ') or 'false') -%}
{%- endmacro -%}


{#- A watermark is kept as text that is exact in any time zone: microseconds since 1970 for an instant. -#}

{%- macro _watermark_text(expression, type) -%}
    {%- do return('cast(' ~ ('unix_micros(' ~ expression ~ ')' if type == 'timestamp' else expression) ~ ' as string)') -%}
{%- endmacro -%}


{%- macro _watermark_value(watermark, type) -%}
    {%- if type == 'timestamp' -%}{%- do return('timestamp_micros(' ~ (watermark | int) ~ ')') -%}{%- endif -%}
    {%- do return('cast(' ~ dbt_cdc._literal(watermark) ~ ' as ' ~ type ~ ')') -%}
{%- endmacro -%}


{%- macro _log_rows(edge, old, new) -%}
    {%- set line = 'dbt_cdc: ' ~ dbt_cdc._edge_name(this) ~ ' reads ' ~ new.rows ~ ' rows of ' ~ edge.source
                   ~ (' (all of them)' if old is none else ' (new ones)')
                   ~ (', ' ~ edge.column ~ ' up to ' ~ new.shown if new.bound is not none else '') -%}
    {%- if new.unstamped -%}
        {%- set line = line ~ ', and ' ~ new.unstamped ~ ' without ' ~ edge.column ~ ', as in every run' -%}
    {%- endif -%}
    {%- do log(line, info=true) -%}
{%- endmacro -%}

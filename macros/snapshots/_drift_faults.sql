{#- What the table can't take of a source whose columns have changed since. -#}

{%- macro _retyped_faults(strategy, source_columns, target, existing) -%}
    {#- Values of another kind, asked before anything is compared. -#}
    {%- set faults, keys = [], dbt_cdc._key_columns_of(strategy) -%}
    {#- the record of a deletion has the last values or the source's, so that both have to be of one type -#}
    {%- set deleted_keep_values = strategy.hard_deletes == 'new_record' -%}
    {%- for column in source_columns if column.name | lower in existing -%}
        {%- set kept, type = existing[column.name | lower], column.dtype -%}
        {%- if not dbt_cdc._takes(kept, type, is_compared=dbt_cdc._is_checked(column.name) or deleted_keep_values) -%}
            {%- do faults.append(dbt_cdc._type_fault(target, column.name, kept, type, "the source, which is of another kind")) -%}
        {%- elif dbt_cdc._family_of_type(kept) == 'text' and dbt_cdc._family_of_type(type) not in ['text', 'other']
                 and column.name | lower in keys -%}
            {#- 7 would be found to be '007', and be written as '7' -#}
            {%- do faults.append(dbt_cdc._type_fault(target, column.name, kept, type, "the source, by which its keys would be others")) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _takes(kept, given, is_compared) -%}
    {#- May a column have values of the given type? Spark would compare 'n/a' with a number as NULL, and find nothing changed.
        Text takes what has a text, a column without a type every type that Spark can change it to. Structs whose fields change
        places are compared place by place and written by name. -#}
    {%- set kinds = [dbt_cdc._family_of_type(kept), dbt_cdc._family_of_type(given)] -%}
    {%- if given == 'void' -%}{%- do return(true) -%}{%- endif -%}
    {%- if kept == 'void' -%}{%- do return(kinds[1] != 'other') -%}{%- endif -%}
    {%- if kinds[0] == kinds[1] -%}
        {%- set filled = kept if dbt_cdc._is_untyped(given) and dbt_cdc._gives_types(kept, given) else given -%}
        {%- if kinds[0] != 'other' or filled == kept -%}{%- do return(true) -%}{%- endif -%}
        {%- do return(dbt_cdc._widens_inside(filled, kept) if is_compared else dbt_cdc._takes_inside(filled, kept)) -%}
    {%- endif -%}
    {%- do return(kinds[1] not in ['binary', 'other'] if kinds[0] == 'text' else kinds | sort == ['date', 'moment']) -%}
{%- endmacro -%}


{%- macro _type_fault(target, name, kept, given, source) -%}
    {#- source: where the given type comes from, and why the table can't take it -#}
    {%- do return("column '" ~ name ~ "' of " ~ target ~ " is " ~ kept ~ ", got " ~ given ~ " from " ~ source
                  ~ ": cast it in the snapshot's query, or change the table's column") -%}
{%- endmacro -%}


{%- macro _drift_faults(shape, existing) -%}
    {%- set faults, narrow = [], [] -%}
    {%- for name in shape.source_columns -%}
        {%- set type, kept = shape.given_types[name | lower], existing.get(name | lower) -%}
        {%- set harm = dbt_cdc._harm(kept, type) if kept is not none else none -%}
        {%- if kept is none -%}
            {%- do faults.extend(dbt_cdc._for_format('type_faults', dbt_cdc._format_of(shape.target))(
                shape.target, shape.source_types[name | lower])) -%}
        {%- elif harm -%}
            {%- do faults.append(dbt_cdc._type_fault(shape.target, name, kept, type, "the source, " ~ harm)) -%}
        {%- elif dbt_cdc._family_of_type(kept) == dbt_cdc._family_of_type(type) == 'number' and not dbt_cdc._widens(type, kept) -%}
            {%- do narrow.append({'name': name, 'kept': kept, 'type': type}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do faults.extend(dbt_cdc._overflow_faults(shape, narrow)) -%}
    {%- if shape.counts['insert'] -%}
        {%- do faults.extend(dbt_cdc._for_format('new_key_faults', dbt_cdc._format_of(shape.target))(shape)) -%}
    {%- endif -%}
    {%- set kept, given = existing.get(dbt_cdc._dbt_columns().dbt_valid_from | lower), shape.time_type -%}
    {%- set times = ['timestamp', 'timestamp_ntz'] -%}
    {%- if kept == 'date' and given in times -%}
        {%- do faults.append(dbt_cdc._start_fault(shape, kept, given, "whose time of day it would lose")) -%}
    {%- elif kept in times and given == 'date' -%}
        {%- do faults.append(dbt_cdc._start_fault(shape, kept, given, "by which records would begin before what was known when they"
                                                  ~ " were written")) -%}
    {%- elif dbt_cdc._shifts(kept, given) or dbt_cdc._shifts(given, kept) -%}
        {%- do faults.append(dbt_cdc._start_fault(shape, kept, given, "which the session's time zone would shift")) -%}
    {%- endif -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _start_fault(shape, kept, given, harm) -%}
    {#- Of the type of dbt_valid_from. What dbt itself takes for the time of a run is not in the snapshot's query; where it has no
        zone it has to be UTC, as the times of deletes are (_run_time). -#}
    {%- set start = dbt_cdc._dbt_columns().dbt_valid_from -%}
    {%- if shape.strategy.updated_at | trim == snapshot_get_time() | trim -%}
        {%- set clock = "convert_timezone('UTC', cast(current_timestamp() as timestamp_ntz))" -%}
        {%- do return("column '" ~ start ~ "' of " ~ shape.target ~ " is " ~ kept ~ ", got " ~ given ~ " from the time of the run, "
                      ~ harm ~ ": set updated_at: cast(" ~ ('current_timestamp()' if kept == 'timestamp' else clock)
                      ~ " as " ~ kept ~ ")") -%}
    {%- endif -%}
    {%- do return(dbt_cdc._type_fault(shape.target, start, kept, given, "updated_at, " ~ harm)) -%}
{%- endmacro -%}


{%- macro _overflow_faults(shape, columns) -%}
    {#- Numbers among the changes that the table's narrower type does not hold. -#}
    {%- if not columns -%}{%- do return([]) -%}{%- endif -%}
    {%- set counted, faults = [], [] -%}
    {%- for column in columns -%}
        {%- set value = dbt_cdc._quote(column.name) -%}
        {#- a double takes each number, and gives others back where there are too many digits -#}
        {%- set is_lost = dbt_cdc._quote('dbt_cdc_lossy_' ~ column.name) if column.kept == 'double'
            else 'try_cast(' ~ value ~ ' as ' ~ column.kept ~ ') is null' -%}
        {%- do counted.append('count_if(' ~ value ~ ' is not null and ' ~ is_lost ~ ')') -%}
    {%- endfor -%}
    {%- set counts = run_query('select ' ~ counted | join(', ') ~ ' from ' ~ shape.staging
                               ~ " where dbt_cdc_kind <> 'delete'")[0] -%}
    {%- for column in columns -%}
        {%- if counts[loop.index0] -%}
            {%- set harm = 'of more digits than it keeps' if column.kept == 'double' else 'too large for it' -%}
            {%- do faults.append(dbt_cdc._type_fault(shape.target, column.name, column.kept, column.type,
                                                     "the source, with " ~ counts[loop.index0] ~ " value(s) " ~ harm)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _rounds(kept, given) -%}
    {#- Would a value of the given type lose digits or its time of day? It would be found changed again in every run. -#}
    {%- if kept == 'date' -%}{%- do return(given in ['timestamp', 'timestamp_ntz']) -%}{%- endif -%}
    {%- if kept == 'float' -%}
        {%- do return(dbt_cdc._family_of_type(given) == 'number' and not dbt_cdc._widens(given, kept)) -%}
    {%- endif -%}
    {%- set whole = ['tinyint', 'smallint', 'int', 'bigint'] -%}
    {%- if given in ['float', 'double'] -%}{%- do return(kept in whole or kept.startswith('decimal(')) -%}{%- endif -%}
    {%- if not given.startswith('decimal(') -%}{%- do return(false) -%}{%- endif -%}
    {%- set scale = modules.re.findall('[0-9]+', given)[1] | int -%}
    {%- if kept.startswith('decimal(') -%}{%- do return(scale > modules.re.findall('[0-9]+', kept)[1] | int) -%}{%- endif -%}
    {%- do return(kept in whole and scale > 0) -%}
{%- endmacro -%}

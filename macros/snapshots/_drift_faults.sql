{#- What the table can't take of a source whose columns have changed since. -#}
{%- macro _drift_faults(shape) -%}
    {%- set own = dbt_cdc._whole_types(shape.target, adapter.get_columns_in_relation(shape.target)) -%}
    {%- set faults, advice = [], ": cast it in the snapshot's query, or change the table's column" -%}
    {%- for name in shape.source_columns -%}
        {%- set type, kept = shape.source_types[name | lower], own.get(name | lower) -%}
        {%- if kept is none -%}
            {%- do faults.extend(dbt_cdc._for_format('type_faults', dbt_cdc._format_of(shape.target))(shape.target, type)) -%}
        {%- elif dbt_cdc._rounds(kept, type) -%}
            {%- do faults.append("column '" ~ name ~ "' of " ~ shape.target ~ " is " ~ kept ~ ", got " ~ type
                                 ~ " from the source, whose values it would round" ~ advice) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set start = dbt_cdc._snapshot_columns().dbt_valid_from -%}
    {%- if own.get(start | lower) == 'date' and shape.time_type in ['timestamp', 'timestamp_ntz'] -%}
        {%- do faults.append("column '" ~ start ~ "' of " ~ shape.target ~ " is date, got " ~ shape.time_type
                             ~ " from updated_at, whose time of day it would lose" ~ advice) -%}
    {%- endif -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _rounds(kept, given) -%}
    {#- Would a number of the given type lose digits behind the point? It would be found changed again in every run. -#}
    {%- set whole = ['tinyint', 'smallint', 'int', 'bigint'] -%}
    {%- if given in ['float', 'double'] -%}
        {%- do return(kept in whole or kept.startswith('decimal(') or (kept == 'float' and given == 'double')) -%}
    {%- endif -%}
    {%- if not given.startswith('decimal(') -%}{%- do return(false) -%}{%- endif -%}
    {%- set scale = modules.re.findall('[0-9]+', given)[1] | int -%}
    {%- if kept.startswith('decimal(') -%}{%- do return(scale > modules.re.findall('[0-9]+', kept)[1] | int) -%}{%- endif -%}
    {%- do return(kept in whole and scale > 0) -%}
{%- endmacro -%}

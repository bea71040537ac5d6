{%- macro _add_columns(relation, format, types, structs=none) -%}
    {#- Gives a table columns, types by name, and before that what its format asks for such names and types; or gives each of
        these structs of the table fields so. -#}
    {%- if not types -%}{%- do return(none) -%}{%- endif -%}
    {%- do dbt_cdc._allow_columns(relation, format, types) -%}
    {%- set added = [] -%}
    {%- for column, type in dbt_cdc._columns_in(structs, types) -%}{%- do added.append(column ~ ' ' ~ type) -%}{%- endfor -%}
    {%- do run_query('alter table ' ~ relation ~ ' add columns (' ~ added | join(', ') ~ ')') -%}
{%- endmacro -%}


{%- macro _grow_columns(relation, format, kept, given, structs=none) -%}
    {#- Gives a table the columns that it lacks, and types to those that have none, as Delta keeps what is nothing but NULL.
        `kept`: its types by lower-case name; `given`: those that come, by name. -#}
    {%- set new, typed = {}, {} -%}
    {%- for name, type in given.items() -%}
        {%- set before = kept.get(name | lower) -%}
        {%- if before is none -%}
            {%- do new.update({name: type}) -%}
        {%- elif before == 'void' and type != before -%}
            {%- do typed.update({name: type}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do dbt_cdc._add_columns(relation, format, new, structs) -%}
    {%- do dbt_cdc._allow_columns(relation, format, typed) -%}
    {%- for column, type in dbt_cdc._columns_in(structs, typed) -%}
        {%- do run_query('alter table ' ~ relation ~ ' alter column ' ~ column ~ ' type ' ~ type) -%}
    {%- endfor -%}
{%- endmacro -%}


{%- macro _allow_columns(relation, format, types) -%}
    {#- Gives an existing table what it needs to get columns of these names and types. -#}
    {%- if dbt_cdc._properties_of_names(types.keys(), format, types.values()) -%}
        {%- for statement in dbt_cdc._for_format('map_names', format)(relation) -%}{%- do run_query(statement) -%}{%- endfor -%}
    {%- endif -%}
    {%- set needed = dbt_cdc._formats()[format].timestamp_ntz -%}
    {%- if needed and 'timestamp_ntz' in types.values() | join(' ') -%}{%- do dbt_cdc._set_properties(relation, needed) -%}{%- endif -%}
{%- endmacro -%}


{%- macro _columns_in(structs, types) -%}
    {#- Pairs of name and type as SQL. -#}
    {%- set columns = [] -%}
    {%- for name, type in types.items() -%}
        {%- for struct in structs or [none] -%}
            {%- do columns.append(((struct ~ '.' if struct else '') ~ dbt_cdc._quote(name), dbt_cdc._type_text(type))) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(columns) -%}
{%- endmacro -%}

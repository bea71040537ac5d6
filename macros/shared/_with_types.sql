{%- macro _with_types(query, columns, known) -%}
    {#- A column of NULLs alone (`null as name`) has no type, and no table takes it so: it gets that of the table, and string where the
        table has no such column, or another struct, of which Spark casts the fields by their place. `columns`: of the query;
        `known`: types by lower-case name. -#}
    {%- set selected, untyped = [], [] -%}
    {%- for column in columns -%}
        {%- set quoted = dbt_cdc._quote(column.name) -%}
        {%- if dbt_cdc._is_untyped(column.dtype) -%}
            {%- set type = known.get(column.name | lower, column.dtype) -%}
            {%- set type = dbt_cdc._typed(type if dbt_cdc._gives_types(type, column.dtype) else column.dtype) -%}
            {%- do untyped.append('cast(' ~ quoted ~ ' as ' ~ dbt_cdc._type_text(type) ~ ') as ' ~ quoted) -%}
        {%- endif -%}
        {%- do selected.append(untyped[-1] if dbt_cdc._is_untyped(column.dtype) else quoted) -%}
    {%- endfor -%}
    {%- do return('select ' ~ selected | join(', ') ~ ' from (\n' ~ query ~ '\n) as given' if untyped else query) -%}
{%- endmacro -%}


{%- macro _gives_types(kept, untyped) -%}
    {#- Whether a table's type may stand for one that has none, or none inside: there is no struct in that, or it has the same fields. -#}
    {%- set fields = dbt_cdc._names_inside(untyped | lower) -%}
    {%- do return(not fields or fields == dbt_cdc._names_inside(kept | lower)) -%}
{%- endmacro -%}


{%- macro _without_collations(query, columns) -%}
    {#- A query and its columns, with plain texts, also within other types: not every table keeps a collation, and Spark compares no
        texts of two. -#}
    {%- set plain, selected = [], [] -%}
    {%- for column in columns -%}
        {%- set quoted = dbt_cdc._quote(column.name) -%}
        {%- set type = modules.re.sub('\\bstring collate \\w+(?!\\w*:)', 'string', column.dtype) -%}
        {%- do plain.append(api.Column(column.name, type)) -%}
        {%- do selected.append(
            quoted if type == column.dtype else 'cast(' ~ quoted ~ ' as ' ~ dbt_cdc._type_text(type) ~ ') as ' ~ quoted) -%}
    {%- endfor -%}
    {%- set as_it_is = plain | map(attribute='dtype') | list == columns | map(attribute='dtype') | list -%}
    {%- do return({
        'columns': plain,
        'sql': query if as_it_is else 'select ' ~ selected | join(', ') ~ ' from (\n' ~ query ~ '\n) as collated',
    }) -%}
{%- endmacro -%}


{%- macro _unkept_faults(columns, place) -%}
    {#- Of types that no table keeps. `place`: where the columns are made. -#}
    {%- set faults = [] -%}
    {%- for column in columns -%}
        {%- for kind in dbt_cdc._unkept_kinds(column.dtype) -%}
            {%- do faults.append("column '" ~ column.name ~ "' is of type " ~ column.dtype ~ ", and tables keep no " ~ kind
                                 ~ ": cast it in the " ~ place) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _unkept_kinds(type) -%}
    {#- What a type is, or has within, that no table keeps. (In `struct<interval:int>` it is a field's name.) -#}
    {%- set unit, found = '(year|month|day|hour|minute|second)', [] -%}
    {%- set kinds = {'intervals': 'interval(?=$|[<>,]| ' ~ unit ~ ')', 'times of day': 'time[(][0-9][)]'} -%}
    {%- for kind, pattern in kinds.items() if modules.re.search('(^|[<,:])' ~ pattern ~ '(?![^<>,]*:)', type) -%}
        {%- do found.append(kind) -%}
    {%- endfor -%}
    {%- do return(found) -%}
{%- endmacro -%}

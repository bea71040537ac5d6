{#- The model's rows before they are events. -#}
{%- macro _apply_typed(query, relations, state, options) -%}
    {#- A column of NULLs alone (`null as name` in a batch of deletes) has no type, and no table takes it so: it gets the
        target's, and string where the target has no such column. Expressions that Spark can't read over the rows stop here,
        before there is a table of them. -#}
    {%- set query = modules.re.sub(';\\s*$', '', query) -%}
    {#- not a struct's field of that name -#}
    {%- set void = '\\bvoid\\b(?!:)' -%}
    {%- set columns, types, untyped = [], {}, [] -%}
    {%- for row in run_query('describe query\n' ~ query) -%}
        {%- do columns.append(row[0]) -%}
        {%- if modules.re.search(void, row[1]) -%}
            {%- do untyped.append(row[0]) -%}
            {%- do types.update({row[0] | lower: modules.re.sub(void, 'string', row[1])}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for name in columns if columns | map('lower') | select('equalto', name | lower) | list | length > 1 -%}
        {%- do dbt_cdc._raise_faults(["the model gives two columns called '" ~ name ~ "': give each a name of its own"]) -%}
    {%- endfor -%}
    {%- set typed = dbt_cdc._apply_with_types(query, columns, untyped, types, relations, state, options) if untyped else query -%}
    {%- do dbt_cdc._apply_try_expressions(typed, columns | map('lower') | list, options) -%}
    {%- do return(typed) -%}
{%- endmacro -%}


{%- macro _apply_with_types(query, columns, untyped, types, relations, state, options) -%}
    {%- do types.update({options.columns_to_update | default('', true) | lower: 'array<string>'}) -%}
    {%- set known = dbt_cdc._apply_table_columns(relations, state, options, dbt_cdc._apply_recorded_columns(relations, state)) -%}
    {%- do types.update(dbt_cdc._whole_types(dbt_cdc._apply_shape(relations, state), known)) -%}
    {%- set selected = [] -%}
    {%- for name in columns -%}
        {%- set quoted = dbt_cdc._quote(name) -%}
        {%- do selected.append('cast(' ~ quoted ~ ' as ' ~ dbt_cdc._type_text(types[name | lower]) ~ ') as ' ~ quoted
            if name in untyped else quoted) -%}
    {%- endfor -%}
    {%- do return('select ' ~ selected | join(', ') ~ ' from (\n' ~ query ~ '\n) as batch') -%}
{%- endmacro -%}


{%- macro _apply_try_expressions(query, columns, options) -%}
    {#- What the options say in SQL; names of columns are looked up with all else that is wrong. -#}
    {%- set expressions = [] -%}
    {%- for option in ['apply_as_deletes', 'apply_as_truncates'] if options[option] -%}
        {%- do expressions.append('(' ~ options[option] ~ '\n)') -%}
    {%- endfor -%}
    {%- for option in ['sequence_by', 'system_sequence_by'] if options[option] and options[option] | length == 1 -%}
        {%- set given = options[option][0] -%}
        {%- if given | lower not in columns and not dbt_cdc._is_plain_name(given) -%}
            {%- do expressions.append('(' ~ given ~ '\n)') -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if expressions -%}
        {%- do run_query('describe query select ' ~ expressions | join(', ') ~ ' from (\n' ~ query ~ '\n) as batch') -%}
    {%- endif -%}
{%- endmacro -%}

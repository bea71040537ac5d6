{#- The model's rows before they are events. -#}
{%- macro _apply_typed(query, relations, state, options) -%}
    {#- A batch of deletes may have columns of NULLs alone. Expressions that Spark can't read over the rows stop here, before there is
        a table of them. -#}
    {#- a last semicolon, also before comments; none within a text -#}
    {%- set query = modules.re.sub(";\\s*(--[^\\n'\"]*\\s*|/[*][^'\"]*?[*]/\\s*)*$", '', query) -%}
    {%- set columns = [] -%}
    {%- for row in run_query('describe query\n' ~ query) -%}{%- do columns.append(api.Column(row[0], row[1])) -%}{%- endfor -%}
    {%- set names = columns | map(attribute='name') | map('lower') | list -%}
    {%- for column in columns if names | select('equalto', column.name | lower) | list | length > 1 -%}
        {%- do dbt_cdc._raise_faults(["the model gives two columns called '" ~ column.name ~ "': give each a name of its own"]) -%}
    {%- endfor -%}
    {%- set columns = dbt_cdc._whole_columns('(\n' ~ query ~ '\n) as batch', columns) -%}
    {%- do dbt_cdc._raise_faults(dbt_cdc._unkept_faults(columns, 'model') + dbt_cdc._apply_collated_faults(columns, options)) -%}
    {%- set plain = dbt_cdc._without_collations(query, columns) -%}
    {%- set is_untyped = dbt_cdc._is_untyped(plain.columns | map(attribute='dtype') | join(' ')) -%}
    {%- set known = dbt_cdc._apply_known_types(relations, state, options) if is_untyped else {} -%}
    {%- set typed = dbt_cdc._with_types(plain.sql, plain.columns, known) -%}
    {%- do dbt_cdc._apply_try_expressions(typed, names, options) -%}
    {%- do return(typed) -%}
{%- endmacro -%}


{%- macro _apply_collated_faults(columns, options) -%}
    {#- Texts lose their collation, also on their way to these conditions, whose answer would be another. -#}
    {%- set faults = [] -%}
    {%- for column in columns if 'string collate' in column.dtype -%}
        {%- for option in ['apply_as_deletes', 'apply_as_truncates']
            if dbt_cdc._speaks_of(modules.re.sub("'[^']*'", "''", options[option] | default('', true)), column.name) -%}
            {%- do faults.append(option ~ ": column '" ~ column.name ~ "' is of type " ~ column.dtype ~ ", and texts are compared"
                ~ " without a collation: cast it to a type that has none in the model, and say what is meant, such as lower(…)") -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _apply_known_types(relations, state, options) -%}
    {%- set recorded = dbt_cdc._own_columns(state.ledger) if state.kept else [] -%}
    {%- set known = dbt_cdc._apply_table_columns(relations, state, options, recorded) -%}
    {%- do return(dbt_cdc._whole_types(dbt_cdc._apply_shape(relations, state), known)) -%}
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

{#- What the YAML of a hash_diff model says of its columns. -#}

{%- macro _hash_diff_key(node) -%}
    {#- What a model says of its columns comes before what it may have from the project. -#}
    {%- do return((dbt_cdc._marked_columns(node, 'key') or dbt_cdc._key_in(node.config)
                   or dbt_cdc._key_in(dbt_cdc._meta(node))) | unique | list) -%}
{%- endmacro -%}


{%- macro _marked_columns(node, option) -%}
    {#- Names of the columns at which meta.dbt_cdc says so: key, ignore or sensitive. -#}
    {%- set names = [] -%}
    {%- for column in node.columns.values() -%}
        {%- set options = (column.meta or {}).get('dbt_cdc') -%}
        {%- if options is mapping and options.get(option) is sameas true -%}{%- do names.append(column.name) -%}{%- endif -%}
    {%- endfor -%}
    {%- do return(names) -%}
{%- endmacro -%}


{%- macro _hash_diff_columns() -%}
    {#- What the model's YAML says per column: data_type and description, and what is wrong with its options. -#}
    {%- set found = {'types': {}, 'comments': {}, 'faults': []} -%}
    {%- set named = dbt_cdc._names_in(dbt_cdc._meta().get('sensitive_columns')) | map('lower') | list -%}
    {%- for column in model.columns.values() -%}
        {%- set added = column.name | lower in dbt_cdc._hash_diff_layout().added -%}
        {%- if column.data_type and not added -%}{%- do found.types.update({column.name: column.data_type}) -%}{%- endif -%}
        {%- if config.persist_column_docs() and column.description -%}
            {%- do found.comments.update({column.name | lower: column.description}) -%}
        {%- endif -%}
        {%- set given = (column.meta or {}).get('dbt_cdc') or {} -%}
        {%- if given is not mapping -%}
            {%- do found.faults.append("column '" ~ column.name ~ "': meta.dbt_cdc must be a mapping of options, got "
                ~ dbt_cdc._value_text(given)) -%}
        {%- endif -%}
        {%- if (column.meta or {}).get('sensitive') and column.name | lower not in named
               and given is mapping and 'sensitive' not in given -%}
            {%- do found.faults.append("column '" ~ column.name ~ "': nothing of dbt_cdc reads `sensitive` in meta itself: move it to meta:"
                ~ " {dbt_cdc: {sensitive: true}} or, where another tool reads it, say false there") -%}
        {%- endif -%}
        {%- for name, value in (given.items() if given is mapping else []) -%}
            {%- if name not in ['key', 'ignore', 'sensitive'] -%}
                {%- do found.faults.append("column '" ~ column.name ~ "': "
                    ~ dbt_cdc._unknown_name('option', name, ['key', 'ignore', 'sensitive'])) -%}
            {%- elif value is not boolean -%}
                {%- do found.faults.append("column '" ~ column.name ~ "': option '" ~ name ~ "' must be a boolean, got "
                    ~ dbt_cdc._value_text(value)) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(found) -%}
{%- endmacro -%}

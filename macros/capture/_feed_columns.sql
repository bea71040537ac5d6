{#- Checks of what from_debezium and from_dms take. -#}

{%- macro _feed_columns_of(relation, named) -%}
    {#- The relation's columns, types by name. An ephemeral model or the rows of a unit test can't be asked before they are
        read: they are taken to have what is `named`, as text. -#}
    {%- set found = {} -%}
    {%- for name in named if name and relation.is_cte -%}{%- do found.update({name: 'string'}) -%}{%- endfor -%}
    {%- for column in ([] if relation.is_cte else dbt_cdc._columns_of(dbt_cdc._whole_relation(relation))) -%}
        {%- do found.update({column.name: column.dtype}) -%}
    {%- endfor -%}
    {%- do return(found) -%}
{%- endmacro -%}


{%- macro _feed_column_faults(feed, columns) -%}
    {%- if columns is none -%}{%- do return([]) -%}{%- endif -%}
    {%- if columns is not mapping or not columns or columns.values() | reject('string') | list -%}
        {%- do return([feed ~ ": columns must map names to types, as in {'id': 'int', 'name': 'string'}, got "
                       ~ (columns | tojson)]) -%}
    {%- endif -%}
    {%- set faults = [] -%}
    {%- for name, type in columns.items() if not dbt_cdc._is_known_type(type) -%}
        {%- do faults.append(feed ~ ": column '" ~ name ~ "': " ~ dbt_cdc._unknown_name('type', type, dbt_cdc._type_names())) -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _encoding_faults(columns, encodings) -%}
    {%- if encodings is not mapping -%}
        {%- do return(["from_debezium: encodings must map names of columns to encodings, got " ~ (encodings | tojson)]) -%}
    {%- endif -%}
    {%- if columns is not mapping -%}
        {%- do return(["from_debezium: encodings say how to read types, got no `columns` to go with them"] if encodings else []) -%}
    {%- endif -%}
    {%- set faults, families = [], dbt_cdc._debezium_encodings() -%}
    {#- of a type that is unknown nothing can be said -#}
    {%- for name, encoding in encodings.items() if name not in columns or dbt_cdc._is_known_type(columns[name] | string) -%}
        {%- set known = families.get(dbt_cdc._base_type(columns[name] | string), {}) if name in columns else {} -%}
        {%- if name not in columns -%}
            {%- do faults.append("from_debezium: " ~ dbt_cdc._unknown_name('column in encodings', name, columns.keys() | list)) -%}
        {%- elif not known -%}
            {%- do faults.append("from_debezium: column '" ~ name ~ "' of type " ~ columns[name] ~ " takes no encoding, got '"
                                 ~ encoding ~ "'") -%}
        {%- elif encoding not in known -%}
            {%- do faults.append("from_debezium: column '" ~ name ~ "' of type " ~ columns[name] ~ ": "
                                 ~ dbt_cdc._unknown_name('encoding', encoding, known.keys() | list)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _read_or_fail(feed, name, type, raw, read) -%}
    {#- What was read, whatever spark.sql.ansi.enabled says: a value of which nothing came fails the query. -#}
    {%- set told = 'dbt_cdc: ' ~ feed ~ ': column ' ~ name ~ ' (' ~ type ~ ') can not be read from: ' -%}
    {%- do return('coalesce(' ~ read ~ ', if(' ~ raw ~ ' is null, null, raise_error(concat(' ~ dbt_cdc._literal(told)
                  ~ ', cast(' ~ raw ~ ' as string)))))') -%}
{%- endmacro -%}

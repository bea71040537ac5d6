{#- Checks of what from_debezium and from_dms take. -#}

{%- macro _feed_relation(relation) -%}
    {#- What a feed is read from: a relation, a model's name, `schema.table`, or a query in brackets, as ref_changes gives. -#}
    {%- set is_query = relation is string and relation.strip().startswith('(') -%}
    {%- do return(relation if is_query else dbt_cdc._relation_named(relation)) -%}
{%- endmacro -%}


{%- macro _feed_name(relation) -%}
    {%- do return('the query' if relation is string else relation) -%}
{%- endmacro -%}


{%- macro _feed_columns_of(relation, named) -%}
    {#- The relation's columns, types by name. An ephemeral model or the rows of a unit test can't be asked before they are
        read: they are taken to have what is `named`, as text. -#}
    {%- set found = {} -%}
    {%- if dbt_cdc._is_cte(relation) -%}
        {%- for name in named if name -%}{%- do found.update({name: 'string'}) -%}{%- endfor -%}
        {%- do return(found) -%}
    {%- endif -%}
    {%- set read = relation if relation is string else dbt_cdc._whole_relation(relation) -%}
    {#- a path, such as csv.`/data/orders`, is in no catalog -#}
    {%- set exists = relation is string or '/' in relation.identifier or dbt_cdc._exists(read) -%}
    {%- do return(dbt_cdc._types_as_spelled(read) if exists else {}) -%}
{%- endmacro -%}


{%- macro _feed_column_faults(feed, columns) -%}
    {%- if columns is none -%}{%- do return([]) -%}{%- endif -%}
    {%- if columns is not mapping or not columns or columns.values() | reject('string') | list -%}
        {%- do return([feed ~ ": columns must map names to types, as in {'id': 'int', 'name': 'string'}, got "
                       ~ dbt_cdc._value_text(columns)]) -%}
    {%- endif -%}
    {%- set faults = [] -%}
    {%- for name, type in columns.items() if not dbt_cdc._is_known_type(type) -%}
        {%- set is_named = dbt_cdc._leading_name(type) in dbt_cdc._type_names() -%}
        {%- do faults.append(feed ~ ": column '" ~ name ~ "': " ~ (
            "type " ~ dbt_cdc._value_text(type) ~ " is none of Spark's, expected such as varchar(10), decimal(38,2) or array<int>"
            if is_named else dbt_cdc._unknown_name('type', type, dbt_cdc._type_names()))) -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _json_key_faults(columns) -%}
    {%- set faults = [] -%}
    {%- for name, type in columns.items() if modules.re.search('(?i)\\bmap\\s*<(?!\\s*string\\b)', type | string) -%}
        {%- do faults.append("from_debezium: column '" ~ name
            ~ "': keys of a map are text in JSON, expected map<string, …>, got " ~ type) -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _feed_name_faults(feed, names, own) -%}
    {#- Names that stand twice, in whatever case, or beside those of the feed's own columns. -#}
    {%- set faults, taken = [], own | list -%}
    {%- for name in names -%}
        {%- if name | lower in taken -%}
            {%- do faults.append(feed ~ ": " ~ ("the feed has a column '" ~ name ~ "' itself: give the table's one another name before"
                if name | lower in own else "the column '" ~ name ~ "' stands twice: give it once")) -%}
        {%- endif -%}
        {%- do taken.append(name | lower) -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _encoding_faults(columns, encodings) -%}
    {%- if encodings is not mapping -%}
        {%- do return(["from_debezium: encodings must map names of columns to encodings, got " ~ dbt_cdc._value_text(encodings)]) -%}
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


{%- macro _read_or_fail(feed, name, type, raw, read, more='') -%}
    {#- What was read, whatever spark.sql.ansi.enabled says: a value of which nothing came fails the query. `more`: of what can be done
        about it. -#}
    {%- set told = 'dbt_cdc: ' ~ feed ~ ': column ' ~ name ~ ' (' ~ type ~ ') can not be read from: ' -%}
    {%- set remedy = '; leave such rows out, or ask for the column as string, which takes what is written' ~ more -%}
    {%- do return('coalesce(' ~ read ~ ', if(' ~ raw ~ ' is null, null, raise_error(concat(' ~ dbt_cdc._literal(told)
                  ~ ', cast(' ~ raw ~ ' as string), ' ~ dbt_cdc._literal(remedy) ~ '))))') -%}
{%- endmacro -%}

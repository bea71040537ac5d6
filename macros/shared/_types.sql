{#- Kinds of types: values of one kind are cast to each other with a meaning. -#}
{%- macro _family_of_type(type) -%}
    {#- type: as Spark gives it, such as decimal(10,2) or string collate UTF8_LCASE -#}
    {%- set name = modules.re.split('[( ]', type)[0] -%}
    {%- set families = {
        'string': 'text', 'char': 'text', 'varchar': 'text', 'boolean': 'boolean', 'date': 'date', 'binary': 'binary',
        'timestamp': 'moment', 'timestamp_ntz': 'moment',
    } -%}
    {%- set numbers = ['tinyint', 'smallint', 'int', 'bigint', 'float', 'double', 'decimal'] -%}
    {%- do return('number' if name in numbers else families.get(name, 'other')) -%}
{%- endmacro -%}


{%- macro _is_exact(type) -%}
    {#- Of such a type, whatever can be read is kept whole. -#}
    {%- do return(type in ['tinyint', 'smallint', 'int', 'bigint', 'boolean'] or type.startswith('decimal(')) -%}
{%- endmacro -%}


{%- macro _are_of_one_kind(one, other) -%}
    {%- set families = [dbt_cdc._family_of_type(one), dbt_cdc._family_of_type(other)] | sort -%}
    {%- do return('text' in families or families[0] == families[1] or families in [['boolean', 'number'], ['date', 'moment']]) -%}
{%- endmacro -%}


{%- macro _shifts(kept, given) -%}
    {#- Would values of the given type become others in sessions of other time zones? -#}
    {%- set by_zone = [kept, given] in [['timestamp', 'date'], ['string', 'timestamp']]
        or [kept, given] | sort == ['timestamp', 'timestamp_ntz'] -%}
    {%- do return(by_zone and run_query('select current_timezone()')[0][0] not in ['UTC', 'Etc/UTC', 'GMT', 'Z', '+00:00']) -%}
{%- endmacro -%}


{%- macro _widens_inside(old, new) -%}
    {#- Are nested types alike but for numbers that have become wider? -#}
    {%- set part = '\\b(?:tinyint|smallint|int|bigint|float|double|decimal[(][0-9]+,[0-9]+[)]|date|timestamp(?:_ntz)?)(?!\\w)' -%}
    {%- set old, new = old | lower, new | lower -%}
    {%- if modules.re.sub(part, 'part', old) != modules.re.sub(part, 'part', new) -%}{%- do return(false) -%}{%- endif -%}
    {%- for narrow, wide in zip(modules.re.findall(part, old), modules.re.findall(part, new)) if not dbt_cdc._widens(narrow, wide) -%}
        {%- do return(false) -%}
    {%- endfor -%}
    {%- do return(true) -%}
{%- endmacro -%}


{%- macro _widens(old, new) -%}
    {#- Does a type of numbers hold all values of another? -#}
    {%- set narrower = {'smallint': ['tinyint'], 'float': ['tinyint', 'smallint']} -%}
    {%- do narrower.update({'int': narrower.float, 'bigint': narrower.float + ['int'], 'double': narrower.float + ['int', 'float']}) -%}
    {%- if old == new or old in narrower.get(new, []) -%}{%- do return(true) -%}{%- endif -%}
    {%- if 'decimal' not in old or 'decimal' not in new -%}{%- do return(false) -%}{%- endif -%}
    {%- set before, after = modules.re.findall('[0-9]+', old), modules.re.findall('[0-9]+', new) -%}
    {%- set more, finer = (after[0] | int) - (before[0] | int), (after[1] | int) - (before[1] | int) -%}
    {%- do return(more >= finer >= 0) -%}
{%- endmacro -%}


{%- macro _may_be_time(type) -%}
    {#- Text may hold a point in time. -#}
    {%- do return(type in ['timestamp', 'timestamp_ntz', 'date', 'string']) -%}
{%- endmacro -%}


{%- macro _whole_types(relation, columns) -%}
    {#- Types by lower-case name, also of structs so long that Spark cuts their text. -#}
    {%- set types, asked = dbt_cdc._types_by_name(columns), {} -%}
    {%- for column in columns if 'more fields' in column.dtype -%}
        {%- do asked.update({column.name | lower: 'typeof(any_value(' ~ dbt_cdc._quote(column.name) ~ '))'}) -%}
    {%- endfor -%}
    {%- if asked -%}
        {%- set row = run_query('select ' ~ asked.values() | join(', ') ~ ' from ' ~ relation ~ ' where false')[0] -%}
        {%- for name in asked -%}{%- do types.update({name: row[loop.index0]}) -%}{%- endfor -%}
    {%- endif -%}
    {%- do return(types) -%}
{%- endmacro -%}


{%- macro _whole_columns(source, columns=none) -%}
    {#- The columns of what stands in a `from` clause, or these of them, in order, with types that are whole. -#}
    {%- set columns = columns if columns is not none else dbt_cdc._columns_of(source) -%}
    {%- set types, whole = dbt_cdc._whole_types(source, columns), [] -%}
    {%- for column in columns -%}{%- do whole.append(api.Column(column.name, types[column.name | lower])) -%}{%- endfor -%}
    {%- do return(whole) -%}
{%- endmacro -%}


{%- macro _is_untyped(type) -%}
    {#- Whether it is, or has inside, the type of NULL; not where the name of a struct's field has that word. -#}
    {%- do return(modules.re.search('\\bvoid\\b(?![^<>,]*:)', type) is not none) -%}
{%- endmacro -%}


{%- macro _typed(type) -%}
    {%- do return(modules.re.sub('\\bvoid\\b(?![^<>,]*:)', 'string', type)) -%}
{%- endmacro -%}


{%- macro _type_text(type) -%}
    {#- A type's text, as Spark gives it, as SQL takes it: with the names in structs quoted, and a `timestamp` that stays an
        instant where `spark.sql.timestampType` is TIMESTAMP_NTZ. -#}
    {%- do return(dbt_cdc._with_instants(modules.re.sub('(?<=[<,])([^<>,]+):', '`\\1`:', type.replace('`', '``')))) -%}
{%- endmacro -%}


{%- macro _with_instants(type) -%}
    {#- In a type as anyone writes it: `timestamp` is an instant. -#}
    {%- do return(modules.re.sub('(?i)(^|[<,:])(\\s*)timestamp(?=\\s*([>,]|$))', '\\1\\2timestamp_ltz', type)) -%}
{%- endmacro -%}


{%- macro _names_inside(type) -%}
    {%- do return(modules.re.findall('(?<=[<,])([^<>,]+):', type)) -%}
{%- endmacro -%}


{%- macro _types_of(source, columns='*') -%}
    {#- Types, as text by lower-case name, of the columns of what stands in a `from` clause. -#}
    {%- do return(dbt_cdc._types_by_name(dbt_cdc._columns_of(source, columns))) -%}
{%- endmacro -%}


{%- macro _types_as_spelled(source, columns='*') -%}
    {%- set types = {} -%}
    {%- for column in dbt_cdc._columns_of(source, columns) -%}{%- do types.update({column.name: column.dtype}) -%}{%- endfor -%}
    {%- do return(types) -%}
{%- endmacro -%}


{%- macro _types_by_name(columns) -%}
    {#- Of columns as the adapter gives them: their types by lower-case name. -#}
    {%- set types = {} -%}
    {%- for column in columns -%}{%- do types.update({column.name | lower: column.dtype}) -%}{%- endfor -%}
    {%- do return(types) -%}
{%- endmacro -%}

{%- macro hash(columns, algorithm='md5') -%}
    {#- The digest by which dbt_cdc compares rows, as an expression: rule 1, told in src/dbt_cdc/hashing.py.
        The names take part in it, the order in which they are given does not. -#}
    {%- set digests = {
        'md5': 'md5({})',
        'sha2_256': 'sha2({}, 256)',
        'xxhash64': "lower(lpad(hex(xxhash64({})), 16, '0'))",
    } -%}
    {%- if algorithm not in digests -%}
        {%- do exceptions.raise_compiler_error(
            "dbt_cdc.hash: " ~ dbt_cdc._unknown_name('algorithm', algorithm, digests.keys() | list)) -%}
    {%- endif -%}
    {#- of tables that are not built yet, and of the rows of a unit test, no columns may be known -#}
    {%- set is_run = execute and flags.WHICH not in ['compile', 'generate'] and (model | default({})).resource_type != 'unit_test' -%}
    {%- if is_run and columns is not string and columns.identifier is not defined and not columns -%}
        {%- do exceptions.raise_compiler_error("dbt_cdc.hash: got no columns, expected at least one: all rows would have one digest") -%}
    {%- endif -%}
    {%- do return(digests[algorithm].replace('{}', dbt_cdc._hash_pre_image(columns))) -%}
{%- endmacro -%}


{%- macro _hash_pre_image(columns) -%}
    {%- set values = {} -%}
    {%- for column in dbt_cdc._hash_columns(columns) -%}
        {%- set name = column if column is string else column.name -%}
        {%- set type = '' if column is string else column.data_type -%}
        {%- do values.update({(name | lower, name): dbt_cdc._hash_value(name, type)}) -%}
    {%- endfor -%}
    {%- if not values -%}{%- do return("'{}'") -%}{%- endif -%}
    {%- set parts = [] -%}
    {%- for name in values.keys() | sort(case_sensitive=true) -%}
        {%- do parts.append(dbt_cdc._literal(name[0]) ~ ', ' ~ values[name]) -%}
    {%- endfor -%}
    {%- set options = dbt_cdc._literal_list([
        'ignoreNullFields', 'true',
        'timeZone', 'UTC',
        'locale', 'en-US',
        'dateFormat', 'yyyy-MM-dd',
        'timestampFormat', "yyyy-MM-dd'T'HH:mm:ss.SSSSSSX",
        'timestampNTZFormat', "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    ]) -%}
    {%- do return('to_json(named_struct(' ~ parts | join(', ') ~ '), map(' ~ options ~ '))') -%}
{%- endmacro -%}


{%- macro _hash_columns(columns) -%}
    {%- if columns is string -%}{%- do return([columns]) -%}{%- endif -%}
    {%- if columns.identifier is not defined -%}{%- do return(columns) -%}{%- endif -%}
    {%- set existing = dbt_cdc._load_relation(dbt_cdc._whole_relation(columns)) if execute and not columns.is_cte else none -%}
    {%- set found = dbt_cdc._whole_columns(existing, dbt_cdc._plain_columns(existing)) if existing is not none else [] -%}
    {%- if execute and not found and not dbt_cdc._is_not_built_yet(columns) -%}
        {%- do exceptions.raise_compiler_error(
            "dbt_cdc.hash: " ~ columns ~ " has no columns that can be asked for (an ephemeral model, a unit test's input, or not built"
            ~ " yet), expected a table or view; give the names of the columns") -%}
    {%- endif -%}
    {%- do return(found) -%}
{%- endmacro -%}


{%- macro _hash_value(name, type) -%}
    {#- A map has no order of its own: it is hashed as the array of its entries, sorted by key. Any other is no mere
        column either: of one with a DEFAULT, Spark writes NULL as null. -#}
    {%- set column, type = dbt_cdc._quote(name), type | lower -%}
    {%- if 'map<' not in type -%}{%- do return('if(' ~ column ~ ' is null, null, ' ~ column ~ ')') -%}{%- endif -%}
    {%- if not type.startswith('map<') or 'map<' in type[4:] -%}
        {%- do exceptions.raise_compiler_error(
            "dbt_cdc.hash: column '" ~ name ~ "' is a " ~ type ~ ", the macro reads maps at the top level only. "
            ~ "Hash it in a Python model (dbt_cdc.hash_diff), or leave the column out") -%}
    {%- endif -%}
    {%- do return("transform(array_sort(map_keys(" ~ column ~ ")), _dbt_cdc_0 -> named_struct('key', _dbt_cdc_0, "
                  ~ "'value', element_at(" ~ column ~ ", _dbt_cdc_0)))") -%}
{%- endmacro -%}

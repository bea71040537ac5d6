{#- A snapshot's key must be there and be unique: asked of the source before the first load, and found by every later one
    as it compares (_staging_faults). -#}

{%- macro _source_faults(strategy, sql) -%}
    {#- Grouped by one hash, which is cheaper than by the keys; the keys themselves are looked at only where hashes meet. -#}
    {%- set keys = dbt_cdc._keys(strategy) -%}
    {%- set found -%}
        select coalesce(sum(if(key_hash is null, rows, 0)), 0) as null_keys, count_if(key_hash is not null and rows > 1) as repeated
        from (
            select key_hash, count(*) as rows
            from (
                select if({{ dbt_cdc._null_keys(keys) | join(' or ') }}, null, xxhash64({{ keys | join(', ') }})) as key_hash
                from (
                    {{ sql }}
                ) as source_rows
            ) as hashed
            group by key_hash
        ) as hashes
    {%- endset -%}
    {%- set result = run_query(found).rows[0] -%}
    {%- do return(dbt_cdc._source_key_faults(keys, sql, result['null_keys'] | int, result['repeated'] | int)) -%}
{%- endmacro -%}


{%- macro _blank_partition_faults(strategy, sql, columns, table=none) -%}
    {#- Empty texts in a column of partition_by, where the format keeps NULL for them: a key would not be found again, and a checked
        column differ in every run. -#}
    {%- set faults, counted, keys = [], {}, dbt_cdc._key_columns_of(strategy) -%}
    {%- set compared = [] -%}
    {%- for column in columns if column.name | lower in keys or dbt_cdc._is_checked(column.name) -%}
        {%- do compared.append(column) -%}
    {%- endfor -%}
    {%- set blanks = dbt_cdc._blank_partitions(config.get('file_format'), table, compared | map(attribute='dtype')) -%}
    {%- for column in compared if column.name | lower in blanks and dbt_cdc._family_of_type(column.dtype) == 'text' -%}
        {%- do counted.update({column.name: 'count_if(cast(' ~ dbt_cdc._quote(column.name) ~ " as string) = '')"}) -%}
    {%- endfor -%}
    {%- if not counted -%}{%- do return([]) -%}{%- endif -%}
    {%- set row = run_query('select ' ~ dbt_cdc._select_list(counted) ~ ' from (\n' ~ sql ~ '\n) as source_rows')[0] -%}
    {%- for name in counted if row[name] -%}
        {%- do faults.append("column '" ~ name ~ "' has an empty text in " ~ row[name] ~ " row(s) of the source, and is one of"
                             ~ " partition_by, where " ~ config.get('file_format') ~ " keeps NULL for it: leave it out of"
                             ~ " partition_by" ~ (' and make the table anew' if table is not none else '')
                             ~ ", or give it another value in the snapshot's query") -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _updated_at_faults(strategy, source) -%}
    {%- do return(dbt_cdc._text_time_faults(
        'dbt_cdc_updated_at', source, 'updated_at (' ~ strategy.updated_at ~ ')',
        "convert it, or make it NULL, in the snapshot's query")) -%}
{%- endmacro -%}


{%- macro _source_key_faults(keys, sql, null_keys, repeated, copies='count(*)') -%}
    {#- null_keys: rows of the source without a key; repeated: keys, or hashes of them, that several of its rows share; copies: how many
        rows of the source are those of `sql` that have one key -#}
    {%- set faults = [] -%}
    {%- if null_keys -%}
        {%- do faults.append("unique_key " ~ (keys | join(', ')) ~ " is NULL in " ~ null_keys
                             ~ " row(s) of the source; every row needs a key: filter or fill those rows") -%}
    {%- endif -%}
    {%- if repeated -%}{%- do faults.extend(dbt_cdc._duplicate_source_key_faults(keys, sql, copies)) -%}{%- endif -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _duplicate_source_key_faults(keys, sql, copies) -%}
    {#- The first repeated keys (NULLs are a fault of their own), an empty list if only hashes met. -#}
    {%- set columns = dbt_cdc._numbered(keys, 'dbt_cdc_repeated_') -%}
    {%- set found -%}
        select to_json(struct({{ columns | join(', ') }})) as repeated_key, {{ copies }} as rows, count(*) over () as repeated
        from (
            select *, {{ dbt_cdc._numbered_keys(keys, 'dbt_cdc_repeated_') }}
            from (
                {{ sql }}
            ) as source_rows
        ) as source_keys
        where {{ columns | join(' is not null and ') }} is not null
        group by {{ columns | join(', ') }}
        having count(*) > 1
        order by repeated_key
        limit 5
    {%- endset -%}
    {%- set examples = run_query(found).rows -%}
    {%- if examples | length == 0 -%}{%- do return([]) -%}{%- endif -%}
    {%- set shown = [] -%}
    {%- for row in examples -%}
        {%- do shown.append(fromjson(row['repeated_key']).values() | join(', ') ~ " (" ~ row['rows'] ~ " rows)") -%}
    {%- endfor -%}
    {%- do return(["unique_key " ~ (keys | join(', ')) ~ " must be unique in the source, but " ~ examples[0]['repeated']
                   ~ " key(s) have several rows, such as " ~ (shown | join('; '))
                   ~ "; remove the duplicates or add the column that tells them apart"]) -%}
{%- endmacro -%}

{#- Images of rows, and how two of them are told apart. -#}

{%- macro _image(table, available=none, source=none, alias=none) -%}
    {#- A struct of the table's columns. `available`: types by name of what `source` has, where that may be of an older
        schema; `alias`: what stands before the names. -#}
    {%- set fields = [] -%}
    {%- for column in table.columns -%}
        {%- set name = dbt_cdc._quote(column.name) -%}
        {%- set value = (alias ~ '.' if alias else '') ~ name -%}
        {%- if available is not none -%}
            {%- set type = available.get(column.name | lower) -%}
            {%- set value = dbt_cdc._as_it_is_now(table, source, name, value, type, column.dtype) -%}
        {%- endif -%}
        {%- do fields.append(value ~ ' as ' ~ name) -%}
    {%- endfor -%}
    {%- do return('struct(' ~ fields | join(', ') ~ ')') -%}
{%- endmacro -%}


{%- macro _rows_at_version(table, version, alone=false) -%}
    {#- The rows that the table held at a version: `source`, for a `from` clause, and `image`, a struct with the columns
        that the table has now. `alone`: they are compared with those of no other version. -#}
    {%- set source = dbt_cdc._for_format('version_at', table.format)(table.relation, version) -%}
    {%- set columns = dbt_cdc._for_format('columns_at', table.format)(table.relation, version) -%}
    {%- set types = dbt_cdc._types_by_name(columns) -%}
    {%- set faults = dbt_cdc._rename_faults(table, version, types) if not dbt_cdc._formats()[table.format].tells_renames else [] -%}
    {%- if faults and alone and version == table.timeline.commits[-1].version -%}
        {#- renamed since the last commit: the table itself has these rows by their new names -#}
        {%- do return({'source': table.relation, 'image': dbt_cdc._image(table)}) -%}
    {%- endif -%}
    {%- do dbt_cdc._raise_faults(faults if not table.unchecked else []) -%}
    {#- spelled out only where it has to be: a statement may have it hundreds of times, for hundreds of columns -#}
    {%- set is_as_now = columns | map(attribute='name') | list == table.columns | map(attribute='name') | list
                        and types == dbt_cdc._types_by_name(table.columns) -%}
    {%- set image = 'struct(held.*)' if is_as_now else dbt_cdc._image(table, types, source, 'held') -%}
    {%- do return({'source': source ~ ' as held', 'image': image}) -%}
{%- endmacro -%}


{%- macro _rename_faults(table, version, types) -%}
    {#- A column that is gone and another of its type (any, where that is not known) that has come since count as one that was renamed. -#}
    {%- set now, faults = dbt_cdc._types_by_name(table.columns), [] -%}
    {%- for old, type in types.items() if old not in now and dbt_cdc._is_own_column(old, table.format) -%}
        {%- for new in now if new not in types and type in ['unknown', now[new]] -%}
            {%- do faults.append("changes of " ~ table.source ~ ": version " ~ version ~ " has a column " ~ old ~ " and no " ~ new
                ~ (' of the same type' if type != 'unknown' else '') ~ ", which counts as its new name, where images have the columns"
                ~ " that the table has now; " ~ dbt_cdc._later_range("after the renaming")) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _later_range(begin) -%}
    {#- What to do where changes can't be told as far back as they are asked for. -#}
    {%- do return("ask for a range that begins " ~ begin ~ " (a model that reads them by ref_changes: run it with --full-refresh; a"
                  ~ " change log: drop it, it begins anew)") -%}
{%- endmacro -%}


{%- macro _as_it_is_now(table, source, path, value, old, new) -%}
    {#- SQL for a column, or a field of one, that `source` has in the type `old` (none: not at all; void: nothing but NULL), in the
        type that the table has it now: structs field by field, of tables that are called `held`, as a struct could be called as they are.
        Spark's texts of long structs are not for casting: no cast where the types agree, and a null of such a type comes from
        the table. -#}
    {%- if old == new or (old == 'unknown' and 'more fields' in new) -%}{%- do return(value) -%}{%- endif -%}
    {%- set in_sql = dbt_cdc._type_text(new) if dbt_cdc._formats()[table.format].timestamp_ltz else new -%}
    {%- if old is none or old == 'void' -%}
        {%- do return('(select held.' ~ path ~ ' from ' ~ table.relation ~ ' as held where false)' if 'struct<' in new
                      else 'cast(null as ' ~ in_sql ~ ')') -%}
    {%- endif -%}
    {%- if old.startswith('struct<') and new.startswith('struct<') -%}
        {%- set types, fields = dbt_cdc._types_of(source ~ ' as held', 'held.' ~ path ~ '.*'), [] -%}
        {%- for field, type in dbt_cdc._types_as_spelled(table.relation ~ ' as held', 'held.' ~ path ~ '.*').items() -%}
            {%- set name = dbt_cdc._quote(field) -%}
            {%- do fields.append(dbt_cdc._as_it_is_now(
                table, source, path ~ '.' ~ name, value ~ '.' ~ name, types.get(field | lower), type) ~ ' as ' ~ name) -%}
        {%- endfor -%}
        {%- do return('if(' ~ value ~ ' is null, null, struct(' ~ fields | join(', ') ~ '))') -%}
    {%- endif -%}
    {%- if old == 'unknown' -%}{%- do return('cast(' ~ value ~ ' as ' ~ in_sql ~ ')') -%}{%- endif -%}
    {%- do return(dbt_cdc._recast(table, path, value, old, new)) -%}
{%- endmacro -%}


{%- macro _comparable(columns, image) -%}
    {#- An image as an expression that `<=>` and hashes take. -#}
    {%- set fields, plain = [], namespace(all=true) -%}
    {%- for column in columns -%}
        {%- set value = image ~ '.' ~ dbt_cdc._quote(column.name) -%}
        {%- do fields.append(dbt_cdc._comparable_value(value, column.dtype | lower)) -%}
        {%- set plain.all = plain.all and fields[-1] == value -%}
    {%- endfor -%}
    {%- do return(image if plain.all else 'if(' ~ image ~ ' is null, null, struct(' ~ fields | join(', ') ~ '))') -%}
{%- endmacro -%}


{%- macro _adjacent_versions(table, begin, end) -%}
    {#- Each commit of the range beside the one before it, as images: what a feed would give where none is kept. -#}
    {%- set commits, queries, held = table.timeline.commits, [], {} -%}
    {%- set is_untold = 0 <= begin < table.timeline.images_from -%}
    {%- if is_untold and not table.unchecked -%}
        {%- do dbt_cdc._raise_faults(["changes of " ~ table.source ~ " since " ~ dbt_cdc._commit_name(table, begin) ~ " can't be told:"
            ~ " its columns are others since, so that versions have to be compared, and the oldest that can still be read is "
            ~ dbt_cdc._commit_name(table, table.timeline.images_from) ~ "; " ~ dbt_cdc._later_range("there")]) -%}
    {%- endif -%}
    {%- set places = [] -%}
    {%- for place in range(begin + 1, end + 1) if not commits[place].quiet or place == 0 -%}{%- do places.append(place) -%}{%- endfor -%}
    {#- Spark reads no union of much more than 500 -#}
    {%- set kept = places[-500:] -%}
    {%- if table.unchecked and (is_untold or places | length > 500) -%}
        {%- do dbt_cdc._of_this_run().update(
            {'not counted': 'needs --full-refresh' if is_untold else 'changes of more than 500 commits'}) -%}
        {%- set kept = [] -%}
    {%- elif places | length > 500 and flags.WHICH != 'compile' -%}
        {%- do dbt_cdc._raise_faults(["changes of " ~ table.source ~ ": " ~ places | length ~ " commits have to be compared, each with the"
            ~ " one before it, expected 500 at most; have the table keep a change feed (Iceberg: write it copy-on-write), or ask more"
            ~ " often, and now " ~ dbt_cdc._later_range("at or after " ~ dbt_cdc._commit_name(table, places[-501]))]) -%}
    {%- endif -%}
    {%- for place in kept -%}
        {%- set before = commits[place - 1].version if place > 0 else none -%}
        {%- do queries.append(dbt_cdc._two_versions(table, before, commits[place], place, held)) -%}
    {%- endfor -%}
    {%- if not queries -%}
        {%- do queries.append(dbt_cdc._two_versions(table, commits[end].version, commits[end], end, held)) -%}
    {%- endif -%}
    {%- do return(queries | join('\n    union all\n    ')) -%}
{%- endmacro -%}


{%- macro _two_versions(table, before, commit, position, held={}) -%}
    {#- All rows of two versions as images of one change; `before` none: the table was not there yet. `held`: what has been
        described already, by version. -#}
    {%- set sides = [(commit.version, 'true')] + ([(before, 'false')] if before is not none else []) -%}
    {%- set queries = [] -%}
    {%- for version, is_after in sides -%}
        {%- if version not in held -%}
            {%- do held.update({version: dbt_cdc._rows_at_version(table, version, alone=before is none)}) -%}
        {%- endif -%}
        {%- do queries.append(
            'select ' ~ held[version].image ~ ' as image, ' ~ is_after ~ ' as is_after, cast(' ~ position ~ ' as bigint) as position, '
            ~ dbt_cdc._literal(commit.version) ~ ' as version, timestamp_micros(' ~ commit.micros ~ ') as ts'
            ~ ' from ' ~ held[version].source) -%}
    {%- endfor -%}
    {%- do return(queries | join('\n    union all\n    ')) -%}
{%- endmacro -%}

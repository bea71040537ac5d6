{#- `using … on …` of the MERGE that writes a snapshot's changes. `changes`: a query with the key (dbt_cdc_key_1 …), whether a
    row closes a record (dbt_cdc_closes), the dbt_scd_id of the record known to be open (dbt_cdc_scd_id) and, in the
    column named `new_scd_id`, that of the record to insert. -#}

{%- macro delta__snapshot_match(changes, shape, scd_id, new_scd_id) -%}
    {{ dbt_cdc._match_by_scd_id(changes, scd_id, new_scd_id) if dbt_cdc._char_keys(shape)
       else dbt_cdc.default__snapshot_match(changes, shape, scd_id, new_scd_id) }}
{%- endmacro -%}


{%- macro default__snapshot_match(changes, shape, scd_id, new_scd_id) -%}
    using (
        {{ changes }}
    ) as DBT_INTERNAL_SOURCE
    on {% for key in dbt_cdc._keys(shape.strategy) %}({{ key }}) = DBT_INTERNAL_SOURCE.dbt_cdc_key_{{ loop.index }} and {% endfor -%}
        {{ dbt_cdc._is_open('DBT_INTERNAL_DEST') }}
        and dbt_cdc_closes = (DBT_INTERNAL_DEST.{{ scd_id }} <=> dbt_cdc_scd_id)
{%- endmacro -%}


{%- macro hudi__snapshot_match(changes, shape, scd_id, new_scd_id) -%}
    {#- Hudi takes nothing but an equality of the table's record key with a column of the same name -#}
    {{ dbt_cdc._match_by_scd_id(changes, scd_id, new_scd_id) }}
{%- endmacro -%}


{%- macro _char_keys(shape) -%}
    {#- The char(n) columns that a key is made of, with their n: Delta plans no merge on one, while Spark pads such columns as it reads
        them. `describe table` calls them strings. -#}
    {%- set lengths = {} -%}
    {%- for name in dbt_cdc._text_keys(shape.strategy, shape.source_types) -%}
        {%- set described = run_query('describe extended ' ~ shape.target ~ ' ' ~ dbt_cdc._quote(name)) -%}
        {%- for row in described.rows if row[0] == 'data_type' and row[1].startswith('char(') -%}
            {%- do lengths.update({name: row[1][5:-1]}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(lengths) -%}
{%- endmacro -%}


{%- macro _match_by_scd_id(changes, scd_id, new_scd_id) -%}
    {#- Of two runs at once, what the other wrote is seen only where it is the same record. -#}
    using (
        select *, if(dbt_cdc_closes, dbt_cdc_scd_id, {{ new_scd_id }}) as {{ scd_id }}
        from (
        {{ changes }}
        )
    ) as DBT_INTERNAL_SOURCE
    on DBT_INTERNAL_DEST.{{ scd_id }} = DBT_INTERNAL_SOURCE.{{ scd_id }}
{%- endmacro -%}


{#- Properties that the table of a snapshot needs, whatever the snapshot. -#}
{%- macro default__snapshot_properties() -%}{%- do return({}) -%}{%- endmacro -%}


{%- macro hudi__snapshot_properties() -%}
    {#- Hudi keeps one row for a record key, and dbt-spark would make that the unique_key: no history could be kept -#}
    {%- do return({'primaryKey': dbt_cdc._dbt_columns().dbt_scd_id}) -%}
{%- endmacro -%}


{#- What is wrong with an existing table of a snapshot, or with the config of one that is yet to be made. -#}
{%- macro default__snapshot_table_faults(relation) -%}{%- do return([]) -%}{%- endmacro -%}
{%- macro default__new_snapshot_faults() -%}{%- do return([]) -%}{%- endmacro -%}


{%- macro hudi__snapshot_table_faults(relation) -%}
    {%- set own = dbt_cdc._hudi_properties(relation) -%}
    {%- do return(dbt_cdc._hudi_snapshot_faults(
        relation, own.get('hoodie.table.recordkey.fields'), own.get('hoodie.table.type'), own.get('hoodie.table.partition.fields'),
        'drop the table, and ')) -%}
{%- endmacro -%}


{%- macro hudi__new_snapshot_faults() -%}
    {%- set properties = config.get('tblproperties') or {} -%}
    {%- do return(dbt_cdc._hudi_snapshot_faults(
        this, properties.get('primaryKey', dbt_cdc._dbt_columns().dbt_scd_id), properties.get('type'),
        dbt_cdc._names_in(config.get('partition_by')) | join(','))) -%}
{%- endmacro -%}


{%- macro _hudi_snapshot_faults(table, key, type, partitions, remedy='') -%}
    {%- set faults, scd_id = [], dbt_cdc._dbt_columns().dbt_scd_id -%}
    {%- if key != scd_id -%}
        {%- do faults.append("the record key of " ~ table ~ " is " ~ (key or 'none') ~ ", expected " ~ scd_id ~ ": Hudi keeps one row for"
            ~ " each record key, so that it can hold no history; " ~ remedy ~ "leave `primaryKey` out of the snapshot's tblproperties") -%}
    {%- endif -%}
    {%- if type | lower in ['mor', 'merge_on_read'] -%}
        {%- do faults.append(table ~ " is merge-on-read, expected copy-on-write: Hudi's MERGE closes no record there; " ~ remedy
                             ~ "leave `type` out of the snapshot's tblproperties") -%}
    {%- endif -%}
    {%- if partitions -%}
        {%- do faults.append(table ~ " is partitioned by " ~ partitions ~ ", expected no partitions: Hudi's MERGE would look for the"
                             ~ " records, and write new ones, in another; " ~ remedy ~ "leave `partition_by` out of the snapshot") -%}
    {%- endif -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{#- What is wrong with new keys for the table's own columns. -#}
{%- macro default__new_key_faults(shape) -%}{%- do return([]) -%}{%- endmacro -%}


{%- macro delta__new_key_faults(shape) -%}
    {#- A source that has been char(n), too, and gives text now. -#}
    {%- set faults, keys = [], dbt_cdc._keys(shape.strategy) -%}
    {%- set numbered, other = dbt_cdc._numbered(keys), [] -%}
    {%- for key in keys -%}{%- do other.append('not (' ~ key ~ ' <=> ' ~ numbered[loop.index0] ~ ')') -%}{%- endfor -%}
    {%- for name, length in dbt_cdc._char_keys(shape).items() -%}
        {%- set value, columns = dbt_cdc._quote(name), [] -%}
        {%- set kept = 'if(length(' ~ value ~ ') < ' ~ length ~ ', rpad(' ~ value ~ ', ' ~ length ~ '), ' ~ value ~ ') as ' ~ value -%}
        {%- for column in shape.source_columns -%}
            {%- do columns.append(kept if column | lower == name else dbt_cdc._quote(column)) -%}
        {%- endfor -%}
        {#- by what the table will keep, other keys than these: trim(id) is none -#}
        {%- set short = run_query('select count(*) from (select ' ~ (columns + numbered) | join(', ') ~ ' from ' ~ shape.staging
            ~ " where dbt_cdc_kind = 'insert') as kept where " ~ other | join(' or '))[0][0] -%}
        {%- if short -%}
            {%- do faults.append("column '" ~ name ~ "' of " ~ shape.target ~ ", a part of unique_key, is char(" ~ length ~ "), and "
                ~ short ~ " new key(s) are shorter: the table would fill them up with spaces, and they would not be found again. Give"
                ~ " rpad(" ~ value ~ ", " ~ length ~ ") in the snapshot's query, or make the column a string and trim it by hand") -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}

{#- The tables that snapshots keep in a format: properties, and what is wrong with one. -#}

{#- Properties that the table of a snapshot needs, whatever the snapshot. -#}
{%- macro default__snapshot_properties() -%}{%- do return({}) -%}{%- endmacro -%}
{%- macro iceberg__snapshot_properties() -%}{%- do return(dbt_cdc.iceberg__isolation()) -%}{%- endmacro -%}


{%- macro hudi__snapshot_properties() -%}
    {#- Hudi keeps one row for a record key, and dbt-spark would make that the unique_key: no history could be kept -#}
    {%- do return({'primaryKey': dbt_cdc._dbt_columns().dbt_scd_id}) -%}
{%- endmacro -%}


{#- What is wrong with an existing table of a snapshot, or with the config of one that is yet to be made. -#}
{%- macro default__snapshot_table_faults(relation) -%}{%- do return([]) -%}{%- endmacro -%}
{%- macro default__new_snapshot_faults() -%}{%- do return([]) -%}{%- endmacro -%}


{%- macro iceberg__snapshot_table_faults(relation) -%}
    {%- do return(dbt_cdc.iceberg__merged_table_faults(relation)) -%}
{%- endmacro -%}


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

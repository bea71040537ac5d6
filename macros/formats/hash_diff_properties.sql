{#- What hash_diff asks of its tables: a change of few rows rewrites few rows. -#}
{%- macro delta__hash_diff_properties() -%}
    {%- do return({'delta.enableDeletionVectors': 'true'}) -%}
{%- endmacro -%}


{%- macro iceberg__hash_diff_properties() -%}
    {%- do return(dict(dbt_cdc._own_table_properties('iceberg'), **{
        'write.merge.mode': 'merge-on-read',
        'write.update.mode': 'merge-on-read',
        'write.delete.mode': 'merge-on-read',
        'write.distribution-mode': 'none',
    })) -%}
{%- endmacro -%}


{#- Of these, what is otherwise in its table of the current rows where that is partitioned: a load writes to many partitions, while
    the history is partitioned by the load. -#}

{%- macro default__partitioned_properties() -%}{%- do return({}) -%}{%- endmacro -%}


{%- macro iceberg__partitioned_properties() -%}{%- do return({'write.distribution-mode': 'hash'}) -%}{%- endmacro -%}

{#- What hash_diff asks of its tables: a change of few rows rewrites few rows. -#}
{%- macro delta__hash_diff_properties() -%}
    {%- do return({'delta.enableDeletionVectors': 'true'}) -%}
{%- endmacro -%}


{%- macro iceberg__hash_diff_properties() -%}
    {%- do return({
        'write.merge.isolation-level': 'serializable',
        'write.merge.mode': 'merge-on-read',
        'write.update.mode': 'merge-on-read',
        'write.delete.mode': 'merge-on-read',
        'write.distribution-mode': 'none',
    }) -%}
{%- endmacro -%}

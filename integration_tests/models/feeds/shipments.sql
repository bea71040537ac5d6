{{
    config(
        materialized='apply_changes',
        unique_key='id',
        meta={'dbt_cdc': {
            'sequence_by': '_sequence',
            'apply_as_deletes': "_op = 'd'",
            'except_column_list': ['_op', '_ts', '_sequence', '_columns'],
        }}
    )
}}

select *
from {{ dbt_cdc.from_debezium(
    ref('shipment_envelopes_today'),
    columns={'id': 'bigint', 'status': 'string', 'weight': 'decimal(10,2)'},
    encodings={'weight': 'base64'}
) }}

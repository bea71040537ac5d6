{{
    config(
        materialized='apply_changes',
        unique_key='id',
        meta={'dbt_cdc': {
            'sequence_by': '_sequence',
            'stored_as_scd_type': 2,
            'apply_as_deletes': "_op = 'd'",
            'except_column_list': ['_op', '_ts', '_sequence'],
        }}
    )
}}

select * from {{ dbt_cdc.from_dms(ref('parcel_changes_today'), sequence='change_seq') }}

-- SCD 1: one row per employee, whatever the order in which the events arrive.
{{
    config(
        materialized='apply_changes',
        unique_key='id',
        meta={'dbt_cdc': {
            'sequence_by': 'sequence_number',
            'apply_as_deletes': "operation = 'DELETE'",
            'except_column_list': ['operation', 'sequence_number'],
            'change_log': 'data_before_after',
        }}
    )
}}

select id, name, role, country, operation, sequence_number
from {{ ref('employee_events') }}
where day = {{ var('day') }}

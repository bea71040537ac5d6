-- SCD 2: every version of every employee, from one sequence number to the next.
{{
    config(
        materialized='apply_changes',
        unique_key='id',
        meta={'dbt_cdc': {
            'sequence_by': 'sequence_number',
            'stored_as_scd_type': 2,
            'apply_as_deletes': "operation = 'DELETE'",
            'except_column_list': ['operation', 'sequence_number'],
        }}
    )
}}

select id, name, role, country, operation, sequence_number
from {{ ref('employee_events') }}
where day = {{ var('day') }}

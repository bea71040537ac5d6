-- What Debezium delivered today, tombstones included.
-- (dbt-spark's session method loads an empty cell of a seed as the text None.)
select nullif(value, 'None') as value
from {{ ref('shipment_envelopes') }}
where day = {{ var('day') }}

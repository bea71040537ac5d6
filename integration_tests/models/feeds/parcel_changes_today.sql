-- What DMS wrote today: on day 1 the full load, then changes.
-- (dbt-spark's session method loads an empty cell of a seed as the text None.)
select nullif(Op, 'None') as Op, id, city, nullif(change_seq, 'None') as change_seq
from {{ ref('parcel_changes') }}
where day = {{ var('day') }}

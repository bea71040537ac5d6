-- The source system's customer table as it stands on the day `var('day')`: the full extract of that day.
with versions as (

    select 1 as day, 'insert' as change, customer_id, name, city, segment, credit_limit, updated_at
    from {{ ref('customers') }}

    union all

    select day, change, customer_id, name, city, segment, credit_limit, updated_at
    from {{ ref('customer_changes') }}
    where day <= {{ var('day') }}

),

latest as (

    select
        *,
        row_number() over (partition by customer_id order by day desc) as age
    from versions

)

select customer_id, name, city, segment, credit_limit, updated_at
from latest
where age = 1 and change != 'delete'

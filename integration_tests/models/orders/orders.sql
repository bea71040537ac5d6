-- The input: each day's orders, stamped as they land.
{{ config(materialized='incremental', incremental_strategy='append') }}

select order_id, customer_id, product_id, quantity, current_timestamp() as cdc_datetime_updated
from {{ ref('order_feed') }}
where day = {{ var('day') }}

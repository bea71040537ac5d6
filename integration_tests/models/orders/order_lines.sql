-- A transformation: only the orders that it has not seen yet, with all products (a static input).
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='order_id') }}

select
    orders.order_id,
    orders.customer_id,
    products.product,
    orders.quantity * products.price as amount,
    current_timestamp() as cdc_datetime_updated
from {{ dbt_cdc.ref_changes('orders') }} as orders
inner join {{ ref('products') }} as products on products.product_id = orders.product_id

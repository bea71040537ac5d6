-- The merged result: again only what changed upstream.
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='order_id') }}

select order_id, customer_id, cast(floor(amount) as bigint) as points
from {{ dbt_cdc.ref_changes('order_lines') }} as order_lines

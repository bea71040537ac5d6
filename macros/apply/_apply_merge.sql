{#- From the ledger to {{ this }}: what has to change there, then one MERGE. -#}
{%- macro _apply_changes_query(plan, batches) -%}
{#- The rows by which the target differs from the ledger: _dbt_cdc_operation (insert, update, delete) and the target's columns, of the
    keys that `batches` touched (none: of all). -#}
{%- set identity = dbt_cdc._apply_identity(plan) -%}
{%- set others = dbt_cdc._apply_target_columns(plan) | reject('in', identity) | list -%}
{%- set first = dbt_cdc._quote(plan.key[0]) -%}
with {{ dbt_cdc._apply_version_steps(plan, batches) }},

present as (
    select target.*
    from {{ plan.target }} as target
    {%- if batches is not none %}
    left semi join touched_keys on {{ dbt_cdc._same(plan.key, 'target', 'touched_keys') }}
    {%- endif %}
    {%- if plan.bounds %}
    where {{ dbt_cdc._apply_range(plan.bounds, 'target') }}
    {%- endif %}
)

select
    case when versions.{{ first }} is null then 'delete' when present.{{ first }} is null then 'insert' else 'update' end
        as _dbt_cdc_operation
{%- for name in dbt_cdc._quoted_list(identity) %},
    coalesce(versions.{{ name }}, present.{{ name }}) as {{ name }}
{%- endfor %}
{%- for name in dbt_cdc._quoted_list(others) %},
    versions.{{ name }}
{%- endfor %}
from versions
full outer join present on {{ dbt_cdc._same(identity, 'versions', 'present') }}
where
    versions.{{ first }} is null
    or present.{{ first }} is null
{%- for column in plan.payload %}
    {%- set name = dbt_cdc._quote(column.name) %}
    or not (
        {{- dbt_cdc._comparable_value('versions.' ~ name, column.type) }}
        <=> {{ dbt_cdc._comparable_value('present.' ~ name, column.type) }})
{%- endfor %}
{%- for end in dbt_cdc._quoted_list(plan.intervals | map(attribute='end')) %}
    or not (versions.{{ end }} <=> present.{{ end }})
{%- endfor %}
{%- endmacro -%}


{%- macro _apply_merge_query(plan, bounds) -%}
{#- `bounds`: of the keys in plan.changes, which may be wider than those of the batch, plan.bounds. -#}
{%- set identity = dbt_cdc._apply_identity(plan) -%}
{%- set columns = dbt_cdc._apply_target_columns(plan) -%}
{%- set others = dbt_cdc._quoted_list(columns | reject('in', identity) | list) -%}
merge into {{ plan.target }} as target
using {{ plan.changes }} as change
on {{ dbt_cdc._same(identity, 'target', 'change') }}
{%- if bounds %} and {{ dbt_cdc._apply_range(bounds, 'target') }}{% endif %}
when matched and change._dbt_cdc_operation = 'delete' then delete
{%- if others %}
when matched then update set
{%- for name in others %}
    target.{{ name }} = change.{{ name }}{{ ',' if not loop.last }}
{%- endfor %}
{%- endif %}
when not matched and change._dbt_cdc_operation <> 'delete' then insert ({{ dbt_cdc._quoted_list(columns) | join(', ') }})
    values ({{ dbt_cdc._quoted_list(columns, 'change') | join(', ') }})
{%- endmacro -%}

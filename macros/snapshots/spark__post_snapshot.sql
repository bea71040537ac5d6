{#- dbt-spark's own, then the kept changes go, and dbt's log line gets the counts. -#}
{%- macro spark__post_snapshot(staging_relation) -%}
    {%- do dbt.spark__post_snapshot(staging_relation) -%}
    {#- `returning` reads `changes`: it can't be found any more once that is gone -#}
    {%- for kind in ['returning', 'changes'] -%}
        {%- set kept = dbt_cdc._staging_relation(this, kind) -%}
        {%- do run_query('uncache table if exists ' ~ kept) -%}
        {%- do run_query('drop view if exists ' ~ kept) -%}
    {%- endfor -%}
    {%- set changes = dbt_cdc._remembered_changes() -%}
    {%- do store_raw_result(
        name='main', code='OK', rows_affected=changes.values() | sum,
        message='OK (' ~ changes['insert'] ~ ' new, ' ~ changes['update'] ~ ' changed, ' ~ changes['delete'] ~ ' deleted)') -%}
{%- endmacro -%}

{#- dbt-spark's own, then the kept changes go, and dbt's log line gets the counts. -#}
{%- macro spark__post_snapshot(staging_relation) -%}
    {%- do dbt.spark__post_snapshot(staging_relation) -%}
    {%- do dbt_cdc._forget_changes() -%}
    {%- set changes = dbt_cdc._remembered_changes() -%}
    {%- do store_raw_result(
        name='main', code='OK', rows_affected=changes.values() | sum,
        message='OK (' ~ changes['insert'] ~ ' new, ' ~ changes['update'] ~ ' changed, ' ~ changes['delete'] ~ ' deleted)') -%}
{%- endmacro -%}

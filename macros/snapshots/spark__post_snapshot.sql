{#- dbt-spark's own, then the kept changes go, and dbt's log line gets the counts. -#}
{%- macro spark__post_snapshot(staging_relation) -%}
    {%- do dbt.spark__post_snapshot(staging_relation) -%}
    {%- do dbt_cdc._forget_changes() -%}
    {%- set changes = dbt_cdc._remembered_changes() -%}
    {%- do dbt_cdc._tell_outcome(
        'OK (' ~ changes['insert'] ~ ' new, ' ~ changes['update'] ~ ' changed, ' ~ changes['delete'] ~ ' deleted)',
        {'I': changes['insert'], 'U': changes['update'], 'D': changes['delete']}) -%}
{%- endmacro -%}

{#- The package's one on-run-start hook: each capability that needs something before the first node runs adds a line.
    None of them does anything unless a node of the project has switched its capability on. -#}
{%- macro _on_run_start() -%}
    {%- if execute -%}
        {%- do dbt_cdc._check_python_part() -%}
        {%- do dbt_cdc._require_snapshot_dispatch() -%}
        {%- do dbt_cdc._check_change_logs() -%}
        {%- do dbt_cdc._create_metadata() -%}
    {%- endif -%}
{%- endmacro -%}

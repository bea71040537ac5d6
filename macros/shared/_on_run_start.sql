{#- The package's one on-run-start hook: each capability that needs something before the first node runs adds a line.
    None of them does anything unless a node of the project has switched its capability on (but that pyspark's own log is kept off
    the screen). -#}
{%- macro _on_run_start() -%}
    {%- if execute -%}
        {%- do dbt_cdc._check_python_part() -%}
        {%- if adapter.dbt_cdc_quiet is defined -%}{%- do adapter.dbt_cdc_quiet() -%}{%- endif -%}
        {%- do dbt_cdc._require_snapshot_dispatch() -%}
        {%- do dbt_cdc._check_change_logs() -%}
        {%- do dbt_cdc._create_metadata() -%}
    {%- endif -%}
{%- endmacro -%}

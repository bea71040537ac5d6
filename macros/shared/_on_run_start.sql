{#- The package's one on-run-start hook: each capability that needs something before the first node runs adds a line.
    Apart from keeping pyspark's own log off the screen, none does anything unless a node has switched its capability on. -#}
{%- macro _on_run_start() -%}
    {%- if execute -%}
        {%- do dbt_cdc._check_python_part() -%}
        {%- if adapter.dbt_cdc_quiet is defined -%}{%- do adapter.dbt_cdc_quiet() -%}{%- endif -%}
        {%- do dbt_cdc._raise_run_faults(dbt_cdc._var_faults()) -%}
        {%- do dbt_cdc._check_session() -%}
        {%- do dbt_cdc._require_snapshot_dispatch() -%}
        {%- do dbt_cdc._check_plain_nodes() -%}
        {%- do dbt_cdc._create_metadata() -%}
    {%- endif -%}
{%- endmacro -%}

{#- The package's one on-run-start hook: each capability that needs something before the first node runs adds a line.
    Apart from keeping pyspark's own log off the screen, none does anything unless a node has switched its capability on. -#}
{%- macro _on_run_start() -%}
    {%- if execute -%}
        {%- if adapter.dbt_cdc_quiet is defined -%}{%- do adapter.dbt_cdc_quiet() -%}{%- endif -%}
        {%- set plain, readers = dbt_cdc._plain_nodes_with_options(), dbt_cdc._selected_readers() -%}
        {%- do dbt_cdc._raise_run_faults(
            dbt_cdc._python_part_faults() + dbt_cdc._var_faults() + dbt_cdc._session_faults() + dbt_cdc._dispatch_faults()
            + dbt_cdc._plain_node_faults(plain) + dbt_cdc._column_option_faults() + dbt_cdc._microbatch_faults(readers)) -%}
        {%- do dbt_cdc._warn_of_unread_options(plain) -%}
        {%- do dbt_cdc._create_metadata(readers) -%}
    {%- endif -%}
{%- endmacro -%}

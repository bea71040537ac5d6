{#- The package's one on-run-start hook, to which each capability adds a line. First come the checks: wrong vars of the package
    stop any run, all else a run of nodes that use it. Then cdc_metadata is made, if a node reads by ref_changes. -#}
{%- macro _on_run_start() -%}
    {%- if execute and not dbt_cdc._on_spark() -%}{%- do dbt_cdc._raise_run_faults(dbt_cdc._adapter_faults()) -%}
    {%- elif execute -%}
        {%- set users = dbt_cdc._nodes_using_package() -%}
        {%- if adapter.dbt_cdc_quiet is defined and users -%}{%- do adapter.dbt_cdc_quiet() -%}{%- endif -%}
        {%- set plain, readers = dbt_cdc._plain_nodes_with_options(), dbt_cdc._selected_readers() -%}
        {%- do dbt_cdc._raise_run_faults(
            dbt_cdc._python_part_faults() + dbt_cdc._var_faults(readers) + dbt_cdc._session_faults(users) + dbt_cdc._dispatch_faults()
            + dbt_cdc._kept_name_faults() + dbt_cdc._metadata_name_faults(readers) + dbt_cdc._misplaced_option_faults()
            + dbt_cdc._plain_node_faults(plain) + dbt_cdc._column_option_faults() + dbt_cdc._microbatch_faults(readers)) -%}
        {%- do dbt_cdc._warn_of_unread_options(plain) -%}
        {%- do dbt_cdc._create_metadata(readers) -%}
    {%- endif -%}
{%- endmacro -%}

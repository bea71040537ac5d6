{%- macro _report_outcome(message, operations) -%}
    {#- What a SQL node did, for dbt's log line and run_results.json: rows by operation (I, U, D) have a place of their own
        there only with the package's Python side, without which dbt keeps the message and their sum. -#}
    {%- if adapter.dbt_cdc_response is defined -%}
        {%- do store_result('main', response=adapter.dbt_cdc_response(message, operations)) -%}
    {%- else -%}
        {%- do store_raw_result(name='main', message=message, code='OK', rows_affected=operations.values() | sum) -%}
    {%- endif -%}
{%- endmacro -%}

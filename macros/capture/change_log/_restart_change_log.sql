{#- A log whose table is built anew. From that moment on it is invalid: should the run be killed before it has written a new
    one, a property tells the next. -#}

{%- macro _restart_change_log(relation) -%}
    {#- The statement that notes it, or none where there is no log. -#}
    {%- if dbt_cdc._meta().get('change_log') is none -%}{%- do return(none) -%}{%- endif -%}
    {%- set log = dbt_cdc._load_relation(dbt_cdc._companion(relation, 'changes')) -%}
    {%- do return(dbt_cdc._restarts_statement(log, true) if log is not none else none) -%}
{%- endmacro -%}


{%- macro _restarts_statement(log, restarts) -%}
    {%- do return(dbt_cdc._properties_statement(log, {'dbt_cdc.restarts': restarts | string | lower})) -%}
{%- endmacro -%}

{%- macro drop_operational_metadata(snapshot) -%}
    {#- Takes the operational columns out of a snapshot's table, so that it can be given back to stock dbt-spark, whose
        merge wants the columns of its own and no others. A second time changes nothing. -#}
    {%- do dbt_cdc._set_snapshot_context('drop_operational_metadata', snapshot) -%}
    {%- set target = dbt_cdc._load_relation(context['this']) -%}
    {%- set existing = dbt_cdc._types_by_name(adapter.get_columns_in_relation(target)) if target is not none else {} -%}
    {%- set faults = dbt_cdc._operational_var_faults() -%}
    {%- if dbt_cdc._snapshot_settings().operational_metadata -%}
        {%- do faults.append("the snapshot still asks for the columns: remove meta.dbt_cdc.operational_metadata first") -%}
    {%- endif -%}
    {%- if target is none -%}
        {%- do faults.append(context['this'] ~ " does not exist; there is nothing to drop") -%}
    {%- elif not faults -%}
        {%- do faults.extend(dbt_cdc._partly_operational_faults(target, existing)) -%}
    {%- endif -%}
    {%- do dbt_cdc._raise_faults(faults) -%}
    {%- set columns = [] -%}
    {%- for name in dbt_cdc._operational_columns().values() if name | lower in existing -%}
        {%- do columns.append(dbt_cdc._quote(name)) -%}
    {%- endfor -%}
    {%- if columns -%}
        {%- for statement in dbt_cdc._for_format('drop_columns', dbt_cdc._format_of(target))(target, columns) -%}
            {%- do run_query(statement) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- do log('dbt_cdc: ' ~ target ~ ' has no operational columns', info=true) -%}
{%- endmacro -%}

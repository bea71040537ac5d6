{#- A row of cdc_metadata, as what an insert gives. -#}

{%- macro _edge_values(edge) -%}
    {#- In the order of _metadata_columns. Each is of its column's type, as Iceberg under spark.sql.storeAssignmentPolicy=STRICT asks. -#}
    {%- set texts = [] -%}
    {%- for name in ['column', 'type', 'watermark'] -%}
        {%- do texts.append('cast(' ~ dbt_cdc._literal(edge.get(name)) ~ ' as string)') -%}
    {%- endfor -%}
    {%- do return([dbt_cdc._literal(edge.source), dbt_cdc._literal(edge.destination), dbt_cdc._edge_time(edge),
                   dbt_cdc._literal(edge.by)] + texts
                  + [edge.sequence ~ 'L', 'current_timestamp()', dbt_cdc._literal(invocation_id)]) -%}
{%- endmacro -%}


{%- macro _edge_time(edge) -%}
    {#- cdc_datetime_updated: the watermark as a time, where it is one. -#}
    {%- if edge.get('time') -%}{%- do return('timestamp_micros(' ~ edge.time ~ ')') -%}{%- endif -%}
    {%- if edge.get('watermark') is none or edge.get('type') not in ['timestamp', 'timestamp_ntz', 'date'] -%}
        {%- do return('cast(null as timestamp_ltz)') -%}
    {%- endif -%}
    {%- do return('cast(' ~ dbt_cdc._watermark_value(edge.watermark, edge.type) ~ ' as timestamp_ltz)') -%}
{%- endmacro -%}

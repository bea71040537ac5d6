{#- dbt-spark's own, and for the table of a new snapshot what its format asks of it. -#}
{%- macro spark__tblproperties_clause() -%}
    {%- set needed = dbt_cdc._properties_of_snapshot() if execute and model.resource_type == 'snapshot' else {} -%}
    {%- if not needed -%}{%- do return(dbt.spark__tblproperties_clause()) -%}{%- endif -%}
    {%- set properties = {} -%}
    {%- do properties.update(needed) -%}
    {%- do properties.update(config.get('tblproperties') or {}) -%}
    tblproperties ({{ dbt_cdc._property_list(properties) }})
{%- endmacro -%}


{%- macro _properties_of_snapshot() -%}
    {%- set format = dbt_cdc._formats().get(config.get('file_format')) -%}
    {%- if not format -%}{%- do return({}) -%}{%- endif -%}
    {%- set properties = dbt_cdc._for_format('snapshot_properties', config.get('file_format'))() -%}
    {%- if format.column_names -%}
        {%- set names, types = dbt_cdc._operational_columns().values() | list, [] -%}
        {%- for column in run_query('describe query select * from (\n' ~ model.compiled_code ~ '\n) as source_rows') -%}
            {%- do names.append(column[0]) -%}
            {%- do types.append(column[1]) -%}
        {%- endfor -%}
        {%- do properties.update(dbt_cdc._properties_of_names(names, config.get('file_format'), types)) -%}
    {%- endif -%}
    {%- do return(properties) -%}
{%- endmacro -%}

{#- The adapter's own, and for the table of a new snapshot what its format asks of it. -#}
{%- macro spark__tblproperties_clause() -%}
    {%- set needed = dbt_cdc._properties_of_snapshot() if execute and model.resource_type == 'snapshot' and dbt_cdc._on_spark() else {} -%}
    {%- if not needed -%}{%- do return(dbt_cdc._stock('tblproperties_clause')()) -%}{%- endif -%}
    {%- set properties = dict(needed, **(config.get('tblproperties') or {})) -%}
    {#- set by default__apply_grants, once the table is made: `model` is what the macros of one run of a snapshot share -#}
    {%- do model.update(_dbt_cdc_later=dbt_cdc._later_properties(properties, config.get('file_format'))) -%}
    tblproperties ({{ dbt_cdc._property_list(properties) }})
{%- endmacro -%}


{%- macro _properties_of_snapshot() -%}
    {%- set format = dbt_cdc._formats().get(config.get('file_format')) -%}
    {%- if not format -%}{%- do return({}) -%}{%- endif -%}
    {%- set properties = dbt_cdc._for_format('snapshot_properties', config.get('file_format'))() -%}
    {%- if format.column_names -%}
        {%- set columns = dbt_cdc._columns_of_source(model.compiled_code) -%}
        {%- set names = columns | map(attribute='name') | list -%}
        {%- if dbt_cdc._snapshot_settings().operational_metadata -%}
            {%- do names.extend(dbt_cdc._operational_columns().values()) -%}
        {%- endif -%}
        {%- do properties.update(dbt_cdc._properties_of_names(names, config.get('file_format'), columns | map(attribute='dtype'))) -%}
    {%- endif -%}
    {%- do return(properties) -%}
{%- endmacro -%}

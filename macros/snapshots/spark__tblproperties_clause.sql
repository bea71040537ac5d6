{#- dbt-spark's own, and for the table of a new snapshot the properties without which its format would refuse names such
    as `a b` or `a.b`; only where the source has such a name, as they limit who can read the table. -#}
{%- macro spark__tblproperties_clause() -%}
    {%- set needed = dbt_cdc._name_properties() if execute and model.resource_type == 'snapshot' else {} -%}
    {%- if not needed -%}{%- do return(dbt.spark__tblproperties_clause()) -%}{%- endif -%}
    {%- set properties = {} -%}
    {%- do properties.update(needed) -%}
    {%- do properties.update(config.get('tblproperties') or {}) -%}
    tblproperties (
        {%- for name, value in properties.items() %}
        {{ dbt_cdc._literal(name) }} = {{ dbt_cdc._literal(value) }}{{ ',' if not loop.last }}
        {%- endfor %}
    )
{%- endmacro -%}


{%- macro _name_properties() -%}
    {%- set properties = dbt_cdc._formats().get(config.get('file_format'), {}).get('column_names') -%}
    {%- if not properties -%}{%- do return({}) -%}{%- endif -%}
    {%- for name in get_columns_in_query(model.compiled_code) if modules.re.search('[ ,;{}()\n\t=]', name) -%}
        {%- do return(properties) -%}
    {%- endfor -%}
    {%- do return({}) -%}
{%- endmacro -%}

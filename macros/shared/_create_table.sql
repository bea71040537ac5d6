{#- How a table is made of a query: one of a run, a ledger, a target, a log. -#}

{%- macro _create_as(relation, query, using, properties, clauses='', replace=false) -%}
    {%- set sql -%}
create {{ 'or replace ' if replace }}table {{ relation }}
using {{ using }}
    {%- if properties %}
tblproperties ({{ dbt_cdc._property_list(properties) }})
    {%- endif %}
    {%- if clauses %}
{{ clauses }}
    {%- endif %}
as
{{ query }}
    {%- endset -%}
    {%- do return(sql) -%}
{%- endmacro -%}


{%- macro _shared_properties() -%}
    {#- What all tables of a node have of its `tblproperties`. -#}
    {%- set properties = {} -%}
    {%- for name, value in (config.get('tblproperties') or {}).items()
        if name in dbt_cdc._formats()[dbt_cdc._file_format()].shared_properties -%}
        {%- do properties.update({name: value}) -%}
    {%- endfor -%}
    {%- do return(properties) -%}
{%- endmacro -%}

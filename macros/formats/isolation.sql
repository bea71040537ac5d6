{#- Two runs that insert one key at the same time: one of them is to fail. -#}

{#- Table properties by which a MERGE does so, whatever a catalog gives its tables. -#}
{%- macro default__isolation() -%}{%- do return({}) -%}{%- endmacro -%}


{%- macro iceberg__isolation() -%}{%- do return({'write.merge.isolation-level': 'serializable'}) -%}{%- endmacro -%}


{%- macro _isolation_faults(table=none, properties=none) -%}
    {#- Under another level Iceberg does not look whether rows came that a merge would have met. Of an existing table and its
        properties, or of the config. -#}
    {%- set given = (model.config.get('tblproperties') or {}) if table is none else properties -%}
    {%- for name, expected in dbt_cdc.iceberg__isolation().items() if (given.get(name) or expected) | lower != expected -%}
        {%- do return([(table or 'tblproperties') ~ ": '" ~ name ~ "' must be " ~ expected ~ " (Iceberg's default), got "
                       ~ dbt_cdc._value_text(given[name]) ~ ", under which two runs at the same time may insert the same key: "
                       ~ ('take it out' if table is none else 'unset it')]) -%}
    {%- endfor -%}
    {%- do return([]) -%}
{%- endmacro -%}


{#- Of a table that exists and that dbt's own merge writes to. -#}
{%- macro default__merged_table_faults(relation) -%}{%- do return([]) -%}{%- endmacro -%}


{%- macro iceberg__merged_table_faults(relation) -%}
    {%- do return(dbt_cdc._isolation_faults(relation, dbt_cdc._table_properties(relation))) -%}
{%- endmacro -%}

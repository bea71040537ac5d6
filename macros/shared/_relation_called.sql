{%- macro _relation_called(name, limit=none) -%}
    {#- A relation out of `schema.table`, where the schema may be in a catalog: `catalog.database.table`. -#}
    {%- set parts = name.replace('`', '').split('.') -%}
    {%- do return(api.Relation.create(schema=parts[:-1] | join('.'), identifier=parts[-1], limit=limit)) -%}
{%- endmacro -%}

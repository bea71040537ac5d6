{%- macro _relation_called(name) -%}
    {#- A relation out of `schema.table`, where the schema may be in a catalog: `catalog.database.table`. What needs quotes gets
        them, whether it comes with them or without. -#}
    {%- set parts = [] -%}
    {%- for part in modules.re.findall('`[^`]+`|[^.`]+', name) -%}{%- do parts.append(dbt_cdc._unquoted(part)) -%}{%- endfor -%}
    {%- set plain, schemas = '[A-Za-z_][A-Za-z0-9_]*', [] -%}
    {%- for part in parts[:-1] -%}
        {#- dbt-spark takes a catalog for a part of the schema's name, and would quote both as one -#}
        {%- do schemas.append(dbt_cdc._quote(part) if parts | length > 2 and not modules.re.fullmatch(plain, part) else part) -%}
    {%- endfor -%}
    {%- set schema, identifier = schemas | join('.'), parts[-1] -%}
    {%- set quoted = {
        'database': false,
        'schema': parts | length == 2 and not modules.re.fullmatch(plain, schema),
        'identifier': not modules.re.fullmatch(plain, identifier),
    } -%}
    {%- do return(api.Relation.create(schema=schema, identifier=identifier, quote_policy=quoted)) -%}
{%- endmacro -%}

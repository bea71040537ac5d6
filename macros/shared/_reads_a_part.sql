{%- macro _reads_a_part() -%}
    {#- `--empty` and `--sample` show a model less than there is. -#}
    {%- do return(flags.EMPTY or invocation_args_dict.get('sample') is not none) -%}
{%- endmacro -%}


{%- macro _is_given_by_test(relation) -%}
    {#- Whether a unit test gives the rows that the model asks for. -#}
    {%- do return(execute and relation.is_cte and (model | default({})).resource_type == 'unit_test') -%}
{%- endmacro -%}


{%- macro _whole_relation(relation) -%}
    {#- Under them dbt's relation is a query of a part of the table, of which nothing can be asked. -#}
    {%- do return(api.Relation.create(
        schema=relation.schema, identifier=relation.identifier, quote_policy=dbt_cdc._quotes_of(relation))) -%}
{%- endmacro -%}

{#- Columns whose type in the batch is not the table's. -#}
{%- macro _apply_casts(plan, known) -%}
    {#- Columns that the batch has in another type than the table: name -> the table's type. A value that would not come
        back the same is a fault, so that an event reads the same in every batch. -#}
    {%- set own, casts = dbt_cdc._types_by_name(known), {} -%}
    {%- for name, type in plan.types.items() if dbt_cdc._apply_nesting(own.get(name, type)) != dbt_cdc._apply_nesting(type) -%}
        {%- do plan.faults.append("column '" ~ name ~ "': the table has type " ~ own[name] ~ ", the batch " ~ type
                                  ~ ": cast it in the model, or run with --full-refresh") -%}
    {%- endfor -%}
    {%- for name, type in plan.types.items() if own.get(name, type) != type and '<' not in own[name] ~ type -%}
        {%- do casts.update({name: own[name]}) -%}
    {%- endfor -%}
    {%- do return(casts) -%}
{%- endmacro -%}


{%- macro _apply_nesting(type) -%}
    {#- What must be alike in two nested types: their shape and names, whatever the numbers in them. Empty for others, and
        for structs so long that Spark cuts the text. -#}
    {%- if '<' not in type or 'more fields' in type -%}{%- do return('') -%}{%- endif -%}
    {%- do return(modules.re.sub('\\b(tinyint|smallint|int|bigint|float|double|decimal[(][0-9,]+[)])', 'number', type | lower)) -%}
{%- endmacro -%}


{%- macro _apply_type_of(plan, name) -%}
    {#- The type of a column of the batch in the table. -#}
    {%- do return(plan.casts.get(name | lower) or plan.types[name | lower]) -%}
{%- endmacro -%}

{#- Columns whose type in the batch is not the table's. -#}
{%- macro _apply_casts(plan, own) -%}
    {#- Columns that the batch has in another type than the table (`own`: types by name): name -> the table's type. A value
        that would not come back the same is a fault, so that an event reads the same in every batch. -#}
    {%- set casts, unlike = {}, {} -%}
    {%- for name in plan.key + (plan.payload | map(attribute='source') | select | list) -%}
        {%- set name = name | lower -%}
        {%- set type, own_type = plan.types[name], own.get(name, plan.types[name]) -%}
        {%- if not dbt_cdc._apply_is_cast(type, own_type) -%}
            {%- do unlike.update({name: own_type}) -%}
        {%- elif type != own_type -%}
            {%- do casts.update({name: own_type}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set setting = plan.columns_to_update | default('', true) | lower -%}
    {%- set is_unlike = plan.types.get(setting, 'array<string>') != 'array<string>' -%}
    {%- do plan.update(nulls=dbt_cdc._apply_null_columns(plan.stage, unlike.keys() | list + ([setting] if is_unlike else []))) -%}
    {%- for name, own_type in unlike.items() -%}
        {%- if name in plan.nulls -%}
            {%- do casts.update({name: own_type}) -%}
        {%- else -%}
            {%- do plan.faults.append("column '" ~ name ~ "': the table has type " ~ own_type ~ ", the batch " ~ plan.types[name]
                                      ~ ": cast it in the model, or " ~ dbt_cdc._apply_anew()) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(casts) -%}
{%- endmacro -%}


{%- macro _apply_null_columns(relation, names) -%}
    {#- Those that are NULL throughout, which a table takes whatever their type. -#}
    {%- if not names -%}{%- do return([]) -%}{%- endif -%}
    {%- set nulls = [] -%}
    {%- set row = run_query('select count(' ~ dbt_cdc._quoted_list(names) | join('), count(') ~ ') from ' ~ relation)[0] -%}
    {%- for name in names -%}
        {%- if not row[loop.index0] -%}{%- do nulls.append(name) -%}{%- endif -%}
    {%- endfor -%}
    {%- do return(nulls) -%}
{%- endmacro -%}


{%- macro _apply_is_cast(type, own) -%}
    {#- Whether values of one type are ever those of the other: a number is no date, whatever Spark would make of it, and
        what is nested is not looked at value by value: its numbers may be narrower than the table's. -#}
    {%- do return(dbt_cdc._widens_inside(type, own) if '<' in type ~ own else dbt_cdc._are_of_one_kind(type, own)) -%}
{%- endmacro -%}


{%- macro _apply_type_of(plan, name) -%}
    {#- The type of a column of the batch in the table. -#}
    {%- do return(plan.casts.get(name | lower) or plan.types[name | lower]) -%}
{%- endmacro -%}

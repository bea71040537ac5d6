{#- Columns whose type in the batch is not the table's. -#}
{%- macro _apply_casts(plan, own) -%}
    {#- Columns that the batch has in another type than the table (`own`: types by name): name -> the table's type. A value
        that would not come back the same is a fault, so that an event reads the same in every batch. -#}
    {%- set casts, unlike, harms = {}, {}, {} -%}
    {%- for name in plan.key + (plan.payload | map(attribute='source') | select | list) -%}
        {%- set is_key, name = loop.index0 < plan.key | length, name | lower -%}
        {%- set type, own_type = plan.types[name], own.get(name, plan.types[name]) -%}
        {%- if type != own_type -%}
            {%- do harms.update({name: dbt_cdc._apply_harm_of_cast(type, own_type, is_key)}) -%}
            {%- do (casts if harms[name] is none else unlike).update({name: own_type}) -%}
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
                                      ~ harms[name] ~ dbt_cdc._apply_cast_remedy(plan.types[name], own_type)
                                      ~ ", or " ~ dbt_cdc._apply_anew()) -%}
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


{%- macro _apply_harm_of_cast(type, own, is_key) -%}
    {#- Why values of one type are not taken for those of the other ('' where that is plain), or none: a number is no date, whatever
        Spark would make of it, and what is nested is not looked at value by value: its numbers may be narrower than the table's. -#}
    {%- if '<' in type ~ own -%}{%- do return(none if dbt_cdc._widens_inside(type, own) else '') -%}{%- endif -%}
    {%- if 'variant' in [type, own] or not dbt_cdc._are_of_one_kind(type, own) -%}{%- do return('') -%}{%- endif -%}
    {%- set families = [dbt_cdc._family_of_type(own), dbt_cdc._family_of_type(type)] -%}
    {#- 7 would be written as '7' beside '007' -#}
    {%- if is_key and families[0] == 'text' != families[1] -%}{%- do return(', by which its keys would be others') -%}{%- endif -%}
    {%- if dbt_cdc._shifts(own, type) or dbt_cdc._shifts(type, own) -%}
        {%- do return(", which the session's time zone would shift") -%}
    {%- endif -%}
    {%- do return(none) -%}
{%- endmacro -%}


{%- macro _apply_cast_remedy(type, own) -%}
    {#- What to do about a type that is not the table's: Spark casts no struct to one with another number of fields, and any other
        by the fields' places. -#}
    {%- set given, wanted = dbt_cdc._names_inside(type | lower), dbt_cdc._names_inside(own | lower) -%}
    {%- if given == wanted or not given or not wanted -%}{%- do return(': cast it in the model') -%}{%- endif -%}
    {%- set lacking, more, said = wanted | reject('in', given) | join(', '), given | reject('in', wanted) | join(', '), [] -%}
    {%- if lacking -%}{%- do said.append('lacks ' ~ lacking) -%}{%- endif -%}
    {%- if more -%}{%- do said.append('has more: ' ~ more) -%}{%- endif -%}
    {%- set unlike = 'has them in another order' if given | sort == wanted | sort else 'has other fields' -%}
    {%- do return(', which ' ~ (said | join(' and ') or unlike) ~ ': give the struct the same fields in the model '
                  ~ '(named_struct, transform; in Python read with a schema), or give it under a new name') -%}
{%- endmacro -%}


{%- macro _apply_type_of(plan, name) -%}
    {#- The type of a column of the batch in the table. -#}
    {%- do return(plan.casts.get(name | lower) or plan.types[name | lower]) -%}
{%- endmacro -%}

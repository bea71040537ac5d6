{#- The types of moments and conditions. -#}
{%- macro _apply_type_faults(plan) -%}
    {#- The moments' types, and whether the conditions are conditions: asked of Spark, which only analyses the query. -#}
    {%- set options, faults, asked = plan.options, [], [] -%}
    {%- for name, moment in plan.moments.items() -%}{%- do asked.append(moment.sql ~ ' as ' ~ moment.option) -%}{%- endfor -%}
    {%- set moments = plan.moments.values() | list -%}
    {%- for option in ['apply_as_deletes', 'apply_as_truncates'] if options[option] -%}
        {%- do asked.append('(' ~ options[option] ~ '\n) as ' ~ option) -%}
    {%- endfor -%}
    {%- if plan.columns_to_update and plan.columns_to_update | lower not in plan.nulls -%}
        {%- do asked.append(dbt_cdc._quote(plan.columns_to_update) ~ ' as columns_to_update') -%}
    {%- endif -%}
    {%- for row in run_query('describe query select ' ~ asked | join(', ') ~ ' from ' ~ plan.stage) -%}
        {%- set type, moment = row[1], moments | selectattr('option', 'equalto', row[0]) | first -%}
        {%- if moment -%}
            {%- do moment.update(type=type) -%}
            {%- if type.startswith('struct<') and not moment.parts -%}
                {%- set moments_only = '(select ' ~ moment.sql ~ ' as moment from ' ~ plan.stage ~ ') as batch' -%}
                {%- do moment.update(parts=dbt_cdc._types_as_spelled(moments_only, 'moment.*').keys() | list) -%}
            {%- endif -%}
            {%- if dbt_cdc._lacks_equality(type) or type == 'void' or type.startswith('string collate') or dbt_cdc._unkept_kinds(type) -%}
                {%- do faults.append(row[0] ~ " must be of a type that sorts and that tables keep, got " ~ type) -%}
            {%- endif -%}
        {%- elif row[0] == 'columns_to_update' -%}
            {%- if type != 'array<string>' -%}
                {%- do faults.append("columns_to_update must be a column of type array<string>, got " ~ type) -%}
            {%- endif -%}
        {%- elif type != 'boolean' -%}
            {%- do faults.append("option '" ~ row[0] ~ "' must be a condition (boolean), got an expression of type " ~ type) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for name in plan.key if dbt_cdc._lacks_equality(plan.types[name | lower]) -%}
        {%- do faults.append("unique_key: column '" ~ name ~ "' must be of a type that sorts, got " ~ plan.types[name | lower]) -%}
    {%- endfor -%}
    {%- for column in plan.payload if dbt_cdc._lacks_text(column.type) -%}
        {%- do faults.append("column '" ~ column.name ~ "' is of type " ~ column.type ~ ", a map within another type, which is compared as"
                             ~ " JSON, and that has no text for its keys: give the map keys of text in the model") -%}
    {%- endfor -%}
    {%- do return(faults + dbt_cdc._commit_order_faults(plan)) -%}
{%- endmacro -%}

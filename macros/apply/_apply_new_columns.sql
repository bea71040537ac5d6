{#- Columns that are new to the feed. -#}
{%- macro _apply_add_columns(plan, relations) -%}
    {#- New columns, in {{ this }} first: what only that has is somebody else's to another run that begins in between, which so learns of
        them from the ledger later. A killed run finds out by looking at each table what is still to be added. -#}
    {%- set given = {} -%}
    {%- for column in plan.new -%}{%- do given.update({column.name: plan.types[column.name | lower]}) -%}{%- endfor -%}
    {%- for relation in relations if given -%}
        {%- do dbt_cdc._grow_columns(relation, plan.format, dbt_cdc._types_of(relation), given) -%}
    {%- endfor -%}
{%- endmacro -%}


{%- macro _apply_new_column_faults(plan) -%}
    {#- Columns that are new to the feed, and that a table has already: its owner's own, or those of a killed run. -#}
    {%- set faults = [] -%}
    {%- for relation in [plan.ledger] + ([plan.target] if not plan.rebuild else []) if plan.new -%}
        {%- set there = dbt_cdc._whole_types(relation, dbt_cdc._columns_of(relation)) -%}
        {%- for column in plan.new if column.name | lower in there -%}
            {#- a query gives no lengths -#}
            {%- set own = modules.re.sub('^(var)?char\\(.*', 'string', there[column.name | lower]) -%}
            {%- set given = plan.types[column.name | lower] -%}
            {%- if own != given -%}
                {%- do faults.append("column '" ~ column.name ~ "' is new to the feed, as " ~ given ~ ", and "
                    ~ relation ~ " has one of that"
                    ~ " name already, as " ~ own ~ ": cast it in the model, or drop the table's column") -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}

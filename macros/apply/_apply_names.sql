{#- Which columns an option means, which reach the target, and in what order. -#}
{%- macro _apply_columns(wanted, option, names, faults, kept_out={}) -%}
    {#- The columns an option names, spelled as the batch spells them; a fault for each that it does not have. `kept_out`: those that it
        has and that mean nothing to the option, and why. -#}
    {%- set found, there = [], names + kept_out.keys() | list -%}
    {%- for given in wanted -%}
        {%- set own = dbt_cdc._spelled(given if given in there else dbt_cdc._unquoted(given), there) -%}
        {%- if own in names -%}
            {%- do found.append(own) -%}
        {%- elif own in kept_out -%}
            {%- do faults.append(option ~ ": the column '" ~ dbt_cdc._unquoted(given) ~ "' " ~ kept_out[own] ~ ": take it off the list") -%}
        {%- else -%}
            {%- do faults.append(option ~ ": " ~ dbt_cdc._unknown_name('column', own, names)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(found) -%}
{%- endmacro -%}


{%- macro _apply_reaching(plan, names, known) -%}
    {#- The batch's columns that reach the target, keys left out, in the batch's order. -#}
    {%- set options, faults = plan.options, plan.faults -%}
    {%- set listed = dbt_cdc._apply_columns(options.column_list or [], 'column_list', names + known, faults) | map('lower') | list -%}
    {%- set except = dbt_cdc._apply_columns(options.except_column_list or [], 'except_column_list', names, faults) -%}
    {%- set keys = plan.key | map('lower') | list -%}
    {%- for key in except if key | lower in keys -%}
        {%- do faults.append("except_column_list: the key column '" ~ key ~ "' must reach the target") -%}
    {%- endfor -%}
    {%- set reaching = [] -%}
    {#- the list of the columns that an event sets is an instruction, not data -#}
    {%- for name in names if name | lower not in keys and name != plan.columns_to_update -%}
        {%- if (name | lower in listed if options.column_list else name not in except) -%}
            {%- if name | lower in plan.reserved or (name | lower).startswith('_dbt_cdc_') -%}
                {%- do faults.append("the column '" ~ name ~ "' has a name that apply_changes uses itself: leave it out by"
                                     ~ " except_column_list, or rename it") -%}
            {%- endif -%}
            {%- do reaching.append(name) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(reaching) -%}
{%- endmacro -%}


{%- macro _apply_order(plan, names, known) -%}
    {#- The target's columns in order, start and end left out: an existing table's own, then those of the batch that it gets. -#}
    {%- set columns = plan.key + (plan.payload | map(attribute='name') | list) -%}
    {%- do return(((known | map(attribute='name') | list) + names) | select('in', columns) | unique | list) -%}
{%- endmacro -%}

{#- A contract describes the columns of {{ this }}. It is checked on every run, before anything is written. -#}
{%- macro _apply_contract_faults(plan) -%}
    {%- if not config.get('contract').enforced -%}{%- do return([]) -%}{%- endif -%}
    {%- set given, kept_type, faults = dbt_cdc._apply_target_types(plan), dbt_cdc._for_format('kept_type', plan.format), [] -%}
    {%- for row in run_query('describe query ' ~ get_empty_schema_sql(model['columns'])) -%}
        {%- set type = given.pop(row[0] | lower, none) -%}
        {%- if type is none -%}
            {%- do faults.append("the contract has the column " ~ row[0] ~ ", the table would not") -%}
        {%- elif kept_type(type) != kept_type(row[1]) -%}
            {%- do faults.append("the contract says that " ~ row[0] ~ " is " ~ row[1] ~ ", it is " ~ type) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for name, type in given.items() -%}
        {%- set name = dbt_cdc._spelled(name, dbt_cdc._apply_target_columns(plan)) -%}
        {%- do faults.append("the table would have the column " ~ name ~ " (" ~ type ~ "), the contract does not") -%}
    {%- endfor -%}
    {%- if faults -%}
        {%- do faults.append("the model's YAML describes the table as it is to be, not the batch: change it, or the model") -%}
    {%- endif -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _apply_broken_checks(plan) -%}
    {#- What is broken -> condition on an event that would be a row which the table does not take: told before it is recorded, as the
        ledger forgets nothing. What hangs on other events (columns that one leaves alone, the end of a version), or on columns
        that others have added, is left to the write. -#}
    {%- set names, broken, own = [], {}, dbt_cdc._apply_target_columns(plan) | map('lower') | list -%}
    {%- set partial = plan.payload | selectattr('partial') | map(attribute='name') | list -%}
    {%- for name in dbt_cdc._apply_interval_columns(plan.intervals) + partial -%}
        {%- do names.append(modules.re.escape(name)) -%}
    {%- endfor -%}
    {%- set present = dbt_cdc._columns_of(plan.target) if plan.checks and plan.kept else [] -%}
    {%- for column in present if column.name | lower not in own -%}
        {%- do names.append(modules.re.escape(column.name)) -%}
    {%- endfor -%}
    {%- set asks_of_others = '(?i)(^|\\W)(' ~ names | join('|') ~ ')($|\\W)' -%}
    {%- for name, sql in plan.checks.items() if not names or not modules.re.search(asks_of_others, sql) -%}
        {%- do broken.update({name: "_dbt_cdc_kind = 'upsert' and not coalesce(" ~ sql ~ ", false)"}) -%}
    {%- endfor -%}
    {%- do return(broken) -%}
{%- endmacro -%}


{%- macro _apply_target_types(plan) -%}
    {#- Lower-case names of the target's columns and their types. -#}
    {%- set types = {} -%}
    {%- for name in plan.key -%}{%- do types.update({name | lower: dbt_cdc._apply_type_of(plan, name)}) -%}{%- endfor -%}
    {%- for column in plan.payload -%}{%- do types.update({column.name | lower: column.type}) -%}{%- endfor -%}
    {%- for interval in plan.intervals -%}
        {%- set type = plan.moments[interval.of].type -%}
        {%- do types.update({interval.start | lower: type, interval.end | lower: type}) -%}
    {%- endfor -%}
    {%- do return(types) -%}
{%- endmacro -%}

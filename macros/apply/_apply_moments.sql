{#- The times of an event: `sequence` orders the events of a key; in a bitemporal table `system` says when each became known. -#}
{%- macro _apply_moment(options, option, names, faults) -%}
    {#- SQL for it: a column (never the mere one: a ledger would have the DEFAULT of the source's, or its length), an expression, or a
        struct whose fields have the columns' names. -#}
    {%- set wanted = options[option] or [] -%}
    {%- if wanted | length == 1 -%}
        {%- set column = dbt_cdc._apply_columns(wanted, option, names, faults if dbt_cdc._is_plain_name(wanted[0]) else []) -%}
        {%- set value = dbt_cdc._quote(column[0]) if column else '(' ~ wanted[0] ~ '\n)' -%}
        {%- set sql = 'if(' ~ value ~ ' is null, null, ' ~ value ~ ')' if column else value -%}
        {%- do return({'sql': sql, 'parts': [], 'option': option}) -%}
    {%- endif -%}
    {%- set columns = dbt_cdc._apply_columns(wanted, option, names, faults) -%}
    {%- if columns | unique | list != columns -%}
        {%- do faults.append(option ~ " names a column twice, got " ~ dbt_cdc._value_text(wanted) ~ ": name each once") -%}
    {%- endif -%}
    {%- set fields = [] -%}
    {%- for column in columns -%}
        {%- do fields.append(dbt_cdc._literal(column) ~ ', ' ~ dbt_cdc._quote(column)) -%}
    {%- endfor -%}
    {%- do return({'sql': 'named_struct(' ~ fields | join(', ') ~ ')', 'parts': columns, 'option': option}) -%}
{%- endmacro -%}


{%- macro _apply_moment_columns(plan) -%}
    {#- As the ledger keeps them: `_dbt_cdc_sequence`, `_dbt_cdc_system`. -#}
    {%- set columns = [] -%}
    {%- for name in plan.moments -%}{%- do columns.append('_dbt_cdc_' ~ name) -%}{%- endfor -%}
    {%- do return(columns) -%}
{%- endmacro -%}


{%- macro _apply_intervals(options) -%}
    {#- The target's columns that say from when to when a row held, and from when to when it was what was known. -#}
    {%- set held = {'start': options.start_at_column, 'end': options.end_at_column, 'of': 'sequence'} -%}
    {%- set known = {'start': options.system_start_at_column, 'end': options.system_end_at_column, 'of': 'system'} -%}
    {%- do return({'1': [], '2': [held], 'bitemporal': [held, known]}.get(options.stored_as_scd_type | string, [])) -%}
{%- endmacro -%}


{%- macro _apply_interval_columns(intervals) -%}
    {%- set columns = [] -%}
    {%- for interval in intervals -%}{%- do columns.extend([interval.start, interval.end]) -%}{%- endfor -%}
    {%- do return(columns) -%}
{%- endmacro -%}


{%- macro _apply_identity(plan) -%}
    {#- What tells the target's rows apart. -#}
    {%- do return(plan.key + (plan.intervals | map(attribute='start') | list)) -%}
{%- endmacro -%}


{%- macro _apply_live(plan) -%}
    {#- The condition that a row of the target is the last of its key; none under type 1, where all are. -#}
    {%- set ends = [] -%}
    {%- for interval in plan.intervals -%}{%- do ends.append(dbt_cdc._quote(interval.end) ~ ' is null') -%}{%- endfor -%}
    {%- do return(ends | join(' and ')) -%}
{%- endmacro -%}


{%- macro _apply_null_moments(plan) -%}
    {#- Option -> condition that it is NULL, or a part of it. -#}
    {%- set conditions = {} -%}
    {%- for name, moment in plan.moments.items() -%}
        {%- set parts = ['_dbt_cdc_' ~ name ~ ' is null'] -%}
        {%- for part in moment.parts -%}
            {%- do parts.append('_dbt_cdc_' ~ name ~ '.' ~ dbt_cdc._quote(part) ~ ' is null') -%}
        {%- endfor -%}
        {%- do conditions.update({moment.option: parts | join(' or ')}) -%}
    {%- endfor -%}
    {%- do return(conditions) -%}
{%- endmacro -%}


{%- macro _apply_target_columns(plan) -%}
    {#- Column order of the target: the batch's own on creation, then starts and ends. -#}
    {%- do return(plan.order + dbt_cdc._apply_interval_columns(plan.intervals)) -%}
{%- endmacro -%}

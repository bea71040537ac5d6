{#- What is wrong with the operational columns of an existing snapshot's table. -#}

{%- macro _operational_table_faults(target, existing, options) -%}
    {#- For a run: the table must have the columns, filled in for every record, or it has yet to adopt them. `existing`: types by
        lower-case name. -#}
    {%- if not options.operational_metadata -%}{%- do return([]) -%}{%- endif -%}
    {%- set faults = dbt_cdc._operational_type_faults(target, existing, options)
                     + dbt_cdc._partly_operational_faults(target, existing) -%}
    {%- if faults -%}{%- do return(faults) -%}{%- endif -%}
    {%- set names = dbt_cdc._operational_columns().values() | list -%}
    {%- if names[0] | lower not in existing -%}
        {%- do return([target ~ " has no column(s) " ~ (names | join(', ')) ~ "; " ~ dbt_cdc._adopt_hint()]) -%}
    {%- elif dbt_cdc._has_unfilled_records(target, options) -%}
        {%- do return(dbt_cdc._open_end_faults(target, existing)
            or [target ~ " has records whose operational columns are not filled in, written or closed while the option"
            ~ " was off, or open ones with another high date than " ~ dbt_cdc._high_date_text()
            ~ "; " ~ dbt_cdc._adopt_hint()]) -%}
    {%- endif -%}
    {%- do return([]) -%}
{%- endmacro -%}


{%- macro _operational_type_faults(target, existing, options) -%}
    {#- `existing`: the types of the table's columns by name. -#}
    {%- set expected, faults = dbt_cdc._operational_types(options.effective_timestamp_type), [] -%}
    {%- for name, own_name in dbt_cdc._operational_columns().items() if own_name | lower in existing -%}
        {%- set found = existing[own_name | lower] | lower -%}
        {%- if found != expected[name] -%}
            {%- do faults.append("column '" ~ own_name ~ "' of " ~ target ~ " is " ~ found ~ ", expected " ~ expected[name]
                ~ ": set the option 'effective_timestamp_type' to what the table has, or, if the column is of the source,"
                ~ " choose another name by the var 'operational_metadata_columns'") -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _partly_operational_faults(target, existing) -%}
    {#- The columns are added in one statement: where only some are there, they came with the source, or have had other
        names. -#}
    {%- set present, renamed, absent = [], [], [] -%}
    {%- for name, own_name in dbt_cdc._operational_columns().items() -%}
        {%- if own_name | lower in existing -%}
            {%- do present.append(own_name) -%}
        {%- else -%}
            {%- do absent.append(own_name) -%}
            {%- if name in existing -%}{%- do renamed.append(name) -%}{%- endif -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if absent and absent | length == renamed | length -%}
        {%- do return([target ~ " has no column(s) " ~ (absent | join(', ')) ~ ", but " ~ (renamed | join(', ')) ~ ": the var"
            ~ " 'operational_metadata_columns' was changed after they were made; set it back, or rename them in the table"]) -%}
    {%- elif present and absent -%}
        {%- do return([target ~ " has the column(s) " ~ (present | join(', ')) ~ " of the source, and operational columns would"
            ~ " have the same name: choose others by the var 'operational_metadata_columns'. If they are operational columns"
            ~ " already, that var was changed: it must give the names that the table has for " ~ (absent | join(', '))]) -%}
    {%- endif -%}
    {%- do return([]) -%}
{%- endmacro -%}


{%- macro _adopt_hint() -%}
    {%- do return("fill them in once: dbt run-operation adopt_operational_metadata --args '{snapshot: " ~ dbt_cdc._called(model) ~ "}'") -%}
{%- endmacro -%}


{%- macro _has_unfilled_records(target, options) -%}
    {%- set names = dbt_cdc._operational_columns() -%}
    {%- set end, closed_by = dbt_cdc._quote(names.effective_end_timestamp), dbt_cdc._quote(names.update_process_id) -%}
    {#- as tests for NULL, so that files of closed records alone are skipped by what the format knows of their NULLs -#}
    {%- set found -%}
        select 1 from {{ target }}
        where {{ end }} is null
            or ({{ closed_by }} is null and not coalesce({{ dbt_cdc._is_open() }}, false))
            or ({{ dbt_cdc._is_open() }} and {{ end }} <> {{ dbt_cdc._high_date(options.effective_timestamp_type) }})
        limit 1
    {%- endset -%}
    {%- do return(run_query(found).rows | length > 0) -%}
{%- endmacro -%}

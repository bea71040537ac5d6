{%- macro adopt_operational_metadata(snapshot) -%}
    {#- Gives an existing snapshot's table the operational columns and fills in every record that lacks them. What only
        the runs of the past knew is taken from what is there: the process is this command, the times are dbt's own.
        Only records that need it are written: a second time changes nothing. -#}
    {%- do dbt_cdc._set_snapshot_context('adopt_operational_metadata', snapshot) -%}
    {%- set options, target = dbt_cdc._check_snapshot_options(), dbt_cdc._load_relation(context['this']) -%}
    {%- set existing = dbt_cdc._types_by_name(adapter.get_columns_in_relation(target)) if target is not none else {} -%}
    {%- do dbt_cdc._raise_faults(dbt_cdc._adoption_faults(options, target, existing)) -%}
    {%- set names = dbt_cdc._operational_columns() -%}
    {%- set types = dbt_cdc._operational_types(options.effective_timestamp_type) -%}
    {%- set missing, format = {}, dbt_cdc._format_of(target) -%}
    {%- for name, own_name in names.items() if own_name | lower not in existing -%}
        {%- do missing.update({own_name: types[name]}) -%}
    {%- endfor -%}
    {%- if missing -%}
        {%- do dbt_cdc._raise_faults(dbt_cdc._for_format('type_faults', format)(target, options.effective_timestamp_type)) -%}
        {%- do dbt_cdc._add_columns(target, format, missing) -%}
    {%- endif -%}
    {%- set left = dbt_cdc._fill_deletion_records(target, existing) -%}
    {%- do run_query(dbt_cdc._adoption_update(options, target, existing)) -%}
    {%- do log('dbt_cdc: ' ~ target ~ ' has its operational columns, filled in for every record', info=true) -%}
    {%- do dbt_cdc._warn_of_deletion_records(target, left) -%}
{%- endmacro -%}


{%- macro _adoption_faults(options, target, existing) -%}
    {%- if not options.operational_metadata -%}
        {%- do return(["the snapshot does not ask for the columns: set meta.dbt_cdc.operational_metadata to true first"]) -%}
    {%- endif -%}
    {%- if target is none -%}
        {%- do return([this ~ " does not exist; its first run makes it, columns included: dbt snapshot"]) -%}
    {%- endif -%}
    {%- if dbt_cdc._format_of(target) is none -%}
        {%- do return([target ~ " is no Delta, Iceberg or Hudi table: make one of its rows first, under its name"]) -%}
    {%- endif -%}
    {%- set faults = dbt_cdc._operational_type_faults(target, existing, options)
                     + dbt_cdc._partly_operational_faults(target, existing) -%}
    {%- set start = dbt_cdc._dbt_columns().dbt_valid_from -%}
    {%- if not dbt_cdc._may_be_time(existing.get(start | lower)) -%}
        {%- do faults.append("column '" ~ start ~ "' of " ~ target ~ " is " ~ existing.get(start | lower) ~ ", expected a date or"
                             ~ " timestamp: convert it in the table and in the snapshot's query") -%}
    {%- endif -%}
    {%- set faults = faults or dbt_cdc._table_key_faults(dbt_cdc._keys(model.config), target, existing) -%}
    {%- set faults = faults or dbt_cdc._recorded_text_faults(target, existing) -%}
    {%- do return(faults or dbt_cdc._open_end_faults(target, existing)) -%}
{%- endmacro -%}


{%- macro _recorded_text_faults(target, existing) -%}
    {%- set columns, faults = dbt_cdc._dbt_columns(), [] -%}
    {#- the end of an open record may be any text -#}
    {%- set closed = '(select * from ' ~ target ~ ' where not coalesce(' ~ dbt_cdc._is_open() ~ ', false)) as closed' -%}
    {%- set sources = {columns.dbt_valid_from: target, columns.dbt_valid_to: closed, columns.dbt_updated_at: target} -%}
    {%- for name, source in sources.items() if existing.get(name | lower) == 'string' -%}
        {%- set value = dbt_cdc._quote(name) -%}
        {%- do faults.extend(dbt_cdc._text_time_faults(
            value, source, "column '" ~ name ~ "' of " ~ target, "mend it by hand (update " ~ target ~ " set " ~ value ~ " = ...)")) -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _adoption_update(options, target, existing) -%}
    {%- set names, columns = dbt_cdc._operational_columns(), dbt_cdc._dbt_columns() -%}
    {%- set type, open = options.effective_timestamp_type, dbt_cdc._is_open() -%}
    {%- set own = {} -%}
    {%- for name, own_name in names.items() -%}{%- do own.update({name: dbt_cdc._quote(own_name)}) -%}{%- endfor -%}
    {%- set valid_from, valid_to = dbt_cdc._quote(columns.dbt_valid_from), dbt_cdc._end_of_record(existing) -%}
    {%- set written = dbt_cdc._instant(valid_from) -%}
    {%- if columns.dbt_updated_at | lower in existing -%}
        {%- set written = 'coalesce(' ~ dbt_cdc._instant(dbt_cdc._quote(columns.dbt_updated_at)) ~ ', ' ~ written ~ ')' -%}
    {%- endif -%}
    {%- set this_run = dbt_cdc._literal(invocation_id) -%}
    {%- set expected = {
        own.insert_process_id: 'coalesce(' ~ own.insert_process_id ~ ', ' ~ this_run ~ ')',
        own.update_process_id: 'if(' ~ open ~ ', null, coalesce(' ~ own.update_process_id ~ ', ' ~ this_run ~ '))',
        own.effective_start_timestamp: dbt_cdc._effective(valid_from, type),
        own.effective_end_timestamp:
            'if(' ~ open ~ ', ' ~ dbt_cdc._high_date(type) ~ ', ' ~ dbt_cdc._effective(valid_to, type) ~ ')',
        own.insert_timestamp: 'coalesce(' ~ own.insert_timestamp ~ ', ' ~ written ~ ')',
        own.update_timestamp:
            'if(' ~ open ~ ', null, coalesce(' ~ own.update_timestamp ~ ', ' ~ dbt_cdc._instant(valid_to) ~ '))',
    } -%}
    update {{ target }} set
    {%- for column, value in expected.items() %}
        {{ column }} = {{ value }}{{ ',' if not loop.last }}
    {%- endfor %}
    where
    {%- for column, value in expected.items() %}
        {{ 'or ' if not loop.first }}not ({{ column }} <=> {{ value }})
    {%- endfor %}
{%- endmacro -%}

{#- What a table was made with, and may not change. -#}
{%- macro _apply_properties(plan) -%}
    {#- What must stay the same over the life of a table, kept as table properties of the ledger. -#}
    {%- set types = {} -%}
    {%- for name, moment in plan.moments.items() -%}{%- do types.update({name ~ '_type': moment.type}) -%}{%- endfor -%}
    {%- do return(dict(dbt_cdc._apply_kept_options(plan.options), columns_to_update=plan.columns_to_update | tojson,
                       hash_rule=dbt_cdc._apply_hash_rule(), **types)) -%}
{%- endmacro -%}


{%- macro _apply_kept_options(options) -%}
    {#- Of these, what the options alone say. -#}
    {%- set lists = {'unique_key': dbt_cdc._key_in(config) | map('lower') | sort | list | tojson} -%}
    {%- for option in ['track_history_column_list', 'track_history_except_column_list', 'ignore_null_updates_column_list',
                       'ignore_null_updates_except_column_list'] -%}
        {%- do lists.update({option: (dbt_cdc._unquoted_names(options[option]) | map('lower') | sort | list or none) | tojson}) -%}
    {%- endfor -%}
    {#- beside a list of columns it says no more than the list -#}
    {%- set by_list = options.ignore_null_updates_column_list or options.ignore_null_updates_except_column_list -%}
    {%- do return(dict(lists, ignore_null_updates=(none if by_list else options.ignore_null_updates or none) | tojson,
                       stored_as_scd_type=options.stored_as_scd_type | string, source_kind=options.source_kind,
                       start_at_column=options.start_at_column, end_at_column=options.end_at_column,
                       system_start_at_column=options.system_start_at_column, system_end_at_column=options.system_end_at_column)) -%}
{%- endmacro -%}


{%- macro _apply_drift_faults(wanted, kept) -%}
    {%- set faults = [] -%}
    {%- for name, value in wanted.items() if kept -%}
        {%- set was = kept.get('dbt_cdc.' ~ name, value) -%}
        {%- set back = 'put it back' if name != 'hash_rule' else 'install a version of dbt_cdc that has that one' -%}
        {#- names in them may be spelled anew, and older tables have them with backticks -#}
        {%- if was | lower | replace('`', '') != value | lower | replace('`', '') -%}
            {%- do faults.append(name ~ " can't change on an existing table: it was created with " ~ dbt_cdc._apply_property_text(was)
                                 ~ ", this run has " ~ dbt_cdc._apply_property_text(value)
                                 ~ "; " ~ back ~ ", or " ~ dbt_cdc._apply_anew()) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _apply_property_text(property) -%}
    {#- A kept property for a message: lists and names are kept as JSON. -#}
    {%- set value = fromjson(property, none) -%}
    {%- do return(property if value is none else dbt_cdc._value_text(value)) -%}
{%- endmacro -%}

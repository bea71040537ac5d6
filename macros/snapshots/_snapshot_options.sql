{%- macro _snapshot_options() -%}
    {%- do return(dict(dbt_cdc._log_options(), **{
        'operational_metadata': {'type': 'boolean', 'default': false},
        'effective_timestamp_type': {
            'type': 'string', 'values': ['timestamp_ntz', 'timestamp'], 'default': 'timestamp_ntz',
            'under': {'operational_metadata': [true]}},
        'max_delete_fraction': {'type': 'number', 'between': [0, 1]},
    })) -%}
{%- endmacro -%}


{%- macro _snapshot_settings() -%}
    {%- do return(dbt_cdc._given_options(dbt_cdc._snapshot_options())) -%}
{%- endmacro -%}


{%- macro _check_snapshot_options() -%}
    {#- One error with all that is wrong with a snapshot's options and the vars it goes by. -#}
    {%- set options = dbt_cdc._snapshot_settings() -%}
    {%- set faults = dbt_cdc._hard_deletes_faults() + dbt_cdc._isolation_faults() + dbt_cdc._dbt_name_faults()
        + dbt_cdc._max_delete_fraction_faults(options.max_delete_fraction) + dbt_cdc._change_log_faults(options)
        + (dbt_cdc._operational_var_faults() if options.operational_metadata else []) -%}
    {%- do return(dbt_cdc._check_options(dbt_cdc._snapshot_options(), faults)) -%}
{%- endmacro -%}


{%- macro _dbt_name_faults() -%}
    {%- set faults = [] -%}
    {%- for standard, name in dbt_cdc._dbt_columns().items() if not modules.re.fullmatch('\\w+', name | string) -%}
        {%- do faults.append("snapshot_meta_column_names: " ~ standard ~ " must be a name of letters, digits and _, as dbt writes it"
            ~ " into SQL without quotes, got " ~ dbt_cdc._value_text(name)) -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _hard_deletes_faults() -%}
    {#- dbt raises an error of its own where it comes upon another value, and so hides all else that is wrong. -#}
    {%- set allowed = {'values': ['ignore', 'invalidate', 'new_record']} -%}
    {%- do return(dbt_cdc._value_faults('hard_deletes', allowed, model.config.get('hard_deletes'))) -%}
{%- endmacro -%}


{%- macro _max_delete_fraction_faults(fraction) -%}
    {%- if not dbt_cdc._is_of_type(fraction, 'number') -%}{%- do return([]) -%}{%- endif -%}
    {%- set faults = dbt_cdc._hard_deletes_faults() -%}
    {%- if not faults and adapter.get_hard_deletes_behavior(model.config) == 'ignore' -%}
        {%- do return(["option 'max_delete_fraction' has no meaning with hard_deletes: ignore, got " ~ fraction
                       ~ "; set hard_deletes to invalidate or new_record, or remove the option"]) -%}
    {%- endif -%}
    {%- do return([]) -%}
{%- endmacro -%}


{%- macro _change_log_faults(options) -%}
    {#- hash_diff and apply_changes refuse such a table for reasons of their own -#}
    {%- set format = model.config.get('file_format') -%}
    {%- set logged = dbt_cdc._formats_with('capture') -%}
    {%- if not options.change_log or format in logged -%}{%- do return([]) -%}{%- endif -%}
    {%- do return(["option 'change_log' needs a table of " ~ logged | join(', ') ~ ", got file_format '" ~ format
                   ~ "'; remove the option, and ask the table itself by table_changes"]) -%}
{%- endmacro -%}


{%- macro _operational_var_faults() -%}
    {%- set faults, high_date = dbt_cdc._var_faults(), dbt_cdc._high_date_text() -%}
    {%- if not modules.re.fullmatch('[0-9-]{10}( ([01][0-9]|2[0-3])(:[0-5][0-9]){2}([.][0-9]{1,6})?)?', high_date)
            or not dbt_cdc._is_date(high_date[:10]) -%}
        {%- do faults.append("var 'default_high_dttm' must be a point in time such as 9999-12-31 23:59:59.999999, got "
                             ~ dbt_cdc._value_text(high_date)) -%}
    {%- endif -%}
    {%- set renamed = dbt_cdc._var('operational_metadata_columns', {}) -%}
    {%- if renamed is not mapping -%}
        {%- do return(faults + ["var 'operational_metadata_columns' must map standard to own column names, got "
                                ~ dbt_cdc._value_text(renamed)]) -%}
    {%- endif -%}
    {%- do return(faults + dbt_cdc._renaming_faults(renamed)) -%}
{%- endmacro -%}


{%- macro _renaming_faults(renamed) -%}
    {%- set faults, where = [], "var 'operational_metadata_columns'" -%}
    {%- for standard, name in renamed.items() -%}
        {%- if standard not in dbt_cdc._operational_types() -%}
            {%- do faults.append(where ~ ": " ~ dbt_cdc._unknown_name('column', standard, dbt_cdc._operational_types() | list)) -%}
        {%- elif name is not string or not name or name.startswith('#') -%}
            {%- do faults.append(where ~ " must give the name of a column for " ~ standard ~ " (which does not begin with #), got "
                                 ~ dbt_cdc._value_text(name)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set names, of_dbt = [], dbt_cdc._dbt_columns().values() | map('lower') | list -%}
    {%- for name in dbt_cdc._operational_columns().values() -%}
        {%- if name | lower in names -%}
            {%- do faults.append(where ~ " gives one name to several columns: " ~ name) -%}
        {%- elif name | lower in of_dbt -%}
            {%- do faults.append("an operational column has the name of a column of dbt's own: " ~ name
                                 ~ "; rename one of them, by " ~ where ~ " or snapshot_meta_column_names") -%}
        {%- endif -%}
        {%- do names.append(name | lower) -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}

{#- Columns that a snapshot's configuration names, looked for in its source, and those of a key in its table, before anything is written.
    A key and updated_at may be expressions, check_cols are columns only; dbt writes all of them into its SQL as they stand. -#}

{%- macro _named_column_faults(names, strategy=none) -%}
    {#- `strategy`: none: of check_cols alone. -#}
    {%- set known, faults = names | map('lower') | list, [] -%}
    {#- functions that Spark takes without parentheses -#}
    {%- set times = ['current_date', 'current_timestamp', 'localtimestamp'] -%}
    {%- set checked = config.get('check_cols') if dbt_cdc._goes_by_columns() else [] -%}
    {%- set named = {'unique_key': dbt_cdc._keys(strategy), 'updated_at': [strategy.updated_at]} if strategy else {} -%}
    {%- do named.update({'check_cols': [] if checked is string else checked or []}) -%}
    {%- for option in named -%}
        {%- for name in named[option] -%}
            {#- Spark takes 2020_sales as it stands, and 1d for a number -#}
            {%- set stands = modules.re.fullmatch('[A-Za-z0-9_]*[A-Za-z_][A-Za-z0-9_]*', name) -%}
            {%- set is_name = option == 'check_cols' or dbt_cdc._is_plain_name(name) -%}
            {%- if name | lower in known and not stands -%}
                {%- do faults.append(option ~ ": the name of the column '" ~ name ~ "' needs backticks, as dbt puts it into SQL as it"
                                     ~ " stands: write it as " ~ dbt_cdc._quote(name)) -%}
            {%- elif is_name and dbt_cdc._unquoted(name) | lower not in known + times -%}
                {%- do faults.append(option ~ ": the source has no such column: " ~ dbt_cdc._unknown_name('column', name, names)) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _table_key_faults(keys, target, existing, names=none) -%}
    {#- Columns of the key that the table lacks. `names`: those (lower case) that the source has; none: whatever can only be a name. -#}
    {%- set faults = [] -%}
    {%- for name in dbt_cdc._unquoted_names(keys)
        if name | lower not in existing and (dbt_cdc._is_plain_name(name) if names is none else name | lower in names) -%}
        {%- do faults.append(target ~ " has no column '" ~ name ~ "', which unique_key names: rename the one that the table has for it"
            ~ " (alter table " ~ target ~ " rename column ...), add and fill it by hand, or give the source's its older name in the"
            ~ " snapshot's query") -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}

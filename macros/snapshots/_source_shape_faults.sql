{#- What the names and types of the source's columns show, before a row is read. -#}

{%- macro _source_shape_faults(strategy, sql, columns, options) -%}
    {%- set names = columns | map(attribute='name') | list -%}
    {%- set faults = dbt_cdc._source_name_faults(names, strategy, options) -%}
    {%- do faults.extend(dbt_cdc._failing_name_faults(names, config.get('file_format'))) -%}
    {%- do faults.extend(dbt_cdc._checked_type_faults(columns) + dbt_cdc._unkept_faults(columns, "snapshot's query")) -%}
    {#- what is not there, and keys that Spark does not compare, can't be asked any further -#}
    {%- set unaskable = dbt_cdc._named_column_faults(names, strategy) + dbt_cdc._key_type_faults(columns, strategy) -%}
    {%- if unaskable -%}{%- do dbt_cdc._raise_faults(faults + unaskable) -%}{%- endif -%}
    {%- if options.operational_metadata and strategy.updated_at | trim != snapshot_get_time() | trim -%}
        {%- set updated_at = dbt_cdc._type_of_expression(strategy.updated_at, columns, sql) -%}
        {%- if not dbt_cdc._may_be_time(updated_at) -%}
            {%- do faults.append("updated_at (" ~ strategy.updated_at ~ ") is of type " ~ updated_at ~ ", expected a date or timestamp,"
                ~ " as operational_metadata keeps points in time: convert it in the snapshot's query") -%}
        {%- endif -%}
    {%- endif -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _type_of_expression(expression, columns, sql) -%}
    {%- for column in columns if column.name | lower == dbt_cdc._unquoted(expression) | lower -%}
        {%- do return(column.dtype) -%}
    {%- endfor -%}
    {%- do return(run_query('describe query select ' ~ expression ~ ' from (\n' ~ sql ~ '\n) as source_rows').rows[0][1]) -%}
{%- endmacro -%}


{%- macro _source_name_faults(names, strategy, options) -%}
    {#- Columns of the source that the snapshot would write itself. -#}
    {%- set faults = [] -%}
    {%- set own = dbt_cdc._operational_columns().values() | map('lower') | list if options.operational_metadata else [] -%}
    {%- set of_dbt = dbt_cdc._written_columns(strategy) | map('lower') | list -%}
    {%- for name in names -%}
        {%- if name | lower in own -%}
            {%- do faults.append("the source has a column '" ~ name ~ "', which is the name of an operational column: rename the"
                ~ " operational one by the var 'operational_metadata_columns', or leave the source's out") -%}
        {%- elif name | lower in of_dbt -%}
            {%- do faults.append("the source has a column '" ~ name ~ "', which is the name of a column that dbt writes: rename dbt's"
                ~ " by snapshot_meta_column_names, or the source's in the snapshot's query") -%}
        {%- elif name | lower in dbt_cdc._key_names(strategy) -%}
            {%- do faults.append("the source has a column '" ~ name ~ "', as dbt calls the key while it compares: rename it in the"
                                 ~ " snapshot's query") -%}
        {%- elif (name | lower).startswith('dbt_cdc_') -%}
            {%- do faults.append("the source has a column '" ~ name ~ "': names that begin with dbt_cdc_ are the package's own;"
                                 ~ " rename it in the snapshot's query") -%}
        {%- elif name.startswith('#') -%}
            {%- do faults.append("the source has a column '" ~ name ~ "': dbt-spark takes such a name for the end of a table's columns,"
                ~ " so that later runs would lose it and those after it; rename it in the snapshot's query") -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _key_type_faults(columns, strategy) -%}
    {%- set faults, keys = [], dbt_cdc._key_columns_of(strategy) -%}
    {%- for column in columns if column.name | lower in keys and dbt_cdc._lacks_equality(column.dtype) -%}
        {%- do faults.append("unique_key: column '" ~ column.name ~ "' is of type " ~ column.dtype ~ ", whose values Spark does not"
            ~ " compare: make text of it in the snapshot's query (to_json)") -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _checked_type_faults(columns) -%}
    {#- Columns that are checked, but whose values Spark does not compare. -#}
    {%- set faults = [] -%}
    {%- for column in columns if dbt_cdc._lacks_equality(column.dtype) and dbt_cdc._is_checked(column.name) -%}
        {%- do faults.append("check_cols: column '" ~ column.name ~ "' is of type " ~ column.dtype
            ~ ", whose values Spark does not compare:"
            ~ " give the columns to check without it, or make text of it in the snapshot's query (to_json)") -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _is_checked(name) -%}
    {#- Does the strategy compare this column? -#}
    {%- if not dbt_cdc._goes_by_columns() -%}{%- do return(false) -%}{%- endif -%}
    {#- what a format keeps in each of its tables is not what the rows say -#}
    {%- if config.get('check_cols') is string -%}{%- do return(not dbt_cdc._is_kept_by(config.get('file_format'), name)) -%}{%- endif -%}
    {%- for checked in config.get('check_cols') if dbt_cdc._unquoted(checked) | lower == name | lower -%}
        {%- do return(true) -%}
    {%- endfor -%}
    {%- do return(false) -%}
{%- endmacro -%}

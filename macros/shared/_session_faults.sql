{%- macro _session_faults(users) -%}
    {#- Settings under which texts or names mean others than what this package and dbt write. Asked where nodes of the run use the
        package: `users`. -#}
    {%- set faults = [] -%}
    {%- if not users -%}{%- do return([]) -%}{%- endif -%}
    {%- for name, why in {
        'spark.sql.parser.escapedStringLiterals': "values with quotes or backslashes would be written as others",
        'spark.sql.parser.quotedRegexColumnNames': "quoted names of columns would be taken for patterns",
        'spark.sql.caseSensitive': "a column would be another where it is spelled with other capitals",
        'spark.sql.hive.thriftServer.singleSession': "threads would change each other's time zone and temporary views",
    }.items() if dbt_cdc._session_setting(name) | lower == 'true' -%}
        {%- do faults.append(users | join(', ') ~ ": " ~ name ~ " must be false, got true: " ~ why
                             ~ "; take the setting out of the profile") -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _nodes_using_package() -%}
    {#- The nodes of this run that are built by this package, call its macros or, in Python, name it. -#}
    {%- set names, ours = [], ['hash_diff', 'apply_changes'] + ([] if dbt_cdc._snapshot_macros().dbt else ['snapshot']) -%}
    {%- for node in dbt_cdc._selected_nodes()
        if node.config.get('materialized') in ours or 'macro.dbt_cdc.' in node.get('depends_on', {}).get('macros', []) | join(' ')
        or (node.language == 'python' and 'dbt_cdc' in node.raw_code) -%}
        {%- do names.append(node.unique_id) -%}
    {%- endfor -%}
    {%- do return(names | sort) -%}
{%- endmacro -%}

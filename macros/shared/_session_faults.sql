{%- macro _session_faults() -%}
    {#- Settings under which texts or names mean others than what this package and dbt write. Asked where a node of the run uses
        the package. -#}
    {%- set users, faults = dbt_cdc._nodes_using_package(), [] -%}
    {%- if not users -%}{%- do return([]) -%}{%- endif -%}
    {%- if run_query("select length('\\\\')")[0][0] != 1 -%}
        {%- do faults.append(["parser.escapedStringLiterals", "values with quotes or backslashes would be written as others"]) -%}
    {%- endif -%}
    {%- for name, why in {
        'parser.quotedRegexColumnNames': "quoted names of columns would be taken for patterns",
        'caseSensitive': "a column would be another where it is spelled with other capitals",
    }.items() if dbt_cdc._session_setting('spark.sql.' ~ name) | lower == 'true' -%}
        {%- do faults.append([name, why]) -%}
    {%- endfor -%}
    {%- set told = [] -%}
    {%- for name, why in faults -%}
        {%- do told.append(users | join(', ') ~ ": spark.sql." ~ name ~ " must be false, got true: " ~ why
                           ~ "; take the setting out of the profile") -%}
    {%- endfor -%}
    {%- do return(told) -%}
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

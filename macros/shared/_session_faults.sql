{%- macro _session_faults() -%}
    {#- A setting under which Spark keeps the backslashes by which quotes are escaped, ours and dbt's own: a key with a quote
        in it would be another key. Asked where a node of the run uses the package. -#}
    {%- set users = dbt_cdc._nodes_using_package() -%}
    {%- if not users or run_query("select length('\\\\')")[0][0] == 1 -%}{%- do return([]) -%}{%- endif -%}
    {%- do return([users | join(', ') ~ ": spark.sql.parser.escapedStringLiterals must be false, got true: values with quotes or"
                   ~ " backslashes would be written as others; take the setting out of the profile"]) -%}
{%- endmacro -%}


{%- macro _nodes_using_package() -%}
    {#- The nodes of this run that are built by this package, or call its macros. -#}
    {%- set names, ours = [], ['hash_diff', 'apply_changes'] + ([] if dbt_cdc._snapshot_macros().dbt else ['snapshot']) -%}
    {%- for node in dbt_cdc._selected_nodes()
        if node.config.get('materialized') in ours or 'macro.dbt_cdc.' in node.get('depends_on', {}).get('macros', []) | join(' ') -%}
        {%- do names.append(node.unique_id) -%}
    {%- endfor -%}
    {%- do return(names | sort) -%}
{%- endmacro -%}

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


{%- macro _branch_faults(tables) -%}
    {#- A session that writes to a branch of this node's table, or to none, or reads a branch of an upstream: what runs note of them
        and read back is the main branch. (hash_diff asks the session that it loads in: _hash_diff_guard.py.) -#}
    {%- set faults, values = [], {} -%}
    {%- for table in tables if dbt_cdc._writes_tables() -%}
        {%- set existing = dbt_cdc._load_relation(table) if table != this else none -%}
        {%- set format = dbt_cdc._file_format(model.config) if table == this else dbt_cdc._format_of(existing) if existing else none -%}
        {%- set given = [] -%}
        {%- for name in dbt_cdc._formats().get(format, {}).get('branch_settings', []) -%}
            {%- if name not in values -%}{%- do values.update({name: dbt_cdc._session_setting(name)}) -%}{%- endif -%}
            {%- if values[name] != '<undefined>' -%}{%- do given.append(name ~ ' is ' ~ values[name]) -%}{%- endif -%}
        {%- endfor -%}
        {%- if given and dbt_cdc._is_written_by_branch(table, existing or dbt_cdc._load_relation(table)) -%}
            {%- do faults.append(given | join(', ') ~ ", and " ~ table ~ " has write.wap.enabled: what apply_changes and ref_changes note"
                                 ~ " is of main branches; unset it in the session") -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _is_written_by_branch(table, existing) -%}
    {#- `existing`: the table as it exists, or none. -#}
    {%- set properties = dict((model.config.get('tblproperties') or {}) if table == this else {},
                              **(dbt_cdc._table_properties(existing) if existing is not none else {})) -%}
    {%- do return(properties.get('write.wap.enabled') | string | lower == 'true') -%}
{%- endmacro -%}


{%- macro _nodes_using_package() -%}
    {#- The nodes of this run that are built by this package, call its macros or, in Python, name it. -#}
    {%- set names, snapshots = [], not dbt_cdc._snapshot_macros().dbt -%}
    {%- for node in dbt_cdc._selected_nodes()
        if dbt_cdc._names_package(node) or (snapshots and node.config.get('materialized') == 'snapshot')
        or (node.language == 'python' and 'dbt_cdc' in node.raw_code) -%}
        {%- do names.append(node.unique_id) -%}
    {%- endfor -%}
    {%- do return(names | sort) -%}
{%- endmacro -%}


{%- macro _names_package(node) -%}
    {#- By its materialization, or by a macro that it calls. -#}
    {%- do return(node.config.get('materialized') in ['hash_diff', 'apply_changes']
                  or 'macro.dbt_cdc.' in node.get('depends_on', {}).get('macros', []) | join(' ')) -%}
{%- endmacro -%}

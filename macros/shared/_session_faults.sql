{%- macro _session_faults(users) -%}
    {#- Settings under which texts or names mean others than what this package and dbt write, or by which rows are lost. Asked where
        nodes of the run use the package, or an operation writes to the tables of nodes: `users`. -#}
    {%- set faults = [] -%}
    {%- for names, settings in dbt_cdc._refused_settings(users) -%}
        {%- do faults.extend(dbt_cdc._setting_faults(settings, names | join(', ') ~ ': ')) -%}
    {%- endfor -%}
    {%- do return(faults + dbt_cdc._unheeded_faults(users)) -%}
{%- endmacro -%}


{%- macro _setting_faults(settings, about='') -%}
    {#- What is refused is never Spark's default. -#}
    {%- set faults, given = [], dbt_cdc._given_settings() if settings else {} -%}
    {%- for name, (refused, expected, why) in settings.items()
        if refused | upper in [given.get(name, '') | upper, dbt_cdc._profile_setting(name) | upper] -%}
        {%- do faults.append(about ~ name ~ " must be " ~ expected ~ ", got " ~ refused ~ ": " ~ why
                             ~ "; take the setting out of the profile") -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _unheeded_faults(users) -%}
    {#- Spark's thrift server takes no settings of Spark from a profile: texts would be read in its own time zone, not the profile's. -#}
    {%- set name, method = 'spark.sql.session.timeZone', adapter.config.credentials.method | string -%}
    {%- set given = dbt_cdc._profile_setting(name) -%}
    {%- if not users or not given or method not in ['thrift', 'http', 'odbc'] -%}{%- do return([]) -%}{%- endif -%}
    {%- set found = dbt_cdc._session_setting(name) -%}
    {%- if found | lower == given | lower or dbt_cdc._show_same_times(given, found) -%}{%- do return([]) -%}{%- endif -%}
    {%- do return([users | join(', ') ~ ": " ~ name ~ " is " ~ given ~ " in the profile's server_side_parameters, which this server does"
                   ~ " not heed over " ~ method ~ ", got " ~ found ~ ": start the server with it, or put the server's own into"
                   ~ " the profile"]) -%}
{%- endmacro -%}


{%- macro _show_same_times(zone, other) -%}
    {#- Whether they are names of one zone (UTC, Etc/UTC), by all half days since 1970. Spark fails over a name that it does not know. -#}
    {%- if zone not in modules.pytz.all_timezones and not modules.re.fullmatch('Z|((UTC|GMT)?[+-][0-9]{2}:[0-9]{2})', zone) -%}
        {%- do return(false) -%}
    {%- endif -%}
    {%- set utc = "to_utc_timestamp(moment, {})" -%}
    {%- do return(run_query("select bool_and(" ~ utc.format(dbt_cdc._literal(zone)) ~ " = " ~ utc.format(dbt_cdc._literal(other))
        ~ ") from (select explode(sequence(timestamp_ntz '1970-01-01', timestamp_ntz '2038-01-01', interval '12' hour)) as moment)"
        )[0][0]) -%}
{%- endmacro -%}


{%- macro _refused_settings(users) -%}
    {#- Pairs: those of `users` that are concerned, and the settings: name -> the value that is refused, what is expected, and why. -#}
    {%- set by_format, pairs = {}, [] -%}
    {%- for user in users if graph.nodes[user].resource_type in ['model', 'snapshot'] -%}
        {%- for format in dbt_cdc._formats_of_node(graph.nodes[user]) -%}
            {%- do by_format.setdefault(format, []).append(user) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if users -%}{%- do pairs.append([users, dbt_cdc._settings_of_meaning()]) -%}{%- endif -%}
    {%- for format, names in by_format.items() if format in dbt_cdc._formats() -%}
        {%- do pairs.append([names, dbt_cdc._for_format('refused_settings', format)()]) -%}
    {%- endfor -%}
    {%- do return(pairs) -%}
{%- endmacro -%}


{%- macro _formats_of_node(node) -%}
    {#- That of its table, or, where it does not say one, those of the nodes that it reads. (_changed_table asks for sources, too.) -#}
    {%- set own, formats = dbt_cdc._format_of_node(node), [] -%}
    {%- if own -%}{%- do return([own]) -%}{%- endif -%}
    {%- for upstream in node.depends_on.nodes if upstream in graph.nodes -%}
        {%- do formats.append(dbt_cdc._format_of_node(graph.nodes[upstream])) -%}
    {%- endfor -%}
    {%- do return(formats | unique | list) -%}
{%- endmacro -%}


{%- macro _format_of_node(node) -%}
    {%- set is_own = node.config.materialized in dbt_cdc._own_materializations() -%}
    {%- do return(dbt_cdc._file_format(node.config) if is_own else node.config.get('file_format')) -%}
{%- endmacro -%}


{%- macro _settings_of_meaning() -%}
    {%- do return({
        'spark.sql.parser.escapedStringLiterals':
            ['true', 'false', "values with quotes or backslashes would be written as others"],
        'spark.sql.parser.quotedRegexColumnNames':
            ['true', 'false', "quoted names of columns would be taken for patterns"],
        'spark.sql.caseSensitive':
            ['true', 'false', "a column would be another where it is spelled with other capitals"],
        'spark.sql.hive.thriftServer.singleSession':
            ['true', 'false', "threads would change each other's time zone and temporary views"],
    }) -%}
{%- endmacro -%}


{%- macro _branch_faults(tables) -%}
    {#- A session that writes to a branch of this node's table, or to none, or reads a branch of an upstream: what runs note of them
        and read back is the main branch. (hash_diff asks the session that it loads in: _hash_diff_guard.py.) -#}
    {%- set faults, session = [], {} -%}
    {%- for table in tables if dbt_cdc._writes_tables() -%}
        {%- set existing = dbt_cdc._load_relation(table) if table != this else none -%}
        {%- set format = dbt_cdc._file_format(model.config) if table == this else dbt_cdc._format_of(existing) if existing else none -%}
        {%- set given = [] -%}
        {%- for name in dbt_cdc._formats().get(format, {}).get('branch_settings', []) -%}
            {%- if not session -%}{%- do session.update(dbt_cdc._given_settings()) -%}{%- endif -%}
            {%- if name in session -%}{%- do given.append(name ~ ' is ' ~ session[name]) -%}{%- endif -%}
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
    {%- do return(node.config.get('materialized') in dbt_cdc._own_materializations()
                  or 'macro.dbt_cdc.' in node.get('depends_on', {}).get('macros', []) | join(' ')) -%}
{%- endmacro -%}

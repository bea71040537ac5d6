{#- Names such as `a b` or `a.b`: a format may refuse them in a table that lacks certain properties, which it gets only where
    a name asks for them, as they limit who can read the table. -#}

{%- macro _is_odd_name(name) -%}
    {%- do return(modules.re.search('[ ,;{}()\n\t=.]', name) is not none) -%}
{%- endmacro -%}


{%- macro _properties_of_names(names, format, types) -%}
    {#- The properties of a new table with columns of these names and types, as names in structs count too. -#}
    {%- set properties, inside = {}, dbt_cdc._names_inside(types | join(' ')) -%}
    {%- for name in (names | list) + inside if dbt_cdc._is_odd_name(name) -%}
        {%- do properties.update(dbt_cdc._formats()[format].column_names) -%}
    {%- endfor -%}
    {%- do return(properties) -%}
{%- endmacro -%}


{%- macro _later_properties(properties, format) -%}
    {#- Switches those off in `properties`, which is changed, that can't be on beside the others in the creating statement, whether
        either are asked for there or by the session, and gives them, to be set afterwards. -#}
    {%- set abilities, later = dbt_cdc._formats()[format], {} -%}
    {%- for name, default in abilities.set_later.items() -%}
        {%- set value = properties[name] if name in properties else dbt_cdc._session_setting(default) -%}
        {%- if value | string | lower == 'true' -%}{%- do later.update({name: value}) -%}{%- endif -%}
    {%- endfor -%}
    {%- set is_mapped = abilities.column_names.keys() | select('in', properties) | list -%}
    {%- if not later or not (is_mapped or dbt_cdc._for_format('names_by_session', format)()) -%}{%- do return({}) -%}{%- endif -%}
    {%- for name in later -%}{%- do properties.update({name: 'false'}) -%}{%- endfor -%}
    {%- do return(later) -%}
{%- endmacro -%}


{#- Whether a session gives those properties to tables that do not name them. -#}
{%- macro default__names_by_session() -%}{%- do return(false) -%}{%- endmacro -%}


{%- macro delta__names_by_session() -%}
    {%- set mode = dbt_cdc._session_setting('spark.databricks.delta.properties.defaults.columnMapping.mode') -%}
    {%- do return(mode not in ['<undefined>', 'none']) -%}
{%- endmacro -%}


{%- macro _failing_names(format) -%}
    {#- Patterns of names, in small letters, by which a table of this node fails -> what is said of such a column, with %s for
        its name. -#}
    {%- set logged, abilities = dbt_cdc._meta().get('change_log') is not none, dbt_cdc._formats()[format] -%}
    {%- do return({
        (abilities.own_columns + (abilities.feed_columns if logged else [])) | join('|'):
            "column '%s' has a name by which a table of format '" ~ format ~ "'" ~ (' with a change log' if logged else '')
            ~ " fails: rename it, or leave it out",
        '(?s).*[$][{].*': "column '%s': Spark puts a setting in place of ${…} wherever it stands: rename it",
    }) -%}
{%- endmacro -%}


{%- macro _failing_name_faults(names, format) -%}
    {%- set faults = [] -%}
    {%- for pattern, fault in dbt_cdc._failing_names(format).items() -%}
        {%- for name in names if modules.re.fullmatch(pattern, name | lower) -%}{%- do faults.append(fault % name) -%}{%- endfor -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro delta__map_names(relation) -%}
    {#- a table that is mapped otherwise, by `id`, can't be mapped by name any more -#}
    {%- if dbt_cdc._table_properties(relation).get('delta.columnMapping.mode', 'none') != 'none' -%}{%- do return([]) -%}{%- endif -%}
    {#- the versions name what readers and writers must know; those that a table has beyond it stay -#}
    {%- set versions = {'delta.minReaderVersion': '2', 'delta.minWriterVersion': '5'} -%}
    {%- do return([dbt_cdc._properties_statement(relation, dict(dbt_cdc._formats().delta.column_names, **versions))]) -%}
{%- endmacro -%}

{#- Switches a table's own change feed on, in the format that has a switch, where its timeline says that there is none. -#}

{%- macro delta__feed_on(relation) -%}
    {%- do dbt_cdc._set_properties(relation, {dbt_cdc._delta_feed(): 'true'}) -%}
{%- endmacro -%}


{%- macro _delta_feed() -%}{%- do return('delta.enableChangeDataFeed') -%}{%- endmacro -%}


{#- The same as properties of a new table of these columns, whose first commit is then in its feed. -#}
{%- macro delta__feed_properties(names) -%}
    {%- do return({dbt_cdc._delta_feed(): 'true'} if not dbt_cdc._without_delta_feed(names) else {}) -%}
{%- endmacro -%}


{%- macro default__feed_properties(names) -%}{%- do return({}) -%}{%- endmacro -%}


{%- macro _is_delta_feed_on(properties) -%}
    {#- Delta keeps the text that it was given: dbt writes a YAML `true` as True. -#}
    {%- do return(properties.get(dbt_cdc._delta_feed(), '') | lower == 'true') -%}
{%- endmacro -%}


{#- What keeps a table's change feed from being read: columns that it can't hold, settings of the session. -#}

{%- macro delta__feed_faults(columns) -%}
    {%- set faults = [] -%}
    {#- asked at a run's start, too, but not for a model that comes here by a macro of its project -#}
    {%- if dbt_cdc._session_setting('spark.sql.caseSensitive') | lower == 'true' -%}
        {%- do faults.append("spark.sql.caseSensitive must be false where Delta's change feed is read, got true: ranges of versions"
                             ~ " are told apart by small and capital letters in the table's name; take the setting out") -%}
    {%- endif -%}
    {%- for name in dbt_cdc._without_delta_feed(columns | map(attribute='name')) -%}
        {%- do faults.append("the column " ~ name ~ " has a name by which Delta's change feed fails: rename it") -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _delta_view_faults() -%}
    {#- dbt gives the same default to analyses, hooks and `show --inline`, which make none -#}
    {%- set node = model | default({}) -%}
    {%- if node.get('resource_type') != 'model' or node.config.get('materialized') != 'view' -%}{%- do return([]) -%}{%- endif -%}
    {%- do return(["Spark makes no view over Delta's change feed, got a model of materialized 'view' (dbt's default), expected a"
                   ~ " 'table' or an 'incremental' model; set `materialized` so"]) -%}
{%- endmacro -%}


{%- macro _may_become_view() -%}
    {#- An ephemeral model is a part of what reads it, and a test may keep its failures in a view. -#}
    {%- set node = model | default({}) -%}
    {%- do return(node.get('resource_type') == 'test'
                  or node.get('resource_type') == 'model' and node.config.get('materialized') in ['view', 'ephemeral']) -%}
{%- endmacro -%}


{%- macro _without_delta_feed(names) -%}
    {#- The names by which Delta's change feed fails. -#}
    {%- set found = [] -%}
    {%- set pattern = dbt_cdc._formats().delta.feed_columns | join('|') -%}
    {%- for name in names if modules.re.fullmatch(pattern, name | lower) -%}{%- do found.append(name) -%}{%- endfor -%}
    {%- do return(found) -%}
{%- endmacro -%}


{%- macro default__feed_faults(columns) -%}{%- do return([]) -%}{%- endmacro -%}

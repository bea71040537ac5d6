{%- macro table_changes(relation, begin=none, end=none, format='cdc', unique_key=none) -%}
    {#- Row changes of a table in a range of its versions, as a subquery for a `from` clause. Reads the format's own feed
        (Delta's change data feed, Iceberg's changelog, Hudi's CDC query) or the log that dbt_cdc keeps; where there is
        neither it compares the two versions by key. -#}
    {%- set target_relation = dbt_cdc._relation_named(relation) -%}
    {%- if not execute or dbt_cdc._is_not_built_yet(target_relation) -%}
        {%- do return('(select cast(null as string) as op)') -%}
    {%- endif -%}
    {%- if dbt_cdc._is_given_by_test(target_relation) -%}{%- do return('(select * from ' ~ target_relation ~ ')') -%}{%- endif -%}
    {%- do return(dbt_cdc._table_changes(target_relation, begin, end, format, unique_key)) -%}
{%- endmacro -%}


{%- macro _table_changes(relation, begin, end, format, unique_key) -%}
    {%- set formats = ['cdc', 'latest_state', 'net'] -%}
    {%- do dbt_cdc._raise_faults(
        dbt_cdc._value_faults('format', {'type': 'string', 'values': formats, 'required': true}, format)) -%}
    {%- if relation.is_cte -%}
        {%- do dbt_cdc._raise_faults(["changes of " ~ relation.identifier ~ ": it is an ephemeral model,"
            ~ " expected a table that keeps versions; materialize it"]) -%}
    {%- endif -%}
    {%- set relation = dbt_cdc._whole_relation(relation) -%}
    {#- docs are of the whole project, whether or not its tables hold a range just now -#}
    {%- if flags.EMPTY or flags.WHICH == 'generate' -%}
        {%- do return(dbt_cdc._no_changes(dbt_cdc._changed_table(relation, unique_key, log=false))) -%}
    {%- endif -%}
    {%- set table = dbt_cdc._as_events(dbt_cdc._changed_table(relation, unique_key, begin if end is none else none), unique_key) -%}
    {%- do return(dbt_cdc._changes_of(table, begin, end, format)) -%}
{%- endmacro -%}


{%- macro _changes_of(table, begin, end, format, each_commit=false) -%}
    {#- The changes of a table that _changed_table has looked at already. `each_commit`: where no feed is on, compare each
        version of the range with the one before it, not only the two ends. -#}
    {%- set scope = dbt_cdc._change_range(table, begin, end) -%}
    {%- if scope.before_log -%}{%- do return(dbt_cdc._changes_of(table.own, begin, end, format, each_commit)) -%}{%- endif -%}
    {%- if not table.key and (format != 'cdc' or not scope.fed) -%}
        {%- set why = "format '" ~ format ~ "'" if scope.fed else "a comparison of two versions (no change feed is on)" -%}
        {%- do dbt_cdc._raise_faults(["changes of " ~ table.source ~ ": " ~ why ~ " needs the key, got no unique_key, "
            ~ "expected the names of its key columns; give `unique_key`, here or on the model"]) -%}
    {%- endif -%}
    {%- if not scope.fed and not each_commit and table.log is none -%}{%- do dbt_cdc._log_comparison(table, scope) -%}{%- endif -%}
    {%- do return(dbt_cdc._changes_query(table, scope, format, each_commit)) -%}
{%- endmacro -%}


{%- macro _log_comparison(table, scope) -%}
    {#- Says that what came between the two ends of a range is not told, where there is something between them. -#}
    {%- set commits = table.timeline.commits[scope.begin + 1:scope.end + 1] -%}
    {%- set made = 1 if scope.begin < 0 and not dbt_cdc._writes_rows(commits[:1]) else 0 -%}
    {%- set commits = commits[made:] | rejectattr('quiet') | list -%}
    {%- if commits | length > 1 -%}
        {%- do log('dbt_cdc: ' ~ dbt_cdc._running() ~ ': ' ~ table.source ~ ' has no change feed: one change per key tells its '
                   ~ commits | length ~ " commits, by a comparison of the range's end with what was there before it", info=true) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _changes_query(table, scope, format, each_commit) -%}
    {%- if scope.end <= scope.begin -%}
        {%- do return(dbt_cdc._no_changes(table)) -%}
    {%- endif -%}
    {%- set commits = table.timeline.commits -%}
    (
    with
    {%- if table.log is not none %}
    {{ dbt_cdc._logged_changes(table, scope) }}
    {%- else %}
    images as (
        {% if scope.fed -%}
            {{ dbt_cdc._for_format('changes', table.format)(table, scope.begin, scope.end) }}
        {%- elif each_commit -%}
            {{ dbt_cdc._adjacent_versions(table, scope.begin, scope.end) }}
        {%- else -%}
            {{ dbt_cdc._two_versions(table, commits[scope.begin].version if scope.begin >= 0 else none,
                                     commits[scope.end], scope.end) }}
        {%- endif %}
    ),

    {{ dbt_cdc._paired_by_key(table) if table.key else dbt_cdc._unpaired(table) }}
    {%- endif %}
    {%- if format != 'cdc' -%}
    ,

    {{ dbt_cdc._latest_state(table) if format == 'latest_state' else dbt_cdc._net(table) }}
    {%- endif %}

    select
        op,
        ts,
        version,
        {{ dbt_cdc._literal(table.source) }} as source,
        before,
        after
    from {{ 'row_changes' if format == 'cdc' else 'asked_for' }}
    )
{%- endmacro -%}


{%- macro _no_changes(table) -%}
    {#- No rows, right schema. No image is one that a query could take apart: Spark 4.1 plans no union of two such queries, where
        before and after are the same columns. -#}
    {%- set image = 'if(true, null, ' ~ dbt_cdc._image(table) ~ ')' -%}
    (
    select
        'i' as op,
        current_timestamp() as ts,
        '' as version,
        {{ dbt_cdc._literal(table.source) }} as source,
        {{ image }} as before,
        {{ image }} as after
    from {{ table.relation }}
    where false
    )
{%- endmacro -%}


{%- macro _table_changes_of_python(unique_id, upstream, begin, end, format, unique_key) -%}
    {#- What dbt_cdc.changes calls while a Python model runs. -#}
    {%- do dbt_cdc._set_model_context(unique_id) -%}
    {%- do return(dbt_cdc._table_changes(dbt_cdc._relation_called(upstream), begin, end, format, unique_key)) -%}
{%- endmacro -%}

{#- The target's payload, and the part that each of its columns plays. -#}
{%- macro _apply_payload(plan, staged, known, reaching) -%}
    {#- A new table has the columns that reach it; an existing one keeps its own, and `plan.new` are those it lacks. -#}
    {%- set payload, given, types = [], {}, dbt_cdc._types_by_name(staged) -%}
    {%- for name in reaching -%}{%- do given.update({name | lower: name}) -%}{%- endfor -%}
    {%- set keys = plan.key | map('lower') | list -%}
    {%- for column in known if column.name | lower not in keys + plan.reserved -%}
        {%- do payload.append({'name': column.name, 'source': given.pop(column.name | lower, none), 'type': column.dtype}) -%}
    {%- endfor -%}
    {%- set more = [] -%}
    {%- for name in reaching if name | lower in given -%}
        {%- do more.append({'name': name, 'source': name, 'type': types[name | lower]}) -%}
    {%- endfor -%}
    {%- if not known -%}{%- do return(more) -%}{%- endif -%}
    {%- do return(payload + dbt_cdc._apply_schema_change(plan, more, payload | selectattr('source', 'none') | list)) -%}
{%- endmacro -%}


{%- macro _apply_schema_change(plan, more, missing) -%}
    {#- dbt's on_schema_change: which of the batch's new columns the target gets. Those that are left out are not recorded either, so
        that their events could not be given again for them: one that is asked for by name is not passed over. -#}
    {%- set rule = config.get('on_schema_change') or 'ignore' -%}
    {%- set more_names, missing_names = more | map(attribute='name') | join(', '), missing | map(attribute='name') | join(', ') -%}
    {%- if not (more or missing) -%}{%- do return([]) -%}{%- endif -%}
    {%- if rule == 'ignore' -%}
        {%- if more and plan.options.column_list -%}
            {%- do plan.faults.append("column_list names columns that are new to the table (" ~ more_names ~ "), and"
                                      ~ " on_schema_change: ignore leaves them out: set 'on_schema_change: append_new_columns', or"
                                      ~ " take them off the list") -%}
        {%- elif more -%}
            {%- do log('dbt_cdc: ' ~ dbt_cdc._running() ~ ' leaves out columns that are new to its table (' ~ more_names
                       ~ '), by on_schema_change: ignore', info=true) -%}
        {%- endif -%}
        {%- do return([]) -%}
    {%- elif rule == 'fail' -%}
        {%- do plan.faults.append("on_schema_change: fail: the batch has columns that the table lacks (" ~ (more_names or 'none')
                                  ~ "), or lacks columns that the table has (" ~ (missing_names or 'none')
                                  ~ "): give the columns of the table, or change on_schema_change") -%}
    {%- elif rule == 'sync_all_columns' and missing -%}
        {%- do plan.faults.append("on_schema_change: sync_all_columns would drop " ~ missing_names
                                  ~ ", which dbt-spark does not do: use append_new_columns, or " ~ dbt_cdc._apply_anew()) -%}
    {%- endif -%}
    {%- do plan.new.extend(more) -%}
    {%- do return(more) -%}
{%- endmacro -%}


{%- macro _apply_roles(plan) -%}
    {#- Marks each payload column: tracked (makes a new version), ignore_null, partial (an event may leave it as it was). -#}
    {%- set options, names = plan.options, plan.payload | map(attribute='name') | list -%}
    {%- set faults, with_key, absent, keys = plan.faults, names + plan.key, {}, {} -%}
    {%- for name in plan.names -%}
        {%- do absent.update({name: 'does not reach the table (by column_list, except_column_list or on_schema_change)'}) -%}
    {%- endfor -%}
    {%- for name in plan.key -%}{%- do keys.update({name | lower: 'is a key, which is never NULL'}) -%}{%- endfor -%}
    {%- set track = dbt_cdc._apply_columns(options.track_history_column_list or [], 'track_history_column_list', with_key, faults,
                                           absent) -%}
    {%- set untrack = dbt_cdc._apply_columns(options.track_history_except_column_list or [], 'track_history_except_column_list',
                                             with_key, faults, absent) -%}
    {%- set ignore = dbt_cdc._apply_columns(options.ignore_null_updates_column_list or [], 'ignore_null_updates_column_list',
                                            names, faults, dict(absent, **keys)) -%}
    {%- set heed = dbt_cdc._apply_columns(options.ignore_null_updates_except_column_list or [],
                                          'ignore_null_updates_except_column_list', with_key, faults, absent) -%}
    {%- for column in plan.payload -%}
        {%- set ignore_null = column.name in ignore if ignore else
                              (column.name not in heed if heed else options.ignore_null_updates is true) -%}
        {%- do column.update(
            tracked=(column.name in track if track else column.name not in untrack),
            ignore_null=ignore_null,
            partial=ignore_null or plan.columns_to_update is not none) -%}
    {%- endfor -%}
{%- endmacro -%}


{%- macro _apply_find_fields(plan, known, shape) -%}
    {#- `known`: the names that `shape`, the table as it is, has of the columns. -#}
    {%- for column in plan.payload if column.ignore_null -%}
        {%- set relation = shape if column.name in known else plan.stage -%}
        {%- do column.update(fields=dbt_cdc._apply_fields(relation, 'given.' ~ dbt_cdc._quote(column.name), column.type)) -%}
    {%- endfor -%}
{%- endmacro -%}


{%- macro _apply_fields(relation, value, type) -%}
    {#- Asked of Spark: in its text for a type, names stand as they are, whatever characters they have. None of what is no struct. -#}
    {%- if not type.startswith('struct<') -%}{%- do return(none) -%}{%- endif -%}
    {%- set fields = [] -%}
    {%- for name, inner in dbt_cdc._types_as_spelled(relation ~ ' as given', value ~ '.*').items() -%}
        {%- do fields.append([name, dbt_cdc._apply_fields(relation, value ~ '.' ~ dbt_cdc._quote(name), inner)]) -%}
    {%- endfor -%}
    {%- do return(fields) -%}
{%- endmacro -%}

{#- The target's payload, and the part that each of its columns plays. -#}
{%- macro _apply_payload(plan, batch, known, reaching) -%}
    {#- A new table has the columns that reach it; an existing one keeps its own, and `plan.new` are those it lacks. -#}
    {%- set types = {} -%}
    {%- for column in batch -%}{%- do types.update({column.name: column.dtype}) -%}{%- endfor -%}
    {%- set payload, given = [], {} -%}
    {%- for name in reaching -%}{%- do given.update({name | lower: name}) -%}{%- endfor -%}
    {%- set keys = plan.key | map('lower') | list -%}
    {%- for column in known if column.name | lower not in keys + plan.reserved
                               and not (column.name | lower).startswith('_dbt_cdc_') -%}
        {%- do payload.append({'name': column.name, 'source': given.pop(column.name | lower, none), 'type': column.dtype}) -%}
    {%- endfor -%}
    {%- set more = [] -%}
    {%- for name in reaching if name | lower in given -%}
        {%- do more.append({'name': name, 'source': name, 'type': types[name]}) -%}
    {%- endfor -%}
    {%- if not known -%}{%- do return(more) -%}{%- endif -%}
    {%- do return(payload + dbt_cdc._apply_schema_change(plan, more, payload | selectattr('source', 'none') | list)) -%}
{%- endmacro -%}


{%- macro _apply_schema_change(plan, more, missing) -%}
    {#- dbt's on_schema_change: which of the batch's new columns the target gets. -#}
    {%- set rule = config.get('on_schema_change') or 'ignore' -%}
    {%- set more_names, missing_names = more | map(attribute='name') | join(', '), missing | map(attribute='name') | join(', ') -%}
    {%- if rule == 'ignore' or not (more or missing) -%}{%- do return([]) -%}{%- endif -%}
    {%- if rule == 'fail' -%}
        {%- do plan.faults.append("on_schema_change: fail: the batch has columns that the table lacks (" ~ (more_names or 'none')
                                  ~ "), or lacks columns that the table has (" ~ (missing_names or 'none') ~ ")") -%}
    {%- elif rule == 'sync_all_columns' and missing -%}
        {%- do plan.faults.append("on_schema_change: sync_all_columns would drop " ~ missing_names
                                  ~ ", which dbt-spark does not do: use append_new_columns, or run with --full-refresh") -%}
    {%- endif -%}
    {%- do plan.new.extend(more) -%}
    {%- do return(more) -%}
{%- endmacro -%}


{%- macro _apply_roles(plan) -%}
    {#- Marks each payload column: tracked (makes a new version), ignore_null, partial (an event may leave it as it was). -#}
    {%- set options, names = plan.options, plan.payload | map(attribute='name') | list -%}
    {%- set faults = plan.faults -%}
    {%- set track = dbt_cdc._apply_columns(options.track_history_column_list or [], 'track_history_column_list',
                                           names + plan.key, faults) -%}
    {%- set untrack = dbt_cdc._apply_columns(options.track_history_except_column_list or [],
                                             'track_history_except_column_list', names + plan.key, faults) -%}
    {%- set ignore = dbt_cdc._apply_columns(options.ignore_null_updates_column_list or [],
                                            'ignore_null_updates_column_list', names, faults) -%}
    {%- set heed = dbt_cdc._apply_columns(options.ignore_null_updates_except_column_list or [],
                                          'ignore_null_updates_except_column_list', names, faults) -%}
    {%- for column in plan.payload -%}
        {%- set ignore_null = column.name in ignore if ignore else
                              (column.name not in heed if heed else options.ignore_null_updates is true) -%}
        {%- do column.update(
            tracked=(column.name in track if track else column.name not in untrack),
            ignore_null=ignore_null,
            partial=ignore_null or plan.columns_to_update is not none) -%}
    {%- endfor -%}
{%- endmacro -%}


{%- macro _apply_types(plan) -%}
    {#- The moments' types, and whether the conditions are conditions: asked of Spark, which only analyses the query. -#}
    {%- set options, faults, asked = plan.options, [], [] -%}
    {%- for name, moment in plan.moments.items() -%}{%- do asked.append(moment.sql ~ ' as ' ~ moment.option) -%}{%- endfor -%}
    {%- set moments = plan.moments.values() | list -%}
    {%- for option in ['apply_as_deletes', 'apply_as_truncates'] if options[option] -%}
        {%- do asked.append('(' ~ options[option] ~ '\n) as ' ~ option) -%}
    {%- endfor -%}
    {%- if plan.columns_to_update -%}
        {%- do asked.append(dbt_cdc._quote(plan.columns_to_update) ~ ' as columns_to_update') -%}
    {%- endif -%}
    {%- for row in run_query('describe query select ' ~ asked | join(', ') ~ ' from ' ~ plan.stage) -%}
        {%- set type, moment = row[1], moments | selectattr('option', 'equalto', row[0]) | first -%}
        {%- if moment -%}
            {%- do moment.update(type=type) -%}
            {%- if type.startswith('struct<') and not moment.parts -%}
                {%- do moment.update(parts=dbt_cdc._apply_struct_fields(plan, moment)) -%}
            {%- endif -%}
            {%- if 'map<' in type or type in ['void', 'variant'] or type.startswith('interval') -%}
                {%- do faults.append(row[0] ~ " must be of a type that sorts and that tables keep, got " ~ type) -%}
            {%- endif -%}
        {%- elif row[0] == 'columns_to_update' -%}
            {%- if type != 'array<string>' -%}
                {%- do faults.append("columns_to_update must be a column of type array<string>, got " ~ type) -%}
            {%- endif -%}
        {%- elif type != 'boolean' -%}
            {%- do faults.append("option '" ~ row[0] ~ "' must be a condition (boolean), got an expression of type " ~ type) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for name in plan.key if dbt_cdc._lacks_equality(plan.types[name | lower]) -%}
        {%- do faults.append("unique_key: column '" ~ name ~ "' must be of a type that sorts, got " ~ plan.types[name | lower]) -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _apply_struct_fields(plan, moment) -%}
    {%- set fields = [] -%}
    {%- for row in run_query('describe query select moment.* from (select ' ~ moment.sql ~ ' as moment from '
                             ~ plan.stage ~ ') as batch') -%}
        {%- do fields.append(row[0]) -%}
    {%- endfor -%}
    {%- do return(fields) -%}
{%- endmacro -%}


{%- macro _apply_properties(plan) -%}
    {#- What must stay the same over the life of a table, kept as table properties of the ledger. -#}
    {%- set options = plan.options -%}
    {%- set lists = {} -%}
    {%- for option in ['track_history_column_list', 'track_history_except_column_list', 'ignore_null_updates',
                       'ignore_null_updates_column_list', 'ignore_null_updates_except_column_list'] -%}
        {%- set value = options[option] or none -%}
        {%- do lists.update({option: (value | map('lower') | sort | list if value is iterable else value) | tojson}) -%}
    {%- endfor -%}
    {%- for name, moment in plan.moments.items() -%}{%- do lists.update({name ~ '_type': moment.type}) -%}{%- endfor -%}
    {%- do return(dict(lists, unique_key=plan.key | map('lower') | sort | list | tojson, hash_rule='2',
                       columns_to_update=plan.columns_to_update | tojson,
                       stored_as_scd_type=options.stored_as_scd_type | string, source_kind=options.source_kind,
                       start_at_column=options.start_at_column, end_at_column=options.end_at_column,
                       system_start_at_column=options.system_start_at_column, system_end_at_column=options.system_end_at_column)) -%}
{%- endmacro -%}


{%- macro _apply_drift(wanted, kept) -%}
    {%- set faults = [] -%}
    {#- names in them may be spelled anew -#}
    {%- for name, value in wanted.items() if kept and kept.get('dbt_cdc.' ~ name, value) | lower != value | lower -%}
        {%- do faults.append(name ~ " can't change on an existing table: it was created with "
                             ~ kept['dbt_cdc.' ~ name] ~ ", this run has " ~ value
                             ~ "; put it back, or run with --full-refresh") -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}

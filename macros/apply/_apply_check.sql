{#- What is wrong with a batch alone, found before anything is written. -#}
{%- macro _apply_check_batch(plan) -%}
    {#- Looks at the batch alone, by one query and one for casts: sets plan.wrong, rows, deletes, truncates and bounds, and adds
        what is wrong to plan.faults. -#}
    {%- set null_key = dbt_cdc._quoted_list(plan.key) | join(' is null or ') ~ ' is null' -%}
    {%- do plan.update(wrong={
        'null_key': "_dbt_cdc_kind <> 'truncate' and (" ~ null_key ~ ")",
        'unknown_column': "size(array_except(_dbt_cdc_columns, array(" ~ dbt_cdc._literal_list(plan.names) ~ "))) > 0",
    }) -%}
    {%- set blank = dbt_cdc._apply_blank_keys(plan) -%}
    {%- if blank -%}{%- do plan.wrong.update(blank_key="_dbt_cdc_kind <> 'truncate' and (" ~ blank | join(' or ') ~ ')') -%}{%- endif -%}
    {%- do plan.wrong.update(dbt_cdc._apply_null_moments(plan)) -%}
    {%- do plan.wrong.update(dbt_cdc._apply_broken_checks(plan)) -%}
    {%- set measures = dict(
        {'rows': 'count(*)', 'deletes': "count_if(_dbt_cdc_kind = 'delete')", 'truncates': "count_if(_dbt_cdc_kind = 'truncate')"},
        **dbt_cdc._apply_bound_measures(plan)) -%}
    {%- for name, sql in plan.wrong.items() -%}{%- do measures.update({'wrong: ' ~ name: 'count_if(' ~ sql ~ ')'}) -%}{%- endfor -%}
    {%- set row = run_query('with given as (' ~ dbt_cdc._apply_given(plan) ~ ')\n\nselect '
                            ~ dbt_cdc._select_list(measures) ~ ' from given')[0] -%}
    {%- set lost = dbt_cdc._apply_cast_faults(plan) if not plan.given else {} -%}
    {%- do plan.faults.extend(lost.values()) -%}
    {#- a truncate concerns every key, and has none itself -#}
    {%- set bounds = dbt_cdc._apply_bounds(plan, row) if not row['truncates'] else none -%}
    {%- do plan.update(rows=row['rows'], deletes=row['deletes'], truncates=row['truncates'], bounds=bounds) -%}
    {#- a value that fails to cast is NULL from here on: its own fault tells it, no other does so again -#}
    {%- set told_by_cast = plan.checks.keys() | list if lost else [] -%}
    {%- if plan.key | map('lower') | select('in', lost) | list -%}{%- do told_by_cast.append('null_key') -%}{%- endif -%}
    {%- for name in plan.wrong if row['wrong: ' ~ name] and name not in told_by_cast -%}
        {%- do plan.faults.append(dbt_cdc._apply_bad_rows_fault(plan, name, row['wrong: ' ~ name])) -%}
    {%- endfor -%}
{%- endmacro -%}


{%- macro _apply_blank_keys(plan) -%}
    {#- Conditions on keys that would not be found again. -#}
    {%- set conditions = [] -%}
    {%- for name in plan.key if name | lower in plan.blanks -%}
        {%- do conditions.append('cast(' ~ dbt_cdc._quote(name) ~ " as string) = ''") -%}
    {%- endfor -%}
    {%- do return(conditions) -%}
{%- endmacro -%}


{%- macro _apply_cast_faults(plan) -%}
    {#- {column: fault}, of values that do not come back the same from the type that the table has. What is nested only ever widens. -#}
    {%- set faults, measures = {}, {} -%}
    {%- for name, type in plan.casts.items() if '<' not in type and name not in plan.nulls -%}
        {%- set column = dbt_cdc._quote(name) -%}
        {%- set cast = 'try_cast(' ~ column ~ ' as ' ~ dbt_cdc._type_text(type) ~ ')' -%}
        {%- set lost = 'not (try_cast(' ~ cast ~ ' as ' ~ dbt_cdc._type_text(plan.types[name]) ~ ') <=> ' ~ column ~ ')' -%}
        {%- if plan.types[name] == 'string' and dbt_cdc._is_exact(type) -%}
            {#- such values have several spellings -#}
            {%- set lost = column ~ ' is not null and ' ~ dbt_cdc._read_as(column, type) ~ ' is null' -%}
        {%- endif -%}
        {%- do measures.update({'lost: ' ~ name: 'count_if(' ~ lost ~ ')',
                                'example: ' ~ name: 'min(if(' ~ lost ~ ', cast(' ~ column ~ ' as string), null))'}) -%}
    {%- endfor -%}
    {%- if not measures -%}{%- do return({}) -%}{%- endif -%}
    {%- set row = run_query('select ' ~ dbt_cdc._select_list(measures) ~ ' from ' ~ plan.stage)[0] -%}
    {%- for name, type in plan.casts.items() if row.get('lost: ' ~ name) -%}
        {%- do faults.update({name: "column '" ~ name ~ "': the table has type " ~ type ~ ", the batch " ~ plan.types[name] ~ " with "
            ~ row['lost: ' ~ name] ~ " value(s) that it can't hold, for example " ~ row['example: ' ~ name]
            ~ ": cast it in the model, or " ~ dbt_cdc._apply_anew()}) -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _apply_bad_rows_fault(plan, name, count) -%}
    {%- set said, remedy = dbt_cdc._apply_bad_rows_text(plan, name) -%}
    {%- set query -%}
with given as ({{ dbt_cdc._apply_given(plan) }})

select distinct to_json(named_struct({{ dbt_cdc._apply_shown(plan) }}
    {%- if name == 'unknown_column' %}, {{ dbt_cdc._literal(plan.columns_to_update) }}, _dbt_cdc_columns{% endif %}),
    map('ignoreNullFields', 'false'))
from given
where {{ plan.wrong[name] }}
order by 1
limit 5
    {%- endset -%}
    {%- do return(count ~ ' row(s) ' ~ said ~ ', for example ' ~ run_query(query).columns[0].values() | join(' ') ~ ': ' ~ remedy) -%}
{%- endmacro -%}


{%- macro _apply_bad_rows_text(plan, name) -%}
    {#- What the rows do, and the remedy. `name`: of a condition in plan.wrong, which is one of those here, one of plan.checks, or the
        option that orders events. -#}
    {%- set texts = {
        'null_key': [
            "have NULL in the key " ~ plan.key | join(', ') ~ " (only a truncate may, under stored_as_scd_type 1)",
            "give the model only rows with a whole key"],
        'blank_key': [
            "have an empty text in a key column by which the table is partitioned, where " ~ plan.format ~ " keeps NULL for it",
            "leave that column out of partition_by" ~ (' and ' ~ dbt_cdc._apply_anew() if plan.kept and not plan.rebuild else '')
            ~ ", or give it another value in the model"],
        'unknown_column': [
            "name columns in " ~ plan.columns_to_update ~ " that the batch does not have; it has " ~ plan.names | join(', '),
            "let it name columns of the batch, or be NULL where the event sets all of them"],
    } -%}
    {%- if name in texts -%}{%- do return(texts[name]) -%}{%- endif -%}
    {%- if name in plan.checks -%}
        {%- do return(["break the " ~ name ~ ", " ~ plan.checks[name], "mend these rows in the model"]) -%}
    {%- endif -%}
    {%- do return(["have NULL in " ~ name ~ " " ~ (plan.options[name] or []) | join(', '),
                   "give every event its place in the order, in the model"]) -%}
{%- endmacro -%}


{%- macro _apply_shown(plan) -%}
    {#- Keys and sequence: all of an event that an error shows. -#}
    {%- set fields = [] -%}
    {%- for name in plan.key -%}{%- do fields.append(dbt_cdc._literal(name) ~ ', ' ~ dbt_cdc._quote(name)) -%}{%- endfor -%}
    {%- for name in plan.moments -%}{%- do fields.append(dbt_cdc._literal(name) ~ ', _dbt_cdc_' ~ name) -%}{%- endfor -%}
    {%- do return(fields | join(', ')) -%}
{%- endmacro -%}

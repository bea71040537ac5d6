{#- How a run ends: what it says, and what it leaves behind. -#}
{%- macro _apply_report(plan, counts, sql) -%}
    {%- set message = 'APPLY CHANGES (' ~ plan.rows ~ ' events: ' ~ counts.inserted ~ ' inserted, ' ~ counts.updated ~ ' updated, '
                      ~ counts.deleted ~ ' deleted)' -%}
    {%- set operations = {'I': counts.inserted | int, 'U': counts.updated | int, 'D': counts.deleted | int} -%}
    {%- do return({'message': message, 'operations': operations, 'sql': sql}) -%}
{%- endmacro -%}


{%- macro _apply_fail(plan, faults, wrote=none) -%}
    {%- if faults -%}
        {%- do dbt_cdc._apply_drop(plan, []) -%}
        {%- do dbt_cdc._raise_faults(faults, wrote=wrote) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _apply_drop(plan, leftovers) -%}
    {#- This run's temporary tables, and those of killed runs: older than any run that may still be at work. -#}
    {%- set drop = dbt_cdc._for_format('drop_temporary', plan.format) -%}
    {%- set images = [plan.images] if plan.versions else [] -%}
    {%- set touched = [plan.touched] if plan.collected is not none else [] -%}
    {%- for relation in [plan.stage] + ([plan.changes] if plan.written else []) + images + touched -%}
        {%- do dbt_cdc._apply_execute(drop(relation)) -%}
    {%- endfor -%}
    {%- for name in leftovers -%}
        {%- do dbt_cdc._apply_execute(drop(plan.target.incorporate(path={'identifier': name}))) -%}
    {%- endfor -%}
{%- endmacro -%}


{%- macro _apply_leftovers(relations) -%}
    {#- Temporary tables begin with the time of their run (_apply_relations). -#}
    {%- set names = [] -%}
    {%- set prefix = (relations.target.identifier ~ '__dbt_tmp_') | lower -%}
    {%- set own = modules.re.escape(prefix) ~ '\\d{8}t\\d{12}_\\w{8}(_images|_touched|_changes)?' -%}
    {%- set a_day_ago = modules.datetime.datetime.now(modules.pytz.utc) - modules.datetime.timedelta(days=1) -%}
    {%- set oldest = prefix ~ a_day_ago.strftime('%Y%m%dt%H%M%S') -%}
    {%- for row in run_query('show tables in ' ~ relations.target.include(identifier=false) ~ ' like '
                             ~ dbt_cdc._literal(relations.target.identifier ~ '__dbt_tmp_*')) -%}
        {%- if modules.re.fullmatch(own, row[1] | lower) and row[1] | lower < oldest -%}{%- do names.append(row[1]) -%}{%- endif -%}
    {%- endfor -%}
    {%- do return(names) -%}
{%- endmacro -%}


{%- macro _apply_add_columns(plan, relations) -%}
    {#- New columns, in the ledger first: a killed run finds out by looking at each table what is still to be added. -#}
    {%- for relation in relations if plan.new -%}
        {%- set has = dbt_cdc._columns_of(relation) | map(attribute='name') | map('lower') | list -%}
        {%- set missing = {} -%}
        {%- for column in plan.new if column.name | lower not in has -%}
            {%- do missing.update({column.name: plan.types[column.name | lower]}) -%}
        {%- endfor -%}
        {%- do dbt_cdc._add_columns(relation, plan.format, missing) -%}
    {%- endfor -%}
{%- endmacro -%}


{%- macro _apply_new_column_faults(plan, state) -%}
    {#- Columns that are new to the feed, and that a table has already: its owner's own, or those of a killed run. -#}
    {%- set faults = [] -%}
    {%- for relation in [plan.ledger] + ([plan.target] if not state.rebuild else []) if plan.new and plan.has_ledger -%}
        {%- set there = dbt_cdc._whole_types(relation, dbt_cdc._columns_of(relation)) -%}
        {%- for column in plan.new if column.name | lower in there -%}
            {#- a query gives no lengths -#}
            {%- set own = modules.re.sub('^(var)?char\\(.*', 'string', there[column.name | lower]) -%}
            {%- set given = plan.types[column.name | lower] -%}
            {%- if own != given -%}
                {%- do faults.append("column '" ~ column.name ~ "' is new to the feed, as " ~ given ~ ", and " ~ relation ~ " has one of that"
                    ~ " name already, as " ~ own ~ ": cast it in the model, or drop the table's column") -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _apply_docs(target) -%}
    {#- Of the columns; the table's own description is in the statement that makes it. -#}
    {%- if not config.persist_column_docs() or not model.columns -%}{%- do return(none) -%}{%- endif -%}
    {%- set comments, there = {}, adapter.get_columns_in_relation(target) | map(attribute='name') | list -%}
    {%- for name, column in validate_doc_columns(target, model.columns, there).items() -%}
        {%- do comments.update({name | lower: column.description or ''}) -%}
    {%- endfor -%}
    {%- do dbt_cdc._bring_up_comments(target, comments) -%}
{%- endmacro -%}

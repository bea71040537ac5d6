{#- Statements that write {{ this }}, and when they run again. -#}
{%- macro _apply_show(plan, batches, everything=false) -%}
    {#- Brings {{ this }} up to the ledger for the keys of some batches and marks those as applied. Where another run has
        recorded a batch meanwhile, what was read may have been out of date: look again, at the same keys and at those of
        batches that are not shown yet. These are marked by their own run, which may still write what it read before; an
        image is shown by its own run alone, which may yet withdraw it. -#}
    {%- set now = namespace(batches=batches, everything=everything, settled=false, sql='', begun=plan.begun) -%}
    {%- set counts = {'inserted': 0, 'updated': 0, 'deleted': 0} -%}
    {%- for attempt in range(3) -%}
        {%- if not now.settled -%}
            {%- set written = dbt_cdc._apply_write(plan, none if now.everything else now.batches, now.begun) -%}
            {%- for operation, rows in written.counts.items() -%}
                {%- do counts.update({operation: counts[operation] + rows}) -%}
            {%- endfor -%}
            {%- set now.sql = now.sql ~ written.sql -%}
            {%- set after = dbt_cdc._apply_batches(plan.ledger, plan.format, plan.batch) -%}
            {%- set now.settled = after.begun == now.begun -%}
            {%- set now.begun, now.everything = after.begun, now.everything or after.everything -%}
        {%- endif -%}
        {%- if not now.settled -%}
            {%- set now.batches = now.batches + (after.pending if plan.options.source_kind == 'feed' else []) -%}
            {%- do dbt_cdc._apply_look_anew(plan) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if not now.settled -%}
        {%- do dbt_cdc._apply_fail(plan, ["other runs of this model keep recording events while this one writes: run it again when"
            ~ " they have ended"], wrote='its events are kept in ' ~ plan.ledger ~ ' for the next run to show') -%}
    {%- endif -%}
    {%- do dbt_cdc._apply_mark(plan, 'applied', batches) -%}
    {%- do return({'counts': counts, 'sql': now.sql}) -%}
{%- endmacro -%}


{%- macro _apply_look_anew(plan) -%}
    {#- What was collected before, and its range of keys, no longer says all. -#}
    {%- do plan.update(bounds=none, collected=false if plan.collected is not none else none) -%}
{%- endmacro -%}


{%- macro _apply_write(plan, batches, begun) -%}
    {#- `begun`: the signature of what other runs had recorded when this one looked. Where there is more by now, what has to
        change was worked out too early: nothing is written, as this run might be killed before it looks again. -#}
    {%- do dbt_cdc._look_again(plan.target, plan.format) -%}
    {%- set query = dbt_cdc._apply_changes_query(plan, batches) -%}
    {%- if plan.written -%}
        {%- do dbt_cdc._apply_execute(dbt_cdc._for_format('drop_temporary', plan.format)(plan.changes)) -%}
    {%- endif -%}
    {%- do plan.update(written=true) -%}
    {%- do dbt_cdc._apply_execute(dbt_cdc._apply_create(plan, plan.changes, query, temporary=true)) -%}
    {%- do dbt_cdc._look_again(plan.ledger, plan.format) -%}
    {%- set measures = ["count_if(_dbt_cdc_operation = 'insert')", "count_if(_dbt_cdc_operation = 'update')",
                        "count_if(_dbt_cdc_operation = 'delete')"] + dbt_cdc._apply_bound_measures(plan) -%}
    {%- set row = run_query('select ' ~ dbt_cdc._apply_signature_in(plan.ledger, plan.batch) ~ ', ' ~ measures | join(', ') ~ ' from ' ~ plan.changes)[0] -%}
    {%- set counts = {'inserted': row[1], 'updated': row[2], 'deleted': row[3]} if row[0] == begun else {} -%}
    {%- set merge = dbt_cdc._apply_merge_query(plan, dbt_cdc._apply_bounds(plan, row, 4)) -%}
    {%- if counts.values() | sum > 0 -%}
        {%- do dbt_cdc._apply_execute(merge) -%}
    {%- endif -%}
    {%- do return({'counts': counts, 'sql': '-- what has to change\n' ~ query ~ ';\n\n' ~ merge ~ ';\n\n'}) -%}
{%- endmacro -%}


{%- macro _apply_execute(sql) -%}
    {%- call statement('apply_changes', auto_begin=false) -%}{{ sql }}{%- endcall -%}
{%- endmacro -%}


{%- macro _apply_mark(plan, kind, batches) -%}
    {%- set rows, columns = [], dbt_cdc._apply_ledger_columns(plan) -%}
    {%- for batch in batches -%}{%- do rows.append(dbt_cdc._apply_marker(columns, kind, batch)) -%}{%- endfor -%}
    {%- if rows -%}
        {%- do dbt_cdc._apply_execute('insert into ' ~ plan.ledger ~ ' (' ~ dbt_cdc._quoted_list(columns) | join(', ') ~ ')\n'
                                      ~ rows | join('\nunion all\n')) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _apply_create(plan, relation, query, temporary=false, properties={}) -%}
    {#- A table of ours: `or replace` so that a reader never misses it. Column mapping where a name asks for it. -#}
    {%- set format = dbt_cdc._file_format() -%}
    {%- set all_properties, given = {}, config.get('tblproperties') or {} -%}
    {%- if not temporary -%}{%- do all_properties.update(dbt_cdc._apply_properties_of_names(plan)) -%}{%- endif -%}
    {%- if relation == plan.target and dbt_cdc._meta().get('change_log') -%}
        {%- do all_properties.update(dbt_cdc._for_format('feed_properties', format)(dbt_cdc._apply_target_columns(plan))) -%}
    {%- endif -%}
    {%- for name, value in given.items() if relation == plan.target or name in dbt_cdc._formats()[format].shared_properties -%}
        {%- do all_properties.update({name: value}) -%}
    {%- endfor -%}
    {%- do all_properties.update(properties) -%}
    {%- set contract = relation == plan.target and config.get('contract').enforced -%}
    {%- if relation == plan.target -%}
        {%- set later = dbt_cdc._later_properties(all_properties, format) -%}
        {#- a table without these, or the constraints of its contract, is not done: the next run would build it anew -#}
        {%- if later or contract -%}
            {%- do later.update({'dbt_cdc.generation': all_properties['dbt_cdc.generation']}) -%}
            {%- do all_properties.update({'dbt_cdc.generation': 'not done'}) -%}
        {%- endif -%}
        {%- do plan.update(later=later) -%}
    {%- endif -%}
    {%- set sql -%}
create {{ 'or replace ' if not temporary and (plan.replace or dbt_cdc._formats()[format].replace_conflicts) }}table {{ relation }}
using {{ dbt_cdc._for_format('temporary_format', format)() if temporary else format }}
    {%- if all_properties %}
tblproperties ({{ dbt_cdc._property_list(all_properties) }})
    {%- endif %}
    {%- if relation == plan.target %}
{{ partition_cols(label='partitioned by') }} {{ clustered_cols(label='clustered by') }} {{ location_clause() }} {{ dbt_cdc._comment_clause() }}
    {%- elif relation == plan.ledger %}
partitioned by (_dbt_cdc_kind)
    {%- endif %}
as
{{ get_select_subquery(query) if contract else query }}
    {%- endset -%}
    {%- do return(sql) -%}
{%- endmacro -%}


{%- macro _apply_properties_of_names(plan) -%}
    {#- Of the ledger and the target: names of columns, in structs among them and in the moments. -#}
    {%- set types = plan.moments.values() | map(attribute='type') | list -%}
    {%- for name in plan.key -%}{%- do types.append(plan.types[name | lower]) -%}{%- endfor -%}
    {%- for column in plan.payload -%}{%- do types.append(plan.types.get(column.source | lower, column.type)) -%}{%- endfor -%}
    {%- do return(dbt_cdc._properties_of_names(dbt_cdc._apply_target_columns(plan), plan.format, types)) -%}
{%- endmacro -%}

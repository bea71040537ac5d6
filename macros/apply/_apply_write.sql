{#- Statements that write {{ this }}, and when they run again. -#}
{%- macro _apply_to_target(plan, batches, everything=false) -%}
    {#- Brings {{ this }} up to the ledger for the keys of some batches and marks those as applied. Where another run has
        recorded a batch meanwhile, what was read may have been out of date: look again, at the same keys and at those of
        batches that are not shown yet. These are marked by their own run, which may still write what it read before; an
        image is shown by its own run alone, which may yet withdraw it. -#}
    {%- set now = namespace(batches=batches, everything=everything, settled=false, signature=plan.signature) -%}
    {%- for _ in range(3) if not now.settled -%}
        {%- do dbt_cdc._apply_write(plan, none if now.everything else now.batches, now.signature) -%}
        {%- set after = dbt_cdc._apply_look(plan) -%}
        {%- set now.settled = after.signature == now.signature -%}
        {%- if not now.settled -%}
            {%- set now.signature, now.everything = after.signature, now.everything or after.everything -%}
            {%- set now.batches = now.batches + (after.pending if plan.options.source_kind == 'feed' else []) -%}
            {%- do dbt_cdc._apply_forget_collected(plan) -%}
            {%- do dbt_cdc._apply_check_ledger(plan, 'its events are kept in ' ~ plan.ledger ~ ' for the next run to show'
                                                     if plan.batch in batches and after.recorded else none) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if not now.settled -%}
        {%- do dbt_cdc._apply_fail(plan, ["other runs of this model keep recording events while this one writes: run it again when"
            ~ " they have ended"], wrote='its events are kept in ' ~ plan.ledger ~ ' for the next run to show') -%}
    {%- endif -%}
    {%- if plan.options.source_kind == 'feed' -%}
        {%- do dbt_cdc._apply_append_markers(plan.ledger, 'applied', batches) -%}
    {%- elif batches -%}
        {%- do dbt_cdc._apply_mark_images(plan, batches) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _apply_mark_images(plan, batches) -%}
    {#- Until an image is marked another run may take this one for killed, and its image back. The marker comes by a statement that
        reads `begun`: Delta lets a MERGE that takes that away pass beside a mere append. -#}
    {%- set mark -%}
insert into {{ plan.ledger }} (_dbt_cdc_kind, _dbt_cdc_batch, _dbt_cdc_processed_at)
select distinct 'applied', _dbt_cdc_batch, current_timestamp()
from {{ plan.ledger }}
where _dbt_cdc_kind = 'begun' and _dbt_cdc_batch in ({{ dbt_cdc._literal_list(batches) }})
    {%- endset -%}
    {%- do dbt_cdc._refresh_metadata(plan.ledger, plan.format) -%}
    {%- do dbt_cdc._apply_execute(mark) -%}
    {%- if plan.batch in batches and not dbt_cdc._apply_markers(plan.ledger, plan.format, plan.batch).recorded -%}
        {%- do dbt_cdc._apply_fail(plan, [dbt_cdc._apply_beside_other_image()], wrote='its image was taken back by that run') -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _apply_check_ledger(plan, wrote=none) -%}
    {#- Whenever the batches of other runs have been looked at: one may have made the ledger anew, by other options, or have
        recorded events with columns that this run does not know, and would leave as they are. -#}
    {%- set known, others = plan.ledger_columns + (plan.new | map(attribute='name') | map('lower') | list), [] -%}
    {%- for column in dbt_cdc._own_columns(plan.ledger) if column.name | lower not in known -%}
        {%- do others.append(column.name) -%}
    {%- endfor -%}
    {%- set fault = dbt_cdc._apply_other_was_first() if dbt_cdc._own_properties(plan.ledger)['dbt_cdc.generation'] != plan.generation
        else "another run of this model has added the column(s) " ~ others | join(', ') ~ " at the same time: run it again" if others
        else none -%}
    {%- if fault -%}{%- do dbt_cdc._apply_fail(plan, [fault], wrote) -%}{%- endif -%}
{%- endmacro -%}


{%- macro _apply_forget_collected(plan) -%}
    {#- What was collected before, and its range of keys, no longer says all. -#}
    {%- do plan.update(bounds=none, collected=false) -%}
{%- endmacro -%}


{%- macro _apply_write(plan, batches, signature) -%}
    {#- `signature`: of what other runs had recorded when this one looked. Where there is more by now, what has to
        change was worked out too early: nothing is written, as this run might be killed before it looks again. -#}
    {%- do dbt_cdc._refresh_metadata(plan.target, plan.format) -%}
    {%- set query = dbt_cdc._apply_changes_query(plan, batches) -%}
    {%- do dbt_cdc._apply_make_temporary(plan, plan.changes, query) -%}
    {%- do dbt_cdc._refresh_metadata(plan.ledger, plan.format) -%}
    {%- set measures = dict(dbt_cdc._apply_bound_measures(plan), signature=dbt_cdc._apply_signature_in(plan.ledger, plan.batch)) -%}
    {%- for operation in plan.counts -%}
        {%- do measures.update({operation: "count_if(_dbt_cdc_operation = '" ~ operation ~ "')"}) -%}
    {%- endfor -%}
    {%- set row, counts = run_query('select ' ~ dbt_cdc._select_list(measures) ~ ' from ' ~ plan.changes)[0], {} -%}
    {%- for operation in plan.counts if row['signature'] == signature -%}{%- do counts.update({operation: row[operation]}) -%}{%- endfor -%}
    {%- set merge = dbt_cdc._apply_merge_query(plan, dbt_cdc._apply_bounds(plan, row)) -%}
    {%- if counts.values() | sum > 0 -%}
        {%- do dbt_cdc._apply_execute(merge) -%}
    {%- endif -%}
    {%- do dbt_cdc._apply_note(plan, '-- what has to change\n' ~ query ~ ';\n\n' ~ merge, counts) -%}
{%- endmacro -%}


{%- macro _apply_execute(sql) -%}
    {%- call statement('apply_changes', auto_begin=false) -%}{{ sql }}{%- endcall -%}
{%- endmacro -%}


{%- macro _apply_append_markers(ledger, kind, batches) -%}
    {%- set rows = [] -%}
    {%- for batch in batches -%}
        {%- do rows.append('(' ~ dbt_cdc._literal(kind) ~ ', ' ~ dbt_cdc._literal(batch) ~ ', current_timestamp())') -%}
    {%- endfor -%}
    {%- if rows -%}
        {%- do dbt_cdc._apply_execute('insert into ' ~ ledger ~ ' (_dbt_cdc_kind, _dbt_cdc_batch, _dbt_cdc_processed_at)\nvalues '
                                      ~ rows | join(', ')) -%}
    {%- endif -%}
{%- endmacro -%}

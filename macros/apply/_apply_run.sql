{#- The steps of a run of apply_changes. -#}
{%- macro _apply_relations(batch) -%}
    {%- set target = this.incorporate(type='table') -%}
    {%- do return({
        'target': target,
        'ledger': dbt_cdc._companion(target, 'events'),
        'stage': dbt_cdc._temporary_relation(target, batch),
        'images': dbt_cdc._temporary_relation(target, batch, 'images'),
        'touched': dbt_cdc._temporary_relation(target, batch, 'touched'),
        'changes': dbt_cdc._temporary_relation(target, batch, 'changes'),
    }) -%}
{%- endmacro -%}


{%- macro _apply_state(relations, batch) -%}
    {#- target, ledger: the relations as they exist, or none; kept: what the ledger remembers about itself (none: a run that
        begins anew); properties: the target's (none: as for kept); rebuild: whether the target is to be built from the ledger, as a
        killed run left it undone; replace: full refresh; batch: this run's id. -#}
    {%- set target, ledger = dbt_cdc._load_relation(this), dbt_cdc._load_relation(relations.ledger) -%}
    {%- set replace = should_full_refresh() -%}
    {%- set state = {'target': target, 'ledger': ledger, 'kept': none, 'properties': none, 'rebuild': false, 'replace': replace,
                     'batch': batch} -%}
    {%- for relation in [target, ledger] if relation is not none and dbt_cdc._format_of(relation) in dbt_cdc._formats() -%}
        {%- do dbt_cdc._refresh_metadata(relation) -%}
    {%- endfor -%}
    {%- set of_ledger = dbt_cdc._table_properties(ledger) if ledger is not none else {} -%}
    {%- set kept = dbt_cdc._own_among(of_ledger) -%}
    {%- if ledger is not none and 'dbt_cdc.generation' not in kept -%}
        {%- do dbt_cdc._raise_faults([ledger ~ " is there, and not as a table of apply_changes, which keeps the events of this model"
                                      ~ " under that name: give the model, or that " ~ (ledger.type or 'table') ~ ", another name"]) -%}
    {%- endif -%}
    {%- if replace -%}{%- do return(state) -%}{%- endif -%}
    {%- do dbt_cdc._raise_faults(dbt_cdc._other_format_faults(ledger, dbt_cdc._file_format())) -%}
    {%- if target is not none and ledger is none -%}
        {%- do dbt_cdc._raise_faults([target ~ " exists but " ~ relations.ledger ~ ", where apply_changes keeps the events that made it,"
                                      ~ " does not: give the model another name, or move the table aside and give its rows in the"
                                      ~ " first batch, or run with --full-refresh to build both anew, of this batch alone"]) -%}
    {%- endif -%}
    {%- if ledger is not none -%}
        {%- set properties = dbt_cdc._table_properties(target) if target is not none else {} -%}
        {%- set own = dbt_cdc._own_among(properties) -%}
        {%- if target is not none and not target.is_view and 'dbt_cdc.generation' not in own -%}
            {%- do dbt_cdc._raise_faults([target ~ " is a table that apply_changes did not make, its rows would be lost: drop it to have"
                ~ " it built from the events in " ~ ledger ~ ", or give the model another name"]) -%}
        {%- endif -%}
        {%- do dbt_cdc._raise_faults(dbt_cdc._isolation_faults(ledger, of_ledger) + dbt_cdc._isolation_faults(target, properties)) -%}
        {%- do state.update(kept=kept, properties=properties, rebuild=own.get('dbt_cdc.generation') != kept.get('dbt_cdc.generation')) -%}
    {%- endif -%}
    {%- do return(state) -%}
{%- endmacro -%}


{%- macro _apply_recover(plan) -%}
    {#- Finishes what a killed run began: {{ this }} was not built, or does not show a recorded batch yet. -#}
    {%- if not plan.kept -%}{%- do return(none) -%}{%- endif -%}
    {%- set markers = dbt_cdc._apply_look(plan, plan.options.tombstone_retention) -%}
    {%- do plan.update(signature=markers.signature, purge_due=markers.purge_due) -%}
    {%- do dbt_cdc._apply_check_ledger(plan) -%}
    {%- set pending = dbt_cdc._apply_withdraw_killed(plan, markers.pending) -%}
    {%- if plan.rebuild -%}
        {%- do dbt_cdc._apply_add_columns(plan, [plan.ledger]) -%}
        {%- do dbt_cdc._apply_build(plan) -%}
        {%- do dbt_cdc._apply_finish_build(plan, pending) -%}
    {%- elif pending -%}
        {%- do log('dbt_cdc: finishing ' ~ pending | length ~ ' batch(es) that an interrupted run left', info=true) -%}
        {%- do dbt_cdc._apply_add_columns(plan, [plan.target, plan.ledger]) -%}
        {%- do dbt_cdc._apply_to_target(plan, pending, markers.everything or pending != markers.pending) -%}
    {%- endif -%}
    {%- if plan.rebuild or pending -%}
        {%- do model.update({'_dbt_cdc_wrote': 'what an interrupted run had recorded is shown now, nothing of this batch was written'}) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _apply_prepare(plan) -%}
    {#- Looks at the batch; nothing of it has been written yet. Old deletes are forgotten once it is found to be right. -#}
    {%- if plan.options.source_kind == 'snapshot' -%}
        {#- an image is compared with what the table holds by now -#}
        {%- if plan.kept -%}{%- do dbt_cdc._refresh_metadata(plan.target, plan.format) -%}{%- endif -%}
        {%- do dbt_cdc._apply_images(plan) -%}
    {%- else -%}
        {%- do dbt_cdc._apply_check_batch(plan) -%}
    {%- endif -%}
    {%- if plan.rows and not plan.faults -%}
        {%- do dbt_cdc._apply_collect(plan) -%}
        {%- do dbt_cdc._apply_compare(plan) -%}
        {%- do plan.faults.extend(dbt_cdc._apply_delete_faults(plan)) -%}
    {%- endif -%}
    {%- if plan.purge_due and plan.rows and not plan.faults -%}
        {%- do dbt_cdc._apply_purge_within(plan) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _apply_purge_within(plan) -%}
    {#- A run that purges collects and compares once more: what it has seen of the ledger may be gone, or others may have added to it. -#}
    {%- if plan.moments.system -%}
        {#- all that a ledger may forget which keeps every event -#}
        {%- do dbt_cdc._apply_execute(dbt_cdc._apply_forget_markers(plan.ledger)) -%}
        {%- do dbt_cdc._apply_append_markers(plan.ledger, 'purged', [plan.batch]) -%}
    {%- else -%}
        {%- set markers = dbt_cdc._apply_look(plan) -%}
        {%- do dbt_cdc._apply_check_ledger(plan) -%}
        {%- if dbt_cdc._apply_purge_obstacle(plan.kept, markers) -%}{%- do return(none) -%}{%- endif -%}
        {%- do dbt_cdc._apply_purge(plan.ledger, plan.format, plan.kept, plan.options.tombstone_retention, plan.batch, markers) -%}
    {%- endif -%}
    {%- if plan.options.source_kind == 'feed' -%}{#- markers of old batches have gone -#}
        {%- do plan.update(signature=dbt_cdc._apply_look(plan).signature) -%}
    {%- endif -%}
    {%- do dbt_cdc._apply_check_ledger(plan) -%}
    {%- do dbt_cdc._apply_collect(plan) -%}
    {%- do dbt_cdc._apply_compare(plan) -%}
{%- endmacro -%}


{%- macro _apply_write_batch(plan) -%}
    {%- if not plan.kept -%}
        {%- do dbt_cdc._apply_begin_ledger(plan) -%}
        {%- do dbt_cdc._apply_build(plan) -%}
        {%- do dbt_cdc._apply_finish_build(plan, [plan.batch]) -%}
        {%- do return(none) -%}
    {%- endif -%}
    {%- if plan.rows -%}{%- do dbt_cdc._apply_add_columns(plan, [plan.target, plan.ledger]) -%}{%- endif -%}
    {%- if not plan.rows or not (plan.fresh or plan.image_versions) -%}{%- do return(none) -%}{%- endif -%}
    {%- set record -%}
insert into {{ plan.ledger }} ({{ dbt_cdc._quoted_list(dbt_cdc._apply_ledger_columns(plan)) | join(', ') }})
{{ dbt_cdc._apply_record_query(plan) }}
    {%- endset -%}
    {%- do dbt_cdc._apply_execute(record) -%}
    {%- do dbt_cdc._apply_note(plan, '-- the events, recorded\n' ~ record) -%}
    {%- do dbt_cdc._apply_withdraw_overtaken(plan) -%}
    {%- do dbt_cdc._apply_to_target(plan, [plan.batch], plan.fresh_truncates > 0) -%}
{%- endmacro -%}

{#- A ledger and {{ this }} made anew: a first run, a full refresh, or a killed one of these finished. -#}
{%- macro _apply_begin_ledger(plan) -%}
    {#- A new ledger with the first batch in it, unless another run has made one since this one looked. -#}
    {%- set there = dbt_cdc._load_relation(plan.ledger) -%}
    {%- if there is not none and not plan.replace -%}
        {%- do dbt_cdc._apply_fail(plan, [dbt_cdc._apply_other_was_first()]) -%}
    {%- elif there is not none and dbt_cdc._format_of(there) != plan.format -%}
        {%- do adapter.drop_relation(there) -%}
    {%- endif -%}
    {%- set purged = dbt_cdc._apply_marker(dbt_cdc._apply_ledger_columns(plan), 'purged', plan.batch) -%}
    {%- set query = dbt_cdc._apply_record_query(plan) ~ '\nunion all\n' ~ purged -%}
    {%- do plan.update(ledger_columns=dbt_cdc._apply_ledger_columns(plan) | map('lower') | list) -%}
    {%- do dbt_cdc._apply_execute(dbt_cdc._apply_create_ledger(plan, query)) -%}
{%- endmacro -%}


{%- macro _apply_build(plan) -%}
    {#- {{ this }} from the whole ledger, made just now or by a run that was killed; _apply_finish_build looks what came meanwhile. -#}
    {%- do dbt_cdc._for_format('delete_old_metadata', plan.format)(plan.ledger) -%}
    {%- set restart = dbt_cdc._restart_change_log(this) -%}
    {%- if restart -%}{%- do run_query(restart) -%}{%- endif -%}
    {%- set existing = dbt_cdc._load_relation(this) -%}
    {%- if existing is not none and (existing.is_view or dbt_cdc._format_of(existing) != plan.format) -%}
        {%- do adapter.drop_relation(existing) -%}
    {%- endif -%}
    {%- set query -%}
with {{ dbt_cdc._apply_version_steps(plan) }}

select {{ dbt_cdc._quoted_list(dbt_cdc._apply_target_columns(plan)) | join(', ') }}
from versions
    {%- endset -%}
    {%- do plan.update(replace=true) -%}
    {%- set properties = dbt_cdc._apply_target_properties(plan) -%}
    {%- set sql = dbt_cdc._apply_create_target(plan, query, properties.own) -%}
    {%- do dbt_cdc._apply_execute(sql) -%}
    {%- if config.get('contract').enforced -%}{%- do persist_constraints(plan.target, model) -%}{%- endif -%}
    {%- if properties.later -%}{%- do dbt_cdc._set_properties(plan.target, properties.later) -%}{%- endif -%}
    {%- do dbt_cdc._apply_note(plan, sql, {'insert': run_query('select count(*) from ' ~ plan.target)[0][0]}) -%}
{%- endmacro -%}


{%- macro _apply_other_was_first() -%}
    {%- do return("another run of this model made its tables at the same time and was first: run it again") -%}
{%- endmacro -%}


{%- macro _apply_finish_build(plan, batches) -%}
    {#- What another run recorded and showed while {{ this }} was being built is not in it: then all is compared once more.
        Its generation says which ledger it belongs to; a table that is not done by its own statement has it only then. -#}
    {%- set after = dbt_cdc._apply_look(plan) -%}
    {%- do dbt_cdc._apply_check_ledger(plan, 'its table does not count') -%}
    {%- if after.signature == plan.signature -%}
        {%- do dbt_cdc._apply_append_markers(plan.ledger, 'applied', batches) -%}
    {%- else -%}
        {%- do dbt_cdc._apply_forget_collected(plan) -%}
        {%- do plan.update(signature=after.signature) -%}
        {%- do dbt_cdc._apply_to_target(plan, batches, everything=true) -%}
    {%- endif -%}
    {%- do dbt_cdc._refresh_metadata(plan.target, plan.format) -%}
    {%- set made = dbt_cdc._own_properties(plan.target)['dbt_cdc.generation'] -%}
    {%- if made not in ['not done: ' ~ plan.batch, plan.generation] -%}
        {#- another has replaced it, maybe by a table of another ledger -#}
        {%- do dbt_cdc._apply_fail(plan, [dbt_cdc._apply_other_was_first()], 'its table does not count') -%}
    {%- endif -%}
    {%- if made != plan.generation -%}{%- do dbt_cdc._set_properties(plan.target, {'dbt_cdc.generation': plan.generation}) -%}{%- endif -%}
{%- endmacro -%}

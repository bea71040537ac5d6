{#- Change events in, SCD 1 or SCD 2 out. Everything is recorded in the ledger first (`<model>__events`), then {{ this }}
    is brought up to it for the keys touched; docs/flow/apply_changes.md draws it. -#}
{%- materialization apply_changes, adapter='spark', supported_languages=['sql', 'python'] -%}
    {%- set options = dbt_cdc._check_options(dbt_cdc._apply_options(), dbt_cdc._apply_option_faults()) -%}
    {%- set language = model['language'] -%}
    {%- set batch = dbt_cdc._run_name() -%}
    {%- set relations = dbt_cdc._apply_relations(batch) -%}
    {%- set state = dbt_cdc._apply_state(relations, batch) -%}
    {%- set leftovers = dbt_cdc._leftover_tables(relations.target) -%}

    {#- the log's key follows from options that the plan refuses, with all that is wrong beside them; where a killed full refresh
        has left the table undone, it begins anew -#}
    {%- if not dbt_cdc._apply_drift_faults(dbt_cdc._apply_kept_options(options), state.kept) -%}
        {%- do dbt_cdc._open_change_log(this, restart=state.replace or (state.rebuild and state.target is not none)) -%}
    {%- endif -%}

    {{ run_hooks(pre_hooks) }}
    {#- a hook may have set one -#}
    {%- do dbt_cdc._raise_faults(dbt_cdc._branch_faults([this])) -%}

    {%- set query = dbt_cdc._apply_typed(compiled_code, relations, state, options) if language == 'sql' -%}
    {%- call statement('stage', language=language) -%}
        {%- if language == 'sql' -%}
            {{ dbt_cdc._create_temporary(relations.stage, query) }}
        {%- else -%}
            {{ create_table_as(False, relations.stage, compiled_code, language) }}
        {%- endif -%}
    {%- endcall -%}

    {%- set plan = dbt_cdc._apply_plan(options, relations, state) -%}
    {%- do dbt_cdc._apply_fail(plan, plan.faults) -%}
    {%- do dbt_cdc._apply_recover(plan) -%}
    {%- do dbt_cdc._apply_prepare(plan) -%}
    {%- do dbt_cdc._apply_fail(plan, plan.faults) -%}

    {%- do dbt_cdc._apply_write_batch(plan) -%}
    {%- do dbt_cdc._apply_drop(plan, leftovers) -%}

    {%- call noop_statement('main') -%}
        {{ (plan.sql or '-- no new events') if language == 'sql' else compiled_code }}
    {%- endcall -%}
    {%- do dbt_cdc._apply_report(plan) -%}

    {%- do dbt_cdc._keep_change_log(this, restart=plan.replace) -%}
    {%- do apply_grants(this, config.get('grants'), should_revoke(state.target, full_refresh_mode=state.replace)) -%}
    {%- do dbt_cdc._apply_docs(relations.target) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [relations.target]}) }}
{%- endmaterialization -%}

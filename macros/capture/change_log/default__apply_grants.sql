{#- dbt's own; a snapshot's log is brought up to it here, the first thing that dbt calls through dispatch once every kind of
    write to a snapshot has committed, and a first load, which has no post_snapshot, tells its rows. -#}
{%- macro default__apply_grants(relation, grant_config, should_revoke=True) -%}
    {%- set of_snapshot = execute and model.resource_type == 'snapshot' and relation.identifier | lower == this.identifier | lower -%}
    {%- set later = model.pop('_dbt_cdc_later', {}) if of_snapshot else {} -%}
    {%- if later -%}{%- do dbt_cdc._set_properties(relation, later) -%}{%- endif -%}
    {%- do dbt.default__apply_grants(relation, grant_config, should_revoke) -%}
    {%- if of_snapshot -%}
        {%- do dbt_cdc._keep_change_log(relation) -%}
        {%- if dbt_cdc._remembered('dbt_cdc_changes') is none -%}
            {%- do dbt_cdc._tell_snapshot(run_query('select count(*) from ' ~ relation)[0][0] | int, 0, 0) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}

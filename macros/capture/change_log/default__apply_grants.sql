{#- dbt's own. A snapshot's log is brought up to date here: this is the first macro that dbt calls through dispatch after any kind
    of write to a snapshot has committed. A first load, which has no post_snapshot, also reports its rows here. -#}
{%- macro default__apply_grants(relation, grant_config, should_revoke=True) -%}
    {#- `dbt clone` calls this, too, and writes no rows -#}
    {%- set of_snapshot = execute and dbt_cdc._on_spark() and model.resource_type == 'snapshot' and flags.WHICH != 'clone'
        and relation.identifier | lower == this.identifier | lower -%}
    {%- set later = model.pop('_dbt_cdc_later', {}) if of_snapshot else {} -%}
    {%- if later -%}{%- do dbt_cdc._set_properties(relation, later) -%}{%- endif -%}
    {%- do dbt_cdc._stock('apply_grants')(relation, grant_config, should_revoke) -%}
    {%- if of_snapshot -%}
        {%- do dbt_cdc._keep_change_log(relation) -%}
        {%- if model.pop('_dbt_cdc_first_load', false) -%}
            {%- do dbt_cdc._tell_snapshot(run_query('select count(*) from ' ~ relation)[0][0] | int, 0, 0) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}

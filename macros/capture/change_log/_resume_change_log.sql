{%- macro _resume_change_log(log, relation, mode) -%}
    {#- Brings a log up to its table at a run's start. True if it goes on though a run had begun to build it anew. Mostly nothing has
        come since the last run: then no more than the table's newest commit is asked for, where the format gives that alone. -#}
    {%- set held = dbt_cdc._load_relation(dbt_cdc._storage_relation(relation)) if log is not none else none -%}
    {%- set format = dbt_cdc._format_of(held) if held is not none else none -%}
    {%- set newest = dbt_cdc._for_format('newest_commit', format)(held) if format else none -%}
    {%- if newest is not none -%}
        {%- set kept = dbt_cdc._own_properties(log) -%}
        {%- set logged = dbt_cdc._logged_commits(log, none, kept, end_only=true)[-1] -%}
        {%- do model.update(_dbt_cdc_logged=logged.version) -%}
        {%- if logged == newest -%}{%- do return(kept.get('dbt_cdc.restarts') == 'true') -%}{%- endif -%}
    {%- endif -%}
    {%- do return(dbt_cdc._bring_up_change_log(relation, mode)) -%}
{%- endmacro -%}

{%- materialization hash_diff, adapter='spark', supported_languages=['python'] -%}
    {%- set existing = dbt_cdc._load_relation(this) -%}
    {%- set foreign = existing is not none and not dbt_cdc._hash_diff_made(existing) -%}
    {%- set settings = dbt_cdc._hash_diff_settings(existing, foreign) -%}
    {%- set base = dbt_cdc._load_relation(dbt_cdc._companion(this, 'base')) if not settings.full_refresh else none -%}
    {%- do dbt_cdc._raise_faults(dbt_cdc._other_format_faults(base, settings.format)) -%}
    {%- set begins = dbt_cdc._meta().get('change_log') is not none and not dbt_cdc._hash_diff_begun(base) -%}
    {#- where the tables are gone and no one asked for that, the log is what is left of them -#}
    {%- set restart = settings.full_refresh or (begins and base is not none) -%}
    {%- do dbt_cdc._open_change_log(this, restart) -%}
    {%- do settings.update(before_restart=dbt_cdc._restart_change_log(this) if restart else none) -%}

    {{ run_hooks(pre_hooks) }}

    {%- call statement('main', language='python') -%}
{{ compiled_code }}

# --- dbt_cdc: hash_diff --- #
import dbt_cdc._hash_diff_load
import dbt_cdc._submission

dbt_cdc_outcome = dbt_cdc._hash_diff_load.run(
    model, dbtObj(dbt_cdc._submission.reader(spark)), spark, {{ settings | tojson | tojson }}
)
    {%- endcall -%}
    {%- if foreign -%}
        {#- the load has put the model in its place -#}
        {%- do adapter.cache_dropped(existing) -%}
    {%- endif -%}
    {%- do dbt_cdc._keep_change_log(this, restart=begins) -%}

    {%- set built = dbt_cdc._load_relation(this) if existing is none or foreign else existing -%}
    {#- not on the sensitive columns: they are kept apart so that grants can differ -#}
    {%- for relation in [built, dbt_cdc._companion(this, 'history')] -%}
        {%- do apply_grants(relation, config.get('grants'), should_revoke(existing, full_refresh_mode=true)) -%}
    {%- endfor -%}
    {#- a view has its comments from the statement that makes it -#}
    {%- set tables = [dbt_cdc._companion(this, 'base'), dbt_cdc._companion(this, 'history')] -%}
    {%- for table in tables + ([] if built.is_view else [built]) -%}
        {%- do dbt_cdc._bring_up_comments(table, settings.comments) -%}
    {%- endfor -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [built]}) }}
{%- endmaterialization -%}


{%- macro _hash_diff_made(existing) -%}
    {#- A view, or, in a catalog without views, a table that says which base table its rows come from. -#}
    {%- do return(existing.is_view or dbt_cdc._hash_diff_layout().model_of in dbt_cdc._own_properties(existing)) -%}
{%- endmacro -%}


{%- macro _hash_diff_begun(base) -%}
    {#- Whether a load has ended, which its marker says. A first load makes the table anew that `--empty`, or a run that was
        killed, has left; so its log begins anew. -#}
    {%- if base is none -%}{%- do return(false) -%}{%- endif -%}
    {%- set layout = dbt_cdc._hash_diff_layout() -%}
    {%- if layout.first_load not in dbt_cdc._own_properties(base) -%}{%- do return(false) -%}{%- endif -%}
    {%- do dbt_cdc._refresh_metadata(base) -%}
    {%- do return(run_query('select 1 as ended from ' ~ base ~ ' where ' ~ layout.is_ended).rows | length > 0) -%}
{%- endmacro -%}


{%- macro _hash_diff_layout() -%}
    {#- What macros have to know of the tables that the Python side writes: added columns, properties, and which of the base
        table's rows are keys, or the marker of a load that has ended. -#}
    {%- do return({
        'added': ['keyhash', 'nonkeyhash', 'operation', 'eff_start_date'],
        'first_load': 'dbt_cdc.first_load',
        'model_of': 'dbt_cdc.model_of',
        'is_key': "keyhash <> ''",
        'is_ended': "keyhash = '' and not startswith(_dbt_cdc_load, 'pending:')",
    }) -%}
{%- endmacro -%}

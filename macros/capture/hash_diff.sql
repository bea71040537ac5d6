{%- materialization hash_diff, adapter='spark', supported_languages=['python'] -%}
    {%- set existing = dbt_cdc._load_relation(this) -%}
    {%- set ours = existing is none or existing.is_view -%}
    {%- set settings = dbt_cdc._hash_diff_settings(none if ours else existing) -%}
    {%- set full_refresh = should_full_refresh() -%}
    {%- do dbt_cdc._open_change_log(this, restart=full_refresh) -%}

    {{ run_hooks(pre_hooks) }}

    {%- if not ours -%}
        {%- do adapter.drop_relation(existing) -%}
    {%- endif -%}
    {%- call statement('main', language='python') -%}
{{ compiled_code }}

# --- dbt_cdc: hash_diff --- #
import dbt_cdc._hash_diff_load

dbt_cdc_outcome = dbt_cdc._hash_diff_load.run(model, dbtObj(spark.table), spark, {{ settings | tojson | tojson }})
    {%- endcall -%}
    {%- do dbt_cdc._keep_change_log(this, restart=full_refresh) -%}

    {%- set view, history = this.incorporate(type='view'), dbt_cdc._companion(this, 'history') -%}
    {%- for relation in [view, history] -%}
        {%- do apply_grants(relation, config.get('grants'), should_revoke(existing, full_refresh_mode=true)) -%}
    {%- endfor -%}
    {%- do dbt_cdc._hash_diff_docs(settings) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [view]}) }}
{%- endmaterialization -%}


{%- macro _hash_diff_docs(settings) -%}
    {#- Column comments of the tables; the view has its own from the statement that makes it. -#}
    {%- if config.persist_column_docs() -%}
        {%- set columns = {} -%}
        {%- for name, column in model.columns.items() if name not in settings.sensitive_columns -%}
            {%- do columns.update({name: column}) -%}
        {%- endfor -%}
        {%- for kind in ['base', 'history'] if columns -%}
            {%- do alter_column_comment(dbt_cdc._companion(this, kind), columns) -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro -%}

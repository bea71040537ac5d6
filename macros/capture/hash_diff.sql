{%- materialization hash_diff, adapter='spark', supported_languages=['python'] -%}
    {%- set settings = dbt_cdc._hash_diff_settings() -%}
    {%- set existing = dbt_cdc._load_relation(this) -%}
    {%- if existing is not none and not existing.is_view -%}
        {%- do adapter.drop_relation(existing) -%}
    {%- endif -%}

    {{ run_hooks(pre_hooks) }}

    {%- call statement('main', language='python') -%}
{{ compiled_code }}

# --- dbt_cdc: hash_diff --- #
import dbt_cdc._hash_diff_load

dbt_cdc_outcome = dbt_cdc._hash_diff_load.run(model, dbtObj(spark.table), spark, {{ settings | tojson | tojson }})
    {%- endcall -%}

    {%- set view = this.incorporate(type='view') -%}
    {%- set history = dbt_cdc._companion(this, 'history') -%}
    {%- for relation in [view, history] -%}
        {%- do apply_grants(relation, config.get('grants'), should_revoke(existing, full_refresh_mode=True)) -%}
    {%- endfor -%}
    {%- do dbt_cdc._hash_diff_docs(dbt_cdc._companion(this, 'base'), history) -%}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [view]}) }}
{%- endmaterialization -%}

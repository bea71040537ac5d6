{#- Refuses `change_log` on nodes that can keep no log, before the first node runs: a log that was never written would be missed
    only when it is needed. -#}
{%- macro _check_change_logs() -%}
    {%- set faults = [] -%}
    {%- for node in graph.nodes.values() if node.unique_id in selected_resources and node.resource_type in ['model', 'seed'] -%}
        {%- set meta = dbt_cdc._meta(node) -%}
        {%- set mode = meta.get('change_log') if meta is mapping else none -%}
        {%- set kind = node.config.get('materialized') -%}
        {#- those that read by ref_changes are refused one by one -#}
        {%- if mode is not none and kind not in ['hash_diff', 'apply_changes'] and not dbt_cdc._has_watermark_hook(node) -%}
            {%- do faults.append("option 'change_log' keeps the changes of hash_diff and apply_changes models and of snapshots, got '"
                ~ mode ~ "' on " ~ node.unique_id ~ " (" ~ kind ~ "); take it out, or ask the table itself by table_changes") -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if faults -%}
        {%- do exceptions.raise_compiler_error("dbt_cdc: nothing was written:\n  - " ~ faults | sort | join('\n  - ')) -%}
    {%- endif -%}
{%- endmacro -%}

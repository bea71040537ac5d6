{%- macro _dispatch_faults() -%}
    {#- dbt passes over a package's overrides silently where the project has no dispatch entry for it. The macros that
        dbt would really call tell: they are looked up in the very way that a snapshot looks them up. -#}
    {%- set asking = [] -%}
    {%- for node in graph.nodes.values() if node.resource_type == 'snapshot' and node.unique_id in selected_resources -%}
        {%- set given = dbt_cdc._meta(node) -%}
        {%- if given is not mapping or given.values() | reject('none') | reject('false') | list -%}
            {%- do asking.append(node.unique_id) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if not asking or dbt_cdc._snapshots_are_dispatched() -%}{%- do return([]) -%}{%- endif -%}
    {%- do return([asking | sort | join(', ') ~ ": options of dbt_cdc are set, but dbt does not look for snapshot macros in this"
                   ~ " package. Paste this into dbt_project.yml:\n\n"
                   ~ "dispatch:\n  - macro_namespace: dbt\n    search_order: ['" ~ project_name ~ "', 'dbt_cdc', 'dbt']\n"]) -%}
{%- endmacro -%}


{%- macro _snapshots_are_dispatched() -%}
    {#- dbt reads dispatch calls without running them: each name is a literal. -#}
    {%- set found = [
        adapter.dispatch('build_snapshot_table', 'dbt'),
        adapter.dispatch('snapshot_staging_table', 'dbt'),
        adapter.dispatch('snapshot_merge_sql', 'dbt'),
    ] -%}
    {%- for called in found if called.macro.package_name in ['dbt', 'dbt_spark'] -%}{%- do return(false) -%}{%- endfor -%}
    {%- do return(true) -%}
{%- endmacro -%}

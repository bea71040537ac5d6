{%- macro _dispatch_faults() -%}
    {#- dbt passes over a package's overrides silently where the project has no dispatch entry for it, or macros of those
        names itself. -#}
    {%- set selected, asking = [], [] -%}
    {%- for node in dbt_cdc._selected_nodes() if node.resource_type == 'snapshot' -%}
        {%- do selected.append(node.unique_id) -%}
        {%- if dbt_cdc._asks_by_options(node) -%}{%- do asking.append(node.unique_id) -%}{%- endif -%}
    {%- endfor -%}
    {%- set macros = dbt_cdc._snapshot_macros() -%}
    {%- if macros.dbt and asking -%}
        {%- do return([asking | sort | join(', ') ~ ": options of dbt_cdc are set, but dbt does not look for snapshot macros in this"
                       ~ " package. Put 'dbt_cdc' before 'dbt' in the dispatch entry for dbt or, where there is none, paste this into"
                       ~ " dbt_project.yml:\n\n"
                       ~ "dispatch:\n  - macro_namespace: dbt\n    search_order: ['" ~ project_name ~ "', 'dbt_cdc', 'dbt']\n"]) -%}
    {%- endif -%}
    {%- set concerned = selected if macros.dbt_cdc else asking -%}
    {%- if macros.others and concerned -%}
        {%- do return([concerned | sort | join(', ') ~ ": dbt_cdc's snapshot macros work only together, and dbt finds "
                       ~ macros.others | join(', ') ~ " before this package's: take it out, have it call this package's itself, or"
                       ~ " take dbt_cdc out of the dispatch entry"]) -%}
    {%- endif -%}
    {%- do return([]) -%}
{%- endmacro -%}


{%- macro _snapshot_macros() -%}
    {#- Those that dbt would really call, looked up in the very way that a snapshot looks them up, by whose they are: dbt's, this
        package's (or such as call these), others. dbt reads dispatch calls without running them: each name is a literal. -#}
    {%- set found = [
        adapter.dispatch('build_snapshot_table', 'dbt'),
        adapter.dispatch('snapshot_staging_table', 'dbt'),
        adapter.dispatch('snapshot_merge_sql', 'dbt'),
    ] -%}
    {%- set macros = {'dbt': [], 'dbt_cdc': [], 'others': []} -%}
    {%- for called in found -%}
        {%- set own = 'macro[.]dbt_cdc[.][a-z]+__' ~ called.macro.name.split('__')[-1] ~ '( |$)' -%}
        {%- set is_ours = modules.re.search(own, ([called.macro.unique_id] + called.macro.depends_on.macros) | join(' ')) -%}
        {%- set owner = 'dbt' if called.macro.package_name in ['dbt', 'dbt_spark'] else ('dbt_cdc' if is_ours else 'others') -%}
        {%- do macros[owner].append(called.macro.unique_id) -%}
    {%- endfor -%}
    {%- do return(macros) -%}
{%- endmacro -%}

{#- Other adapters: a project may have targets of several, and its dispatch entry holds for all of them. -#}

{%- macro _on_spark() -%}
    {#- Adapters that build on dbt-spark, such as dbt-databricks, are others: they have snapshots, tables and views of their own. -#}
    {%- do return(adapter.type() == 'spark') -%}
{%- endmacro -%}


{%- macro _stock(name) -%}
    {#- dbt's own macro of that name. Dispatch looks at packages first and at the adapter then, so this package's stand before
        what another adapter, or one that it builds on, has of its own. -#}
    {%- set own, found = adapter.type() ~ '__' ~ name, [] -%}
    {%- if own in dbt -%}{%- do return(dbt[own]) -%}{%- endif -%}
    {%- for candidate in dbt if candidate.endswith('__' ~ name) and candidate != 'default__' ~ name -%}
        {%- do found.append(candidate) -%}
    {%- endfor -%}
    {%- do return(dbt[found[0] if found else 'default__' ~ name]) -%}
{%- endmacro -%}


{%- macro _adapter_faults() -%}
    {#- Where the target is not Spark: nodes that would be built without what they ask for, or not at all. `dbt retry` does not say what
        it runs, and takes no --exclude. -#}
    {%- set asking = [] -%}
    {%- for node in (dbt_cdc._selected_nodes() if selected_resources else [])
        if dbt_cdc._names_package(node) or (node.resource_type == 'snapshot' and dbt_cdc._asks_by_options(node)) -%}
        {%- do asking.append(node.unique_id) -%}
    {%- endfor -%}
    {%- do return([asking | sort | join(', ') ~ ": dbt_cdc works on dbt-spark, and this target is of " ~ adapter.type()
                   ~ ": run them on a target of Spark, or leave them out by --exclude"] if asking else []) -%}
{%- endmacro -%}


{%- macro _asks_by_options(node) -%}
    {%- set given = dbt_cdc._meta(node, raw=true) -%}
    {%- do return(given is not mapping or given.values() | reject('none') | reject('false') | list != []) -%}
{%- endmacro -%}

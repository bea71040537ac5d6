{%- macro purge_tombstones(model=none, retention=none) -%}
    {#- `dbt run-operation purge_tombstones`: forgets old deletes now, in one apply_changes model or in all. -#}
    {%- set asked, known = [], [] -%}
    {%- for node in graph.nodes.values() if node.config.materialized == 'apply_changes' -%}
        {%- set name = dbt_cdc._versioned_name(node) -%}
        {%- do known.append(name) -%}
        {%- if model in (none, node.name, name, node.package_name ~ '.' ~ name) -%}{%- do asked.append(node) -%}{%- endif -%}
    {%- endfor -%}
    {%- if model is not none and not asked -%}
        {%- do exceptions.raise_compiler_error("dbt_cdc.purge_tombstones: "
            ~ dbt_cdc._unknown_name('apply_changes model', model, known)) -%}
    {%- endif -%}
    {%- set packages = asked | map(attribute='package_name') | unique | sort if model is not none else [] -%}
    {%- if packages | length > 1 -%}
        {%- do exceptions.raise_compiler_error("dbt_cdc.purge_tombstones: several packages have an apply_changes model '" ~ model
            ~ "': name it with its own, as in " ~ packages | join('.' ~ model ~ ' or ') ~ '.' ~ model) -%}
    {%- endif -%}
    {%- do dbt_cdc._raise_run_faults(dbt_cdc._session_faults(asked | map(attribute='unique_id') | sort)) -%}
    {%- set retentions = {} -%}
    {%- for node in asked -%}{%- do retentions.update({node.unique_id: dbt_cdc._retention_of(node, retention)}) -%}{%- endfor -%}
    {%- set batch = dbt_cdc._apply_purge_by_hand(invocation_id) if retention is not none else 'operation-' ~ invocation_id -%}
    {%- for node in asked -%}{%- do dbt_cdc._purge_tombstones_of(node, retentions[node.unique_id], batch) -%}{%- endfor -%}
{%- endmacro -%}


{%- macro _retention_of(node, given) -%}
    {%- set retention = given if given is not none else dbt_cdc._given_options(dbt_cdc._apply_options(), node).tombstone_retention -%}
    {%- if not dbt_cdc._apply_span(retention) -%}
        {%- do exceptions.raise_compiler_error("dbt_cdc.purge_tombstones: " ~ node.unique_id ~ ": retention must be a number and a"
            ~ " unit such as '2 days', got " ~ dbt_cdc._value_text(retention)) -%}
    {%- endif -%}
    {%- do return(retention) -%}
{%- endmacro -%}


{%- macro _versioned_name(node) -%}
    {#- With its version, where the model has several: `orders.v2`. -#}
    {%- do return(node.unique_id.split('.')[2:] | join('.')) -%}
{%- endmacro -%}


{%- macro _purge_tombstones_of(node, retention, batch) -%}
    {%- set target = api.Relation.create(database=node.database, schema=node.schema, identifier=node.alias, type='table') -%}
    {%- set ledger = dbt_cdc._load_relation(dbt_cdc._companion(target, 'events')) -%}
    {%- set kept = dbt_cdc._own_properties(ledger) if ledger is not none else {} -%}
    {%- if 'dbt_cdc.generation' not in kept -%}
        {%- do log('dbt_cdc: ' ~ dbt_cdc._versioned_name(node) ~ ' has not been built yet', info=true) -%}
    {%- else -%}
        {%- do log('dbt_cdc: ' ~ dbt_cdc._versioned_name(node) ~ ': ' ~ dbt_cdc._purged_from(ledger, kept, retention, batch), info=true) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _purged_from(ledger, kept, retention, batch) -%}
    {#- Purges, and says what it did. -#}
    {%- set format = dbt_cdc._format_of(ledger) -%}
    {%- set markers = dbt_cdc._apply_markers(ledger, format, batch) -%}
    {%- set obstacle = dbt_cdc._apply_purge_obstacle(kept, markers) -%}
    {%- if obstacle -%}{%- do return('nothing purged, ' ~ obstacle) -%}{%- endif -%}
    {%- set count = 'select count(*) from ' ~ ledger ~ " where _dbt_cdc_kind = 'delete'" -%}
    {%- set before = run_query(count)[0][0] -%}
    {%- do dbt_cdc._apply_purge(ledger, format, kept, retention, batch, markers) -%}
    {%- do return((before - run_query(count)[0][0]) ~ ' delete(s) forgotten: processed more than ' ~ retention
                  ~ ' ago, or outdone by a later event') -%}
{%- endmacro -%}

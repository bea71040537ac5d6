{%- macro companion(relation, kind) -%}
    {#- The table that dbt_cdc keeps beside a model: `<model>__<kind>`. Written with `ref('model')` it keeps lineage. -#}
    {%- set relation = dbt_cdc._relation_named(relation) -%}
    {%- if not execute and relation is none -%}{%- do return('') -%}{%- endif -%}{#- load_relation() gives none while dbt parses -#}
    {%- set kinds = ['history', 'sensitive', 'rejects', 'changes'] -%}
    {%- if kind not in kinds -%}
        {%- do exceptions.raise_compiler_error(
            "dbt_cdc.companion: " ~ dbt_cdc._unknown_name('companion', kind, kinds)) -%}
    {%- endif -%}
    {%- if dbt_cdc._is_given_by_test(relation) -%}{%- do return(relation) -%}{%- endif -%}
    {%- set node = dbt_cdc._node_of(relation) if execute else none -%}
    {%- if execute and relation.is_cte -%}
        {%- set fault = relation.identifier ~ " is an ephemeral model, which keeps no tables beside it" -%}
    {%- else -%}
        {%- set fault = dbt_cdc._companion_fault(node, kind) if node else none -%}
    {%- endif -%}
    {%- set kept = dbt_cdc._whole_relation(dbt_cdc._companion(relation, kind)) -%}
    {%- if execute and not node and not fault and not dbt_cdc._is_not_built_yet(kept) and dbt_cdc._load_relation(kept) is none -%}
        {%- set fault = relation ~ " is no node of this project, and there is no " ~ kept ~ ": give ref('…') of a model that keeps it" -%}
    {%- endif -%}
    {%- if fault -%}
        {%- do exceptions.raise_compiler_error("dbt_cdc.companion: " ~ dbt_cdc._running() ~ ": " ~ fault) -%}
    {%- endif -%}
    {#- `--sample` and microbatch models cut a model by its event_time, which these have no column of; sensitive values are
        looked up by key, whenever they came; dates are those of UTC, in any session's zone -#}
    {%- set times = {'changes': 'ts', 'rejects': "cast(concat(cast(eff_start_date as string), ' 00:00:00Z') as timestamp_ltz)"} -%}
    {%- if kind != 'history' and relation.event_time_filter -%}
        {%- set relation = relation.incorporate(event_time_filter={'field_name': times[kind]} if kind in times else none) -%}
    {%- endif -%}
    {%- do return(dbt_cdc._companion(relation, kind)) -%}
{%- endmacro -%}


{%- macro _companion(relation, kind) -%}
    {%- do return(relation.incorporate(path={'identifier': relation.identifier ~ '__' ~ kind}, type='table')) -%}
{%- endmacro -%}


{%- macro _companion_fault(node, kind) -%}
    {#- Why the model has no such table, or none. -#}
    {%- set meta, keeps = dbt_cdc._meta(node), node.name ~ " keeps no " -%}
    {%- if kind != 'changes' and node.config.materialized != 'hash_diff' -%}
        {%- do return("only hash_diff models have a table of kind '" ~ kind ~ "', " ~ node.name ~ " is of kind '"
                      ~ node.config.materialized ~ "'") -%}
    {%- elif kind == 'changes' and node.config.materialized not in ['snapshot'] + dbt_cdc._own_materializations() | list -%}
        {%- do return(keeps ~ "log of its changes, as it is of kind '" ~ node.config.materialized ~ "': ask table_changes") -%}
    {%- elif kind == 'changes' and not meta.get('change_log') -%}
        {%- do return(keeps ~ "log of its changes: set `meta: {dbt_cdc: {change_log: key_op}}` there, beside its other options, or ask"
                      ~ " table_changes") -%}
    {%- elif kind == 'rejects' and meta.get('on_cast_error') != 'rejects' -%}
        {%- do return(keeps ~ "rejects, values that do not cast fail it: set `meta: {dbt_cdc: {on_cast_error: rejects}}` there") -%}
    {%- elif kind == 'sensitive' and not meta.get('sensitive_columns') and not dbt_cdc._marked_columns(node, 'sensitive') -%}
        {%- do return(keeps ~ "sensitive values, as none of its columns is sensitive: name them by"
                      ~ " `meta: {dbt_cdc: {sensitive_columns: […]}}` there, or read the model itself") -%}
    {%- endif -%}
    {%- do return(none) -%}
{%- endmacro -%}

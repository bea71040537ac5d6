{#- Which models may read by ref_changes: those that merge what they read into what they have, by key. -#}

{%- macro _reader_options() -%}
    {%- do return(dbt_cdc._common_options()) -%}
{%- endmacro -%}


{%- macro _check_reader(relation, by, column) -%}
    {%- set faults = dbt_cdc._reader_faults() -%}
    {%- if model.config.materialized not in ['apply_changes', 'hash_diff'] -%}
        {#- the others check their options themselves -#}
        {%- do faults.extend(dbt_cdc._option_faults(dbt_cdc._reader_options())) -%}
    {%- endif -%}
    {%- set ways = dbt_cdc._reader_options()['ref_changes_by']['values'] -%}
    {%- if by not in ways -%}
        {%- do faults.append("ref_changes: by must be one of " ~ (ways | join(', ')) ~ ", got " ~ (by | tojson)
                             ~ dbt_cdc._suggestion(by, ways)) -%}
    {%- endif -%}
    {%- set seen = dbt_cdc._remembered_edge(relation) -%}
    {%- if seen and not seen.part and (seen.by != by or (by == 'column' and seen.asked_column != column)) -%}
        {%- do faults.append("ref_changes reads " ~ dbt_cdc._edge_name(relation) ~ " in two ways, by " ~ seen.by
                             ~ " and by " ~ by ~ ": there is one watermark for each upstream, choose one way") -%}
    {%- endif -%}
    {%- do dbt_cdc._raise_faults(faults) -%}
{%- endmacro -%}


{%- macro _reader_faults() -%}
    {%- set kind = model.config.get('materialized') or model.resource_type -%}
    {%- set faults = [] -%}
    {%- if kind == 'incremental' -%}
        {%- set strategy = model.config.get('incremental_strategy') or 'append' -%}
        {%- if strategy != 'merge' -%}
            {%- do faults.append("ref_changes needs incremental_strategy 'merge', got '" ~ strategy ~ "': a run that"
                                 ~ " was interrupted reads its rows once more, and only a merge takes that") -%}
        {%- endif -%}
        {%- if not model.config.get('unique_key') -%}
            {%- do faults.append("ref_changes needs a unique_key: rows that are read once more must meet themselves") -%}
        {%- endif -%}
    {%- elif kind == 'hash_diff' -%}
        {%- if dbt_cdc._meta().get('extract_type', 'full') != 'delta' -%}
            {%- do faults.append("ref_changes gives a part of the rows, which a full extract takes for deletes of all"
                                 ~ " others: set extract_type: delta") -%}
        {%- endif -%}
    {%- elif kind != 'apply_changes' -%}
        {%- do faults.append("ref_changes works in incremental models only, got '" ~ kind ~ "', which keeps nothing"
                             ~ " between runs: set materialized='incremental' with unique_key and"
                             ~ " incremental_strategy='merge', or read by ref") -%}
    {%- endif -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _starts_anew() -%}
    {#- Whether this run builds the model from nothing, decided as its materialization decides it. -#}
    {%- if model.config.materialized == 'incremental' -%}{%- do return(not is_incremental()) -%}{%- endif -%}
    {%- do return(should_full_refresh() or dbt_cdc._load_relation(this) is none) -%}
{%- endmacro -%}

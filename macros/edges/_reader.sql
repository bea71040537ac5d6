{#- Which models may read by ref_changes: those that merge what they read into what they have, by key. -#}

{%- macro _check_reader(relation, by, arguments, asked) -%}
    {%- set faults = dbt_cdc._reader_faults() -%}
    {#- dbt compiles a model before its materialization checks them -#}
    {%- set checks_options = model.config.materialized != 'hash_diff' -%}
    {%- set upstream = [] if relation.is_cte else [dbt_cdc._whole_relation(relation)] -%}
    {%- if model.config.materialized == 'apply_changes' -%}
        {%- do faults.extend(dbt_cdc._option_faults(dbt_cdc._apply_options()) + dbt_cdc._apply_option_faults()
                             + dbt_cdc._branch_faults(upstream)) -%}
    {%- elif checks_options -%}
        {%- do faults.extend(dbt_cdc._option_faults(dbt_cdc._reader_options()) + dbt_cdc._branch_faults([this] + upstream)) -%}
    {%- endif -%}
    {%- set ways = dbt_cdc._reader_options()['ref_changes_by']['values'] -%}
    {%- if by not in ways and not (checks_options and by == dbt_cdc._meta().get('ref_changes_by')) -%}
        {%- do faults.append("ref_changes: by must be one of " ~ (ways | join(', ')) ~ ", got " ~ dbt_cdc._value_text(by)
                             ~ dbt_cdc._suggestion(by, ways)) -%}
    {%- endif -%}
    {%- for name, type in {'column': 'string', 'unique_key': 'list'}.items() -%}
        {%- if arguments[name] is not none and (not dbt_cdc._is_of_type(arguments[name], type) or not arguments[name]) -%}
            {%- do faults.append("ref_changes: " ~ name ~ " must "
                                 ~ ("name a column" if arguments[name] in ['', []] else "be of type " ~ type)
                                 ~ ", got " ~ dbt_cdc._value_text(arguments[name])) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for other, idle in {'version': 'column', 'column': 'unique_key'}.items() if by == other and arguments[idle] is not none -%}
        {%- do faults.append("ref_changes: " ~ idle ~ " has no meaning by " ~ by ~ ", got " ~ dbt_cdc._value_text(arguments[idle])
                             ~ ": take it out, or read by " ~ (ways | reject('equalto', by) | first)) -%}
    {%- endfor -%}
    {%- if by == 'version' and relation.is_cte -%}
        {%- do faults.append("ref_changes by version reads a table, " ~ relation.identifier ~ " is an ephemeral model:"
                             ~ " make it a table or an incremental model, or read by column") -%}
    {%- endif -%}
    {%- if by == 'version' and dbt_cdc._meta().get('source_kind') == 'snapshot' -%}
        {%- do faults.append("ref_changes by version gives changes, got source_kind 'snapshot', which takes each run's rows"
                             ~ " for a full image, and what did not change for deleted: read by ref, or take source_kind out and"
                             ~ " set apply_as_deletes: \"_op = 'd'\"") -%}
    {%- endif -%}
    {%- set seen = dbt_cdc._read_edges().edges.get(dbt_cdc._edge_name(relation)) -%}
    {%- if seen and not seen.part and seen.asked != asked -%}
        {%- do faults.append("ref_changes reads " ~ dbt_cdc._edge_name(relation) ~ " in two ways, " ~ seen.asked
                             ~ " and " ~ asked ~ ": there is one watermark for each upstream, choose one way") -%}
    {%- endif -%}
    {%- do dbt_cdc._raise_faults(faults) -%}
{%- endmacro -%}


{%- macro _reader_faults() -%}
    {%- set kind = model.config.get('materialized') or model.resource_type -%}
    {%- set faults = [] -%}
    {%- if kind == 'incremental' -%}
        {%- set strategy = model.config.get('incremental_strategy') or 'append' -%}
        {%- if strategy != 'merge' -%}{%- do faults.append(dbt_cdc._strategy_fault(strategy)) -%}{%- endif -%}
        {%- if not model.config.get('unique_key') -%}
            {%- do faults.append("ref_changes needs a unique_key: rows that are read once more must meet themselves") -%}
        {%- endif -%}
        {%- do faults.extend(dbt_cdc._predicate_faults() + dbt_cdc._isolation_faults()) -%}
        {#- asked once for all its upstreams -#}
        {%- do faults.extend([] if dbt_cdc._read_edges().edges else dbt_cdc._merged_table_faults()) -%}
        {%- set change_log = dbt_cdc._given_options(dbt_cdc._reader_options()).change_log -%}
        {%- if change_log is not none -%}
            {%- do faults.append(dbt_cdc._no_log_fault(change_log, 'an incremental model')) -%}
        {%- endif -%}
    {%- elif kind == 'hash_diff' -%}
        {%- do faults.append("ref_changes gives what is new since the last run, got a hash_diff model, which takes what it is"
                             ~ " given for all of its effective date's load: a second run on that date would take back"
                             ~ " what the first one brought; read by ref, or set materialized='apply_changes'") -%}
    {%- elif kind != 'apply_changes' -%}
        {%- do faults.append("ref_changes works in incremental and apply_changes models, got '" ~ kind ~ "', which keeps nothing"
                             ~ " between runs: set materialized='incremental' with unique_key and incremental_strategy='merge',"
                             ~ " or materialized='apply_changes', or read by ref") -%}
    {%- endif -%}
    {%- if not faults and model.language == 'sql' and not dbt_cdc._has_watermark_hook(model) -%}
        {%- do faults.append("ref_changes stands in an `if` that dbt does not enter while it parses the project"
                             ~ " (is_incremental() and execute are false then), so that its watermark would never move:"
                             ~ " take it out of the `if`; the first run reads everything anyway") -%}
    {%- endif -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _predicate_faults() -%}
    {#- They go into the merge's `on`: a row whose target they hide would be inserted beside it. -#}
    {%- set predicates, faults = model.config.get('predicates') or model.config.get('incremental_predicates') or [], [] -%}
    {%- for predicate in ([predicates] if predicates is string else predicates)
        if predicates is string or 'DBT_INTERNAL_SOURCE' not in predicate | upper or 'DBT_INTERNAL_DEST' not in predicate | upper -%}
        {%- do faults.append("ref_changes: incremental_predicates must be a list of comparisons of DBT_INTERNAL_DEST with"
            ~ " DBT_INTERNAL_SOURCE, in a column that never changes for a key, got " ~ dbt_cdc._value_text(predicate)
            ~ ": a row that is read once more, and whose record it hides, would come twice") -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _merged_table_faults() -%}
    {#- dbt makes the table of an incremental model with what its config and the catalog give. -#}
    {%- set existing, format = load_relation(this), model.config.get('file_format') -%}
    {%- if existing is none or existing.is_view or format not in dbt_cdc._formats() or not dbt_cdc._writes_tables() -%}
        {%- do return([]) -%}
    {%- endif -%}
    {%- do return(dbt_cdc._for_format('merged_table_faults', format)(existing)) -%}
{%- endmacro -%}


{%- macro _strategy_fault(strategy) -%}
    {%- do return("ref_changes needs incremental_strategy 'merge', got '" ~ strategy ~ "': a run that was interrupted reads its"
                  ~ " rows once more, and only a merge takes that") -%}
{%- endmacro -%}


{%- macro _microbatch_faults(readers) -%}
    {#- Before the first node runs: dbt shows nothing of what is raised within a batch. -#}
    {%- set faults = [] -%}
    {%- for node in readers if node.config.get('materialized') == 'incremental'
        and node.config.get('incremental_strategy') == 'microbatch' -%}
        {%- do faults.append(node.unique_id ~ ': ' ~ dbt_cdc._strategy_fault('microbatch')) -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _starts_anew() -%}
    {#- Whether this run builds the model from nothing, decided as its materialization decides it. (Not by dbt's
        is_incremental: that needs the context of a model, which there is none of while a Python model runs. apply_changes
        builds a table that is gone from its ledger.) -#}
    {%- set full_refresh = model.config.get('full_refresh') -%}
    {%- if (flags.FULL_REFRESH if full_refresh is none else full_refresh) -%}{%- do return(true) -%}{%- endif -%}
    {%- if model.config.materialized == 'apply_changes' -%}
        {%- do return(dbt_cdc._load_relation(dbt_cdc._companion(this, 'events')) is none) -%}
    {%- endif -%}
    {%- set existing = load_relation(this) -%}
    {%- do return(existing is none or existing.is_view) -%}
{%- endmacro -%}

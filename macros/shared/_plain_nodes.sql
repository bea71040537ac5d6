{#- Options on nodes of dbt's own materializations, which read none of them but those of `ref_changes`; what calls that has its
    options refused one by one. -#}
{%- macro _plain_nodes_with_options() -%}
    {%- set given = {} -%}
    {%- for node in dbt_cdc._selected_nodes() if node.resource_type in ['model', 'seed'] -%}
        {%- set meta = dbt_cdc._meta(node) -%}
        {%- if meta and node.config.get('materialized') not in dbt_cdc._own_materializations()
               and not dbt_cdc._has_watermark_hook(node) -%}
            {%- do given.update({node.unique_id: {'options': meta, 'kind': node.config.get('materialized')}}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(given) -%}
{%- endmacro -%}


{%- macro _misplaced_option_faults() -%}
    {#- Options where nothing reads them: beside `meta`, which dbt keeps without a word, by another spelling there, and on sources. -#}
    {%- set faults, read = [], [] -%}
    {%- for node in dbt_cdc._selected_nodes() if node.resource_type in ['model', 'seed', 'snapshot'] -%}
        {%- if node.config.get('dbt_cdc') is not none -%}
            {%- do faults.append(node.unique_id ~ ": dbt_cdc stands beside meta, where nothing reads it, got "
                ~ dbt_cdc._value_text(node.config.dbt_cdc) ~ ": move it to meta: {dbt_cdc: {…}}") -%}
        {%- endif -%}
        {%- for meta in [node.config.get('meta')] + node.columns.values() | map(attribute='meta') | list if meta -%}
            {%- for name in meta if name != 'dbt_cdc' and modules.re.sub('[^a-z]', '', name | string | lower) == 'dbtcdc' -%}
                {%- do faults.append(node.unique_id ~ ": nothing reads '" ~ name ~ "' in meta: write it dbt_cdc") -%}
            {%- endfor -%}
        {%- endfor -%}
        {%- for column in node.columns.values() if column.get('dbt_cdc') is not none -%}
            {%- do faults.append(node.unique_id ~ ": dbt_cdc stands beside meta at column '" ~ column.name ~ "', where nothing reads it,"
                ~ " got " ~ dbt_cdc._value_text(column.dbt_cdc) ~ ": move it to meta: {dbt_cdc: {…}}") -%}
        {%- endfor -%}
        {%- do read.extend(node.depends_on.nodes) -%}
    {%- endfor -%}
    {%- for id in read | unique if id in graph.sources and dbt_cdc._meta(graph.sources[id], raw=true) -%}
        {%- do faults.append(id ~ ": nothing reads meta.dbt_cdc of a source, got "
            ~ dbt_cdc._value_text(dbt_cdc._meta(graph.sources[id], raw=true))
            ~ ": take it out; table_changes and ref_changes take a key as unique_key") -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _column_option_faults() -%}
    {#- Options at columns, which no folder hands down: a column that was to be kept apart would be there for all to read. -#}
    {%- set faults = [] -%}
    {%- for node in dbt_cdc._selected_nodes()
        if node.resource_type in ['model', 'seed', 'snapshot'] and node.config.get('materialized') != 'hash_diff' -%}
        {%- for column in node.columns.values() if (column.meta or {}).get('dbt_cdc') -%}
            {%- do faults.append(node.unique_id ~ " (" ~ node.config.get('materialized') ~ "): column '" ~ column.name
                ~ "' has meta.dbt_cdc, got " ~ dbt_cdc._value_text(column.meta.dbt_cdc)
                ~ ", but only hash_diff models have options of columns: take it out, or make it one") -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _options_by_owner() -%}
    {%- do return({'apply_changes': dbt_cdc._apply_options(), 'hash_diff': dbt_cdc._hash_diff_options(),
                   'snapshots': dbt_cdc._snapshot_options()}) -%}
{%- endmacro -%}


{%- macro _plain_node_faults(given) -%}
    {#- Before the first node runs: a log that was never written would be missed only when it is needed, an option that nothing
        knows is a typing mistake, and a wrong value of those of `ref_changes` would wait for the model to call that. -#}
    {%- set faults, known = [], {} -%}
    {%- for options in (dbt_cdc._options_by_owner() if given else {}).values() -%}{%- do known.update(options) -%}{%- endfor -%}
    {%- for name, node in given.items() -%}
        {%- if node.options.get('change_log') is not none -%}
            {%- do faults.append(dbt_cdc._no_log_fault(node.options.change_log, name ~ " (" ~ node.kind ~ ")")) -%}
        {%- endif -%}
        {%- for option in node.options if option not in known -%}
            {%- do faults.append(name ~ " (" ~ node.kind ~ "): unknown option '" ~ option ~ "'" ~ dbt_cdc._suggestion(option, known)
                ~ " Correct it in its meta.dbt_cdc, or take it out") -%}
        {%- endfor -%}
        {%- for option, rule in dbt_cdc._reader_options().items() if option not in dbt_cdc._log_options() -%}
            {%- for fault in dbt_cdc._value_faults(option, rule, node.options.get(option)) -%}
                {%- do faults.append(name ~ " (" ~ node.kind ~ "): " ~ fault) -%}
            {%- endfor -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _warn_of_unread_options(given) -%}
    {#- They may come from a folder's or the project's meta; where they are the node's own, most likely `materialized` is missing. -#}
    {%- set owners = dbt_cdc._options_by_owner() if given else {} -%}
    {%- for name, node in given.items() -%}
        {%- set unread = node.options.keys() | reject('in', dbt_cdc._reader_options()) | sort -%}
        {%- set theirs = [] -%}
        {%- for owner, options in owners.items() if unread | reject('in', options) | list == [] -%}
            {%- do theirs.append(owner) -%}
        {%- endfor -%}
        {%- if unread -%}
            {%- do exceptions.warn("dbt_cdc: nothing reads " ~ unread | join(', ') ~ " in meta.dbt_cdc of " ~ name
                ~ ", which is materialized as '" ~ node.kind ~ "'; " ~ (theirs | join(' or ') ~ ' would: make it'
                ~ ' one of these, or take them out' if theirs else 'take them out')) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}


{%- macro _no_log_fault(got, place) -%}
    {%- do return("option 'change_log' keeps the changes of hash_diff and apply_changes models and of snapshots, got '" ~ got ~ "' on "
                  ~ place ~ "; take it out, or ask the table itself by table_changes") -%}
{%- endmacro -%}

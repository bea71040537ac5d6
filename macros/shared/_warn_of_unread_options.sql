{%- macro _warn_of_unread_options() -%}
    {#- A node of another materialization reads none of a capability's options: most likely its `materialized` is missing. -#}
    {%- set owners = {'apply_changes': dbt_cdc._apply_options(), 'hash_diff': dbt_cdc._hash_diff_options(),
                      'snapshots': dbt_cdc._snapshot_options()} -%}
    {%- for node in graph.nodes.values() if node.unique_id in selected_resources and node.resource_type in ['model', 'seed']
        and node.config.get('materialized') not in owners and not dbt_cdc._has_watermark_hook(node) -%}
        {%- set given = dbt_cdc._meta(node) -%}
        {%- set unread = (given.keys() if given is mapping else []) | reject('in', dbt_cdc._reader_options()) | sort -%}
        {%- if unread -%}
            {%- set theirs = [] -%}
            {%- for owner, options in owners.items() if unread | reject('in', options) | list == [] -%}{%- do theirs.append(owner) -%}{%- endfor -%}
            {%- do exceptions.warn("dbt_cdc: nothing reads " ~ unread | join(', ') ~ " in meta.dbt_cdc of " ~ node.unique_id
                ~ ", which is materialized as '" ~ node.config.get('materialized') ~ "'; " ~ (theirs | join(' or ') ~ ' would: set'
                ~ ' materialized, or take them out' if theirs else 'take them out')) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}

{#- The columns that tell the rows of a table apart. -#}

{%- macro _key_faults(key, columns) -%}
    {%- set faults, types = [], dbt_cdc._types_by_name(columns) -%}
    {%- for name in key -%}
        {%- set type = types.get(name | lower) -%}
        {%- if type is none -%}
            {%- do faults.append(dbt_cdc._unknown_name('column in unique_key', name, columns | map(attribute='name') | list)) -%}
        {%- elif dbt_cdc._lacks_equality(type) -%}
            {%- do faults.append("column '" ~ name ~ "' in unique_key is of type " ~ type ~ ", expected one by whose values Spark"
                ~ " groups rows; give the columns that tell the table's rows apart") -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _key_of_table(relation, unique_key, format) -%}
    {#- Names of the key columns: as asked for, else the model's own, else the one that the format keeps; or none. -#}
    {%- set node = dbt_cdc._node_of(relation) -%}
    {%- if unique_key is not none and not dbt_cdc._is_key_of(node, unique_key) -%}
        {%- do return(dbt_cdc._names_in(unique_key)) -%}
    {%- endif -%}
    {%- if node is not none -%}
        {%- set key = dbt_cdc._key_of_node(node) -%}
        {%- if key -%}{%- do return(key) -%}{%- endif -%}
    {%- endif -%}
    {%- do return(dbt_cdc._for_format('kept_key', format)(relation)) -%}
{%- endmacro -%}


{%- macro _is_key_of(node, unique_key) -%}
    {#- Whether a key that was asked for is the one that tells the node's rows apart, in whatever order: then its log is of
        that key too. That of a history's rows has the version in it, that of a hash_diff model's is a digest of its own key. -#}
    {%- if node is none -%}{%- do return(false) -%}{%- endif -%}
    {%- set hashed = node.config.get('materialized') == 'hash_diff' -%}
    {%- set asked = dbt_cdc._names_in(unique_key) | map('lower') | sort -%}
    {%- set own = dbt_cdc._key_of_node(node) | map('lower') | sort -%}
    {%- do return(asked == own or (hashed and asked == dbt_cdc._hash_diff_key(node) | map('lower') | sort)) -%}
{%- endmacro -%}


{%- macro _key_of_node(node) -%}
    {#- The columns that tell a node's rows apart: a version of a history is told by the version too. -#}
    {%- set key = dbt_cdc._key_in(node.config) -%}
    {%- if node.resource_type == 'snapshot' -%}
        {%- do return([dbt_cdc._dbt_columns(node).dbt_scd_id]) -%}
    {%- endif -%}
    {%- if node.config.get('materialized') == 'hash_diff' -%}{%- do return(['keyhash']) -%}{%- endif -%}
    {%- if key and node.config.get('materialized') == 'apply_changes' -%}
        {%- set options = dbt_cdc._given_options(dbt_cdc._apply_options(), node) -%}
        {%- do return(key + (dbt_cdc._apply_intervals(options) | map(attribute='start') | list)) -%}
    {%- endif -%}
    {%- do return(key) -%}
{%- endmacro -%}


{%- macro _key_of_reader(table, call) -%}
    {#- An upstream without a key of its own is taken to have that of the model that reads it, by `call`. One row per customer
        out of many orders would have another: such changes are refused (`taken_for_key`), where they show it. -#}
    {%- set names, key = table.columns | map(attribute='name') | list, [] -%}
    {%- for name in dbt_cdc._key_in(model.config) -%}{%- do key.append(dbt_cdc._spelled(name, names)) -%}{%- endfor -%}
    {%- if key | reject('in', names) | list -%}
        {%- do dbt_cdc._raise_faults([call ~ " needs the key of " ~ table.source ~ ", got none, expected the"
            ~ " names of its key columns, by which its changes are told (it lacks columns of the key of "
            ~ dbt_cdc._edge_name(this) ~ ", " ~ (key | join(', ')) ~ "); give `unique_key` in the call"]) -%}
    {%- endif -%}
    {%- do return(key) -%}
{%- endmacro -%}

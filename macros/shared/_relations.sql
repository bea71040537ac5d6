{#- From what a user names to its relation, and from a relation to the node that builds it. -#}

{%- macro _relation_named(relation) -%}
    {#- A relation out of what dbt takes: a relation, a model's name, or `schema.table`. -#}
    {%- if relation is not string -%}
        {%- if relation.identifier is not defined -%}
            {%- do dbt_cdc._raise_faults(["expected a model's name, schema.table, ref(…), source(…) or a relation, got "
                ~ dbt_cdc._value_text(relation)
                ~ (" (which adapter.get_relation gives for a table that does not exist)" if relation is none else '')]) -%}
        {%- endif -%}
        {%- do return(relation) -%}
    {%- endif -%}
    {%- if '.' not in relation -%}{%- do return(ref(relation)) -%}{%- endif -%}
    {%- if execute and (model | default({})).resource_type == 'unit_test' -%}
        {%- do dbt_cdc._raise_faults(["a unit test can give no rows for a table that is named by text, got '" ~ relation
            ~ "': name it by source(…) or ref(…)"]) -%}
    {%- endif -%}
    {%- do return(dbt_cdc._relation_called(relation)) -%}
{%- endmacro -%}


{%- macro _node_of(relation) -%}
    {#- The model, snapshot or seed that builds a relation, as the graph knows it, in whatever capitals; none for any other. -#}
    {%- if relation.is_cte -%}{%- do return(none) -%}{%- endif -%}
    {%- set schemas = [relation.schema | lower, dbt_cdc._without_own_catalog(relation.schema) | lower] -%}
    {%- set name, deferred = relation.identifier | lower, [] -%}
    {%- for node in graph.nodes.values()
        if node.resource_type in ('model', 'snapshot', 'seed') and dbt_cdc._is_of_this_project(node) -%}
        {%- if node.schema | lower in schemas and (node.alias or node.name) | lower == name -%}{%- do return(node) -%}{%- endif -%}
        {#- with --defer a reference may mean where another target has built the node, unless one of this target is there now -#}
        {%- set place = node.get('defer_relation') -%}
        {%- if place and place.schema | lower in schemas and place.alias | lower == name -%}{%- do deferred.append(node) -%}{%- endif -%}
    {%- endfor -%}
    {%- do return(deferred[0] if deferred else none) -%}
{%- endmacro -%}


{%- macro _is_of_this_project(node) -%}
    {#- Not a model of another project, which dbt knows by name and place alone. -#}
    {%- do return(node.get('original_file_path') != '') -%}
{%- endmacro -%}


{%- macro _without_own_catalog(place) -%}
    {%- if '.' not in (place or '') -%}{%- do return(place) -%}{%- endif -%}
    {%- set own = dbt_cdc._own_catalog() ~ '.' -%}
    {%- do return(place[own | length:] if place.startswith(own) else place) -%}
{%- endmacro -%}


{%- macro _own_catalog() -%}
    {#- The session's: the same for all nodes of a run. -#}
    {%- set found = dbt_cdc._of_this_run() -%}
    {%- if 'catalog' not in found -%}
        {%- do found.update({'catalog': run_query('select current_catalog()').rows[0][0]}) -%}
    {%- endif -%}
    {%- do return(found.catalog) -%}
{%- endmacro -%}


{%- macro _of_this_run() -%}
    {#- What its nodes find out for each other. A process may keep its graph for many runs. -#}
    {%- set own = 'dbt_cdc ' ~ invocation_id -%}
    {%- if own not in graph -%}
        {%- for key in graph.keys() | list if key.startswith('dbt_cdc ') and key != own -%}{%- do graph.pop(key, none) -%}{%- endfor -%}
    {%- endif -%}
    {%- do return(graph.setdefault(own, {})) -%}
{%- endmacro -%}

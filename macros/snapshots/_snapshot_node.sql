{#- For commands that are given a snapshot's name. -#}

{%- macro _set_snapshot_context(command, name) -%}
    {#- `model` and `this` as in a run of the snapshot called `name`, or, where several packages have one so called, `package.name`. -#}
    {%- set known, found = [], [] -%}
    {%- for node in graph.nodes.values() if node.resource_type == 'snapshot' -%}
        {%- do known.append(node.name) -%}
        {%- if name in [node.name, node.package_name ~ '.' ~ node.name] -%}{%- do found.append(node) -%}{%- endif -%}
    {%- endfor -%}
    {%- if found | length == 1 -%}
        {%- do dbt_cdc._raise_run_faults(dbt_cdc._session_faults([found[0].unique_id])) -%}
        {%- do return(dbt_cdc._set_model_context(found[0].unique_id)) -%}
    {%- endif -%}
    {%- set names = [] -%}
    {%- for node in found -%}{%- do names.append(node.package_name ~ '.' ~ node.name) -%}{%- endfor -%}
    {%- do exceptions.raise_compiler_error('dbt_cdc.' ~ command ~ ': ' ~ (
        "several packages have a snapshot '" ~ name ~ "': name one of " ~ names | sort | join(', ') if found
        else dbt_cdc._unknown_name('snapshot', name, known) if name
        else "name one by --args '{snapshot: …}'. Known: " ~ known | sort | join(', '))) -%}
{%- endmacro -%}


{%- macro _called(snapshot) -%}
    {#- The name by which commands find it. -#}
    {%- for node in graph.nodes.values() if node.resource_type == 'snapshot' and node.name == snapshot.name
        and node.unique_id != snapshot.unique_id -%}
        {%- do return(snapshot.package_name ~ '.' ~ snapshot.name) -%}
    {%- endfor -%}
    {%- do return(snapshot.name) -%}
{%- endmacro -%}

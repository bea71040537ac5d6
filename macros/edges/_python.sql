{#- What dbt_cdc.edges calls while a Python model runs. There dbt gives macros no model, so these lay it out first. -#}

{%- macro _ref_changes_of_python(unique_id, upstream, by, column, unique_key) -%}
    {%- do dbt_cdc._lay_out_model(unique_id) -%}
    {%- set relation = dbt_cdc._relation_called(upstream, limit=0 if flags.EMPTY else none) -%}
    {%- set rows = dbt_cdc._ref_changes(relation, by, column, unique_key) -%}
    {%- do dbt_cdc._claim_new_rows() -%}
    {%- do return(rows) -%}
{%- endmacro -%}


{%- macro _move_watermarks_of_python(unique_id) -%}
    {%- if 'dbt_cdc_edges' in graph.nodes.get(unique_id, {}) -%}
        {%- do dbt_cdc._lay_out_model(unique_id) -%}
        {%- do dbt_cdc._check_claim() -%}
        {%- do dbt_cdc._move_watermarks() -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _lay_out_model(unique_id) -%}
    {%- set node = graph.nodes[unique_id] -%}
    {%- do context.update({
        'model': node,
        'this': api.Relation.create(schema=node.schema, identifier=node.alias, type='table'),
    }) -%}
{%- endmacro -%}


{#- dbt-spark keeps the new rows of an incremental Python model in one table, `<model>__dbt_tmp`, whichever run they are of: of
    two runs at once the first may merge the rows of the second. Before it writes that table, a run puts its mark on the
    target; a run that no longer finds its own there can't know whose rows it has merged, and moves no watermark. -#}

{%- macro _claim_new_rows() -%}
    {%- set read = dbt_cdc._read_edges() -%}
    {%- if model.config.materialized == 'incremental' and not dbt_cdc._reads_a_part() and not read.anew and 'claimed' not in read -%}
        {%- do run_query('alter table ' ~ this ~ ' set tblproperties ('
                         ~ dbt_cdc._property_list({'dbt_cdc.reader': invocation_id}) ~ ')') -%}
        {%- do read.update({'claimed': true}) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _check_claim() -%}
    {%- if dbt_cdc._read_edges().get('claimed') -%}
        {%- do dbt_cdc._look_again(dbt_cdc._load_relation(this)) -%}
        {%- if dbt_cdc._own_properties(this).get('dbt_cdc.reader') != invocation_id -%}
            {%- do dbt_cdc._raise_faults(["another run of this model began while this one was at work, and dbt-spark keeps the"
                ~ " new rows of both in " ~ dbt_cdc._edge_name(this) ~ "__dbt_tmp: run it again when the other has ended"],
                wrote='its watermarks were not moved') -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}

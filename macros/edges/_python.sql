{#- What dbt_cdc.edges calls while a Python model runs. There dbt gives macros no model, so these lay it out first. -#}

{%- macro _ref_changes_of_python(unique_id, upstream, by, column, unique_key) -%}
    {%- do dbt_cdc._lay_out_model(unique_id) -%}
    {%- set relation = dbt_cdc._relation_called(upstream, limit=0 if flags.EMPTY else none) -%}
    {%- set rows = dbt_cdc._ref_changes(relation, by, column, unique_key) -%}
    {%- do dbt_cdc._claim_new_rows() -%}
    {%- do return(rows) -%}
{%- endmacro -%}


{%- macro _end_of_python(unique_id, succeeded) -%}
    {%- if 'dbt_cdc_edges' in graph.nodes.get(unique_id, {}) -%}
        {%- do dbt_cdc._lay_out_model(unique_id) -%}
        {%- if dbt_cdc._end_claim(succeeded) and succeeded -%}{%- do dbt_cdc._move_watermarks() -%}{%- endif -%}
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
    two runs at once, one may merge the rows of the other. So before it writes that table, a run puts a mark of its own on the
    target, and then looks for those of others. It takes its mark off when it ends, and those that it found, which may be of
    killed runs: a run whose mark is gone, or that finds others' beside it, can't know whose rows it has merged, and moves no
    watermark. Of two runs at once both come to know. -#}

{%- macro _claim_new_rows() -%}
    {%- set read = dbt_cdc._read_edges() -%}
    {%- if model.config.materialized == 'incremental' and not dbt_cdc._reads_a_part() and not read.anew and 'others' not in read -%}
        {%- do dbt_cdc._set_properties(this, {dbt_cdc._own_claim(): 'begun'}) -%}
        {%- do read.update({'others': dbt_cdc._claims() | reject('equalto', dbt_cdc._own_claim()) | list}) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _own_claim() -%}
    {%- do return('dbt_cdc.reader.' ~ invocation_id) -%}
{%- endmacro -%}


{%- macro _claims() -%}
    {%- do dbt_cdc._look_again(dbt_cdc._load_relation(this)) -%}
    {%- set claims = [] -%}
    {%- for name in dbt_cdc._own_properties(this) if name.startswith('dbt_cdc.reader.') -%}{%- do claims.append(name) -%}{%- endfor -%}
    {%- do return(claims) -%}
{%- endmacro -%}


{%- macro _end_claim(succeeded) -%}
    {#- Whether the watermarks may move. -#}
    {%- set read = dbt_cdc._read_edges() -%}
    {%- if 'others' not in read -%}{%- do return(true) -%}{%- endif -%}
    {%- set own, others, now = dbt_cdc._own_claim(), read.others, dbt_cdc._claims() -%}
    {%- set ended = [] -%}
    {%- for name in others + [own] -%}{%- do ended.append(dbt_cdc._literal(name)) -%}{%- endfor -%}
    {%- do run_query('alter table ' ~ this ~ ' unset tblproperties if exists (' ~ (ended | join(', ')) ~ ')') -%}
    {%- if succeeded and (own not in now or now | reject('in', others + [own]) | list) -%}
        {%- do dbt_cdc._raise_faults(["another run of this model was at work at the same time, and dbt-spark keeps the new rows of"
            ~ " both in " ~ dbt_cdc._edge_name(this) ~ "__dbt_tmp: run it again when the other has ended"],
            wrote='its watermarks were not moved') -%}
    {%- elif succeeded and others -%}
        {%- do log('dbt_cdc: an earlier run of ' ~ dbt_cdc._edge_name(this) ~ ' was killed, or is still at work: the next run reads'
                   ~ ' the rows of this one once more', info=true) -%}
    {%- endif -%}
    {%- do return(not others) -%}
{%- endmacro -%}

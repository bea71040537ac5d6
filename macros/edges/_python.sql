{#- What dbt_cdc.edges calls while a Python model runs. There dbt gives macros no model, so these lay it out first. -#}

{%- macro _ref_changes_of_python(unique_id, upstream, given, by, column, unique_key) -%}
    {#- `upstream`: its table; `given`: what dbt gives for it, which under `--empty` and `--sample` is a query of a part. -#}
    {%- do dbt_cdc._set_model_context(unique_id) -%}
    {%- set relation = dbt_cdc._relation_called(upstream) -%}
    {%- set rows = dbt_cdc._ref_changes(relation, by, column, unique_key, given) -%}
    {%- do dbt_cdc._claim_new_rows() -%}
    {%- do return({'rows': rows, 'before': dbt_cdc._before_python_reads(relation)}) -%}
{%- endmacro -%}


{%- macro _before_python_reads(relation) -%}
    {#- Statements for a session that Python models have beside dbt's own (Spark Connect beside thrift): what it has seen of the
        table may be older than what the watermark was taken from. Not of what is behind a view: docs/python_models.md asks for a
        catalog that keeps nothing. -#}
    {%- if adapter.config.credentials.method | string == 'session' -%}{%- do return([]) -%}{%- endif -%}
    {%- set whole = dbt_cdc._whole_relation(relation) -%}
    {%- set format = dbt_cdc._format_of(dbt_cdc._load_relation(whole) or whole) -%}
    {%- do return(dbt_cdc._for_format('refresh_metadata', format)(whole) if format in dbt_cdc._formats() else []) -%}
{%- endmacro -%}


{%- macro _end_of_python(unique_id, succeeded) -%}
    {%- if 'dbt_cdc_edges' in graph.nodes.get(unique_id, {}) -%}
        {%- do dbt_cdc._set_model_context(unique_id) -%}
        {%- if dbt_cdc._end_claim(succeeded) and succeeded -%}{%- do dbt_cdc._move_watermarks() -%}{%- endif -%}
    {%- endif -%}
{%- endmacro -%}


{#- dbt-spark keeps the new rows of an incremental Python model in one table, `<model>__dbt_tmp`, whichever run they are of: of
    two runs at once, one may merge the rows of the other. So before it writes that table, a run puts a mark of its own on the
    target, the time, and then looks for those of others. When it ends it takes its mark off, touches those that it found (their
    time becomes negative), and takes off those that are an hour old, which will be of killed runs. A run whose mark is gone
    or touched, or that finds others' beside it, can't know whose rows it has merged, and moves no watermark. Of two runs at
    once both come to know, whichever ends first. -#}

{%- macro _claim_new_rows() -%}
    {%- set read = dbt_cdc._read_edges() -%}
    {%- if model.config.materialized == 'incremental' and not read.anew and 'others' not in read -%}
        {%- do dbt_cdc._set_properties(this, {dbt_cdc._own_claim(): dbt_cdc._seconds_now() | string}) -%}
        {%- do read.update({'others': dbt_cdc._claims().keys() | reject('equalto', dbt_cdc._own_claim()) | list}) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _own_claim() -%}
    {%- do return('dbt_cdc.reader.' ~ invocation_id) -%}
{%- endmacro -%}


{%- macro _seconds_now() -%}
    {%- do return(modules.datetime.datetime.now(modules.pytz.utc).timestamp() | int) -%}
{%- endmacro -%}


{%- macro _claims() -%}
    {#- name -> when it was made, in seconds since 1970; negative where another run has touched it since -#}
    {%- do dbt_cdc._refresh_metadata(dbt_cdc._load_relation(this)) -%}
    {%- set claims = {} -%}
    {%- for name, made in dbt_cdc._own_properties(this).items() if name.startswith('dbt_cdc.reader.') -%}
        {%- do claims.update({name: made | int}) -%}
    {%- endfor -%}
    {%- do return(claims) -%}
{%- endmacro -%}


{%- macro _end_claim(succeeded) -%}
    {#- Whether the watermarks may move. -#}
    {%- set read = dbt_cdc._read_edges() -%}
    {%- if 'others' not in read -%}{%- do return(true) -%}{%- endif -%}
    {%- set own, others, now = dbt_cdc._own_claim(), read.others, dbt_cdc._claims() -%}
    {%- set ended, met = [dbt_cdc._literal(own)], {} -%}
    {%- for name, made in now.items() if name != own -%}
        {%- if made | abs < dbt_cdc._seconds_now() - 3600 -%}
            {%- do ended.append(dbt_cdc._literal(name)) -%}
        {%- elif name in others -%}
            {%- do met.update({name: -(made | abs)}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if met -%}{%- do dbt_cdc._set_properties(this, met) -%}{%- endif -%}
    {%- do run_query('alter table ' ~ this ~ ' unset tblproperties if exists (' ~ (ended | join(', ')) ~ ')') -%}
    {%- if succeeded and (now.get(own, -1) < 0 or now.keys() | reject('in', others + [own]) | list) -%}
        {%- do dbt_cdc._raise_faults(["another run of this model was at work at the same time, and dbt-spark keeps the new rows of"
            ~ " both in " ~ dbt_cdc._edge_name(this) ~ "__dbt_tmp: run it again when the other has ended"],
            wrote='its watermarks were not moved') -%}
    {%- elif succeeded and others -%}
        {%- do log('dbt_cdc: an earlier run of ' ~ dbt_cdc._edge_name(this) ~ ' has ended without a word, or is still at work: the'
                   ~ ' next run reads the rows of this one once more', info=true) -%}
    {%- endif -%}
    {%- do return(not others) -%}
{%- endmacro -%}

{%- macro ref_changes(upstream, model_name=none, v=none, version=none, by=none, column=none,
                    unique_key=none) -%}
    {#- The rows of `upstream` that this model has not processed yet, as a subquery for a `from` clause. -#}
    {%- set relation = dbt_cdc._upstream_relation(upstream, model_name, version if v is none else v) -%}
    {%- if not execute -%}
        {#- dbt appends hooks given in several config() calls, so the model keeps those of its own. -#}
        {%- do config(post_hook='{{ dbt_cdc._move_watermarks() }}') -%}
        {%- do return('(select * from ' ~ relation ~ ')') -%}
    {%- endif -%}
    {%- do return(dbt_cdc._ref_changes(relation, by, column, unique_key)) -%}
{%- endmacro -%}


{%- macro _ref_changes(relation, by, column, unique_key, given=none) -%}
    {#- `given`: the query of a part that stands for the upstream under `--empty` and `--sample`, where the relation does not say so. -#}
    {%- set options = dbt_cdc._given_options(dbt_cdc._reader_options()) -%}
    {%- set by = options['ref_changes_by'] if by is none else by -%}
    {%- set arguments = {'column': column, 'unique_key': unique_key} -%}
    {%- set column = options['ref_changes_column'] if column is none else column -%}
    {%- if model.resource_type == 'unit_test' -%}
        {#- A unit test gives the rows itself: all of them are new. -#}
        {%- do return(dbt_cdc._all_rows(relation, by)) -%}
    {%- endif -%}
    {#- how the model reads, in words: an upstream can be read in one way -#}
    {%- set asked = 'by ' ~ by ~ ' ' ~ (column if by == 'column' else dbt_cdc._names_in(unique_key) | join(', ')) -%}
    {%- set asked = asked | trim -%}
    {%- do dbt_cdc._check_reader(relation, by, arguments, asked) -%}
    {#- read now, before anything is remembered -#}
    {%- set recorded, read, name = dbt_cdc._recorded_edges(), dbt_cdc._read_edges(), dbt_cdc._edge_name(relation) -%}
    {%- if dbt_cdc._reads_a_part() -%}
        {%- do read.edges.update({name: {'source': name, 'part': true}}) -%}
        {%- do dbt_cdc._reset_beforehand(recorded) -%}
        {%- do return(dbt_cdc._all_rows(relation, by, given)) -%}
    {%- endif -%}
    {%- if relation.is_cte -%}
        {%- do log('dbt_cdc: ' ~ dbt_cdc._edge_name(this) ~ ' reads all rows of ' ~ relation.identifier ~ ', an ephemeral'
                   ~ ' model, which nothing can be asked of before it runs; as a view it would be read in part', info=true) -%}
        {%- do return(dbt_cdc._all_rows(relation, by)) -%}
    {%- endif -%}
    {#- An edge is read once in a compilation, however often the model names it: all its readers see the same rows. -#}
    {%- set edge = read.edges.get(name)
        or (dbt_cdc._read_by_version(relation, unique_key) if by == 'version' else dbt_cdc._read_by_column(relation, column)) -%}
    {%- do edge.update({'asked': asked}) -%}
    {%- do read.edges.update({name: edge}) -%}
    {%- if read.anew and by == 'column' and dbt_cdc._goes_back(edge, recorded.get(name, {})) -%}
        {%- do dbt_cdc._reset_beforehand([name]) -%}
    {%- endif -%}
    {%- do return('(' ~ edge.sql ~ ')') -%}
{%- endmacro -%}


{%- macro _goes_back(edge, old) -%}
    {#- Whether the watermark by column would be lower than the one before, or none to compare with it. -#}
    {%- do return(old.by == 'column' and old.watermark != edge.watermark
                  and dbt_cdc._lower_watermark(edge, old).watermark != old.watermark) -%}
{%- endmacro -%}


{%- macro _reset_beforehand(sources) -%}
    {#- A table made anew has less than what its watermarks say, where it is made of a part of the rows, or by column where the
        upstream's stamps have become lower. Those go back before the write: a run that ends badly then leaves rows to be read twice,
        and none that are never read. -#}
    {%- set read, resets = dbt_cdc._read_edges(), [] -%}
    {%- for source in sources if read.anew and read.recorded[source].by != 'reset' and dbt_cdc._writes_tables() -%}
        {%- do resets.append({'source': source, 'by': 'reset', 'destination': dbt_cdc._edge_name(this),
                              'sequence': read.recorded[source].sequence + 1}) -%}
    {%- endfor -%}
    {%- do dbt_cdc._append_edges(resets) -%}
    {%- for reset in resets -%}{%- do read.recorded.update({reset.source: reset}) -%}{%- endfor -%}
    {%- if resets -%}{%- do model.update({'_dbt_cdc_wrote': 'its watermarks went back to the start'}) -%}{%- endif -%}
{%- endmacro -%}


{%- macro _all_rows(relation, by, given=none) -%}
    {#- under --empty dbt limits what ref and source give, but no relation that comes from elsewhere, nor the rows of unit tests -#}
    {%- set from = ' from ' ~ (given or relation) ~ (' where false' if flags.EMPTY and model.resource_type != 'unit_test' else '') ~ ')' -%}
    {%- if by != 'version' -%}{%- do return('(select *' ~ from) -%}{%- endif -%}
    {%- if model.resource_type == 'unit_test' -%}
        {#- which may give `_op` or leave it out, and can't be asked: the join is by that name, if it is there -#}
        {%- do return('(select * from ' ~ relation ~ " as given natural left join (select 'i' as _op) as by_default)") -%}
    {%- endif -%}
    {%- set existing = none if relation.is_cte else dbt_cdc._load_relation(dbt_cdc._storage_relation(dbt_cdc._whole_relation(relation))) -%}
    {%- set columns = dbt_cdc._own_columns(existing) if existing is not none else [] -%}
    {%- do return('(select ' ~ (dbt_cdc._columns_beside_op(columns) or '*') ~ ", 'i' as _op" ~ from) -%}
{%- endmacro -%}


{%- macro _upstream_relation(upstream, model_name, version) -%}
    {#- Resolved by dbt's own ref, so that the edge is an ordinary one in dbt's graph. -#}
    {%- if upstream is not string -%}
        {%- set upstream = dbt_cdc._relation_named(upstream) -%}
        {%- if execute and (model_name or version is not none) -%}
            {%- do exceptions.raise_compiler_error("dbt_cdc: " ~ dbt_cdc._running() ~ ": ref_changes takes "
                ~ ("a model's name" if model_name else "a version") ~ " beside the name of a model or package, got "
                ~ dbt_cdc._value_text(model_name or version) ~ " beside " ~ upstream ~ ": give it to ref") -%}
        {%- endif -%}
        {%- do return(upstream) -%}
    {%- endif -%}
    {%- set names = [upstream, model_name] if model_name else [upstream] -%}
    {%- do return(ref(*names) if version is none else ref(*names, v=version)) -%}
{%- endmacro -%}

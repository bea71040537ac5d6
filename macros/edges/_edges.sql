{#- The edges of one model while it runs. dbt renders a model and its hooks in contexts of their own; the node in
    `graph` is what they share, so the edges that the SQL reads wait there until the write has committed.
    What waits: {invocation_id, edges: {source: edge}, recorded: {source: newest row of cdc_metadata}, anew: whether the model
    starts from nothing, others: marks of other runs (Python)}. An edge:
      source, asked upstream, as `schema.table`; how the model asks, in words
      by            column, version, all (the upstream has no such column) or reset
      sql           what its rows are read by
      watermark     up to where it has been read when this run ends: a value as text, a version; none: nothing yet
      column, type  whose values are watermarks; by version `column` has the upstream's key, as JSON
      time          by version: when that version was committed, in microseconds since 1970
      part          --empty or --sample: it moves nothing -#}

{%- macro _edge_name(relation) -%}
    {%- set name = adapter.quote(relation.identifier) if '.' in relation.identifier else relation.identifier -%}
    {%- do return(dbt_cdc._without_own_catalog(relation.schema) ~ '.' ~ name) -%}
{%- endmacro -%}


{%- macro _read_edges() -%}
    {#- What this model reads in this run; forgotten where dbt renders something that is no node of the graph. -#}
    {%- set node = graph.nodes.get(model.unique_id, {}) -%}
    {%- set kept = node.get('dbt_cdc_edges') -%}
    {%- if kept is none or kept.invocation_id != invocation_id -%}
        {%- set kept = {'invocation_id': invocation_id, 'edges': {}} -%}
        {%- do node.update({'dbt_cdc_edges': kept}) -%}
    {%- endif -%}
    {%- do return(kept) -%}
{%- endmacro -%}


{%- macro _recorded_edges() -%}
    {#- What cdc_metadata held of this model when the run came to it. -#}
    {%- set kept = dbt_cdc._read_edges() -%}
    {%- if 'recorded' not in kept -%}
        {%- do kept.update({'recorded': dbt_cdc._newest_edges(dbt_cdc._edge_name(this)), 'anew': dbt_cdc._starts_anew()}) -%}
    {%- endif -%}
    {%- do return(kept.recorded) -%}
{%- endmacro -%}


{%- macro _known_watermark(source, tracking) -%}
    {#- The watermark that holds for this run, or none: a model that starts anew reads everything, and so does one
        that is tracked in another way than before. -#}
    {%- set recorded = dbt_cdc._recorded_edges().get(source, {}) -%}
    {%- if dbt_cdc._read_edges().anew or recorded.get('watermark') is none -%}{%- do return(none) -%}{%- endif -%}
    {%- for key, value in tracking.items() if recorded.get(key) != value -%}
        {%- do log('dbt_cdc: ' ~ dbt_cdc._edge_name(this) ~ ' reads ' ~ source ~ ' from the start: its watermark was kept'
                   ~ ' with ' ~ key ~ ' ' ~ recorded.get(key) ~ ', now ' ~ value, info=true) -%}
        {%- do return(none) -%}
    {%- endfor -%}
    {%- do return(recorded.watermark) -%}
{%- endmacro -%}


{%- macro _move_watermarks() -%}
    {#- The hook that ref_changes gives its model: it runs when the model's write has committed, and appends what moved. -#}
    {%- if execute and dbt_cdc._read_edges().edges -%}
        {#- a hook may have set one, which the write went to -#}
        {%- do dbt_cdc._raise_faults(dbt_cdc._branch_faults([this]), wrote='its watermarks were not moved') -%}
        {%- set overtaken = dbt_cdc._overtaken_edges() -%}
        {%- do dbt_cdc._append_edges(dbt_cdc._moves()) -%}
        {%- do dbt_cdc._read_edges().edges.clear() -%}
        {%- do dbt_cdc._raise_overtaken(overtaken) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _overtaken_edges() -%}
    {#- Edges that another run of this model has moved since this one read them: their watermark goes to the lower of
        both, from which the next run mends the table. A run that made the table anew has taken out what the other wrote.
        By version a run writes rows as they were at its pin, so that older rows may lie over newer ones: those edges are
        given back, but of apply_changes, where the sequence decides. -#}
    {%- set recorded, anew, mine, overtaken = dbt_cdc._recorded_edges(), dbt_cdc._read_edges().anew, {}, [] -%}
    {%- set is_ordered = model.config.materialized == 'apply_changes' -%}
    {%- for edge in dbt_cdc._read_edges().edges.values() | rejectattr('part', 'defined') -%}
        {%- set moved = edge.by == 'version' and dbt_cdc._has_moved(edge, recorded.get(edge.source)) -%}
        {%- if anew or moved -%}{%- do mine.update({edge.source: edge}) -%}{%- endif -%}
    {%- endfor -%}
    {%- set newest = dbt_cdc._newest_edges(dbt_cdc._edge_name(this)) if mine or anew else {} -%}
    {%- for source, other in newest.items() if (anew or source in mine) and other.by != 'reset'
        and other != recorded.get(source) -%}
        {%- do recorded.update({source: other}) -%}
        {%- set edge = mine.get(source, {}) -%}
        {%- do edge.update(dbt_cdc._lower_watermark(edge, other)) -%}
        {%- if edge.by == 'version' and not is_ordered -%}{%- do overtaken.append(edge) -%}{%- endif -%}
    {%- endfor -%}
    {%- do return(overtaken) -%}
{%- endmacro -%}


{%- macro _lower_watermark(edge, other) -%}
    {#- Of the same upstream; none, from which all is read, where the two can't be compared. -#}
    {%- set from_start = {'watermark': none, 'time': none} -%}
    {%- for key in ['by', 'column', 'type'] if edge.get(key) != other.get(key) -%}{%- do return(from_start) -%}{%- endfor -%}
    {%- if edge.get('watermark') is none or other.get('watermark') is none -%}{%- do return(from_start) -%}{%- endif -%}
    {%- if edge.by == 'version' -%}
        {%- set lower = other if other.time | int < edge.time | int else edge -%}
        {%- do return({'watermark': lower.watermark, 'time': lower.time}) -%}
    {%- endif -%}
    {%- set values = dbt_cdc._watermark_value(edge.watermark, edge.type) ~ ', ' ~ dbt_cdc._watermark_value(other.watermark, edge.type) -%}
    {%- set lower = dbt_cdc._watermark_text('least(' ~ values ~ ')', edge.type) -%}
    {%- do return({'watermark': run_query('select ' ~ lower)[0][0] | string}) -%}
{%- endmacro -%}


{%- macro _raise_overtaken(edges) -%}
    {%- set faults = [] -%}
    {%- for edge in edges -%}
        {%- do faults.append("another run of this model has written changes of " ~ edge.source ~ " at the same time, the rows of one may"
            ~ " lie over newer ones of the other; run it again: it reads from version " ~ edge.watermark
            ~ ", the older of both, and so mends that") -%}
    {%- endfor -%}
    {%- do dbt_cdc._raise_faults(faults, wrote='its rows are written and its watermarks went back to the older ones') -%}
{%- endmacro -%}


{%- macro _moves() -%}
    {%- set recorded = dbt_cdc._recorded_edges() -%}
    {%- set read = dbt_cdc._read_edges() -%}
    {%- set whole = read.edges.values() | rejectattr('part', 'defined') | list -%}
    {%- set moves = [] -%}
    {%- for edge in whole if read.anew or dbt_cdc._has_moved(edge, recorded.get(edge.source)) -%}{%- do moves.append(edge) -%}{%- endfor -%}
    {%- if read.anew -%}
        {#- What this model once read and does not read now: to be read from the start when it comes back. -#}
        {%- for source, old in recorded.items() if old.by != 'reset' and source not in read.edges -%}
            {%- do moves.append({'source': source, 'by': 'reset'}) -%}
        {%- endfor -%}
        {#- What it now has a part of, reset or not: another run may have merged all of it into the table that is gone. -#}
        {%- for source, edge in read.edges.items() if edge.part and dbt_cdc._load_relation(dbt_cdc._metadata_relation()) is not none -%}
            {%- do moves.append({'source': source, 'by': 'reset'}) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- for move in moves -%}
        {%- do move.update({'destination': dbt_cdc._edge_name(this),
                            'sequence': recorded.get(move.source, {}).get('sequence', 0) + 1}) -%}
    {%- endfor -%}
    {%- do return(moves) -%}
{%- endmacro -%}


{%- macro _has_moved(edge, recorded) -%}
    {%- if recorded is none -%}{%- do return(edge.by == 'all' or edge.watermark is not none) -%}{%- endif -%}
    {%- for key in ['by', 'column', 'type', 'watermark'] if edge.get(key) != recorded.get(key) -%}
        {%- do return(true) -%}
    {%- endfor -%}
    {%- do return(false) -%}
{%- endmacro -%}

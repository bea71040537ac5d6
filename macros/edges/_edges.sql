{#- The edges of one model while it runs. dbt renders a model and its hooks in contexts of their own; the node in
    `graph` is what they share, so the edges that the SQL reads wait there until the write has committed. -#}

{%- macro _edge_name(relation) -%}
    {%- do return(relation.schema ~ '.' ~ relation.identifier) -%}
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


{%- macro _remembered_edge(relation) -%}
    {%- do return(dbt_cdc._read_edges().edges.get(dbt_cdc._edge_name(relation))) -%}
{%- endmacro -%}


{%- macro _remember_edge(edge) -%}
    {%- do dbt_cdc._read_edges().edges.update({edge.source: edge}) -%}
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
        {%- set overtaken = dbt_cdc._overtaken_edges() -%}
        {%- do dbt_cdc._append_edges(dbt_cdc._moves()) -%}
        {%- do dbt_cdc._read_edges().edges.clear() -%}
        {%- do dbt_cdc._raise_overtaken(overtaken) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _overtaken_edges() -%}
    {#- By version a run writes rows as they were at its pin. Where another run of this model has written meanwhile, the
        older rows may lie over the newer: the watermark goes to the older pin, from which the next run mends that. -#}
    {%- set recorded, mine, overtaken = dbt_cdc._recorded_edges(), [], [] -%}
    {%- for edge in dbt_cdc._read_edges().edges.values() | selectattr('time') -%}
        {%- if dbt_cdc._has_moved(edge, recorded.get(edge.source)) -%}{%- do mine.append(edge) -%}{%- endif -%}
    {%- endfor -%}
    {%- set newest = dbt_cdc._newest_edges(dbt_cdc._edge_name(this)) if mine else {} -%}
    {%- for edge in mine if newest.get(edge.source, {}).get('by') == 'version' -%}
        {%- set other = newest[edge.source] -%}
        {%- if other.sequence > recorded.get(edge.source, {}).get('sequence', 0) -%}
            {%- do recorded.update({edge.source: other}) -%}
            {%- if other.time | int < edge.time | int -%}
                {%- do edge.update({'watermark': other.watermark, 'time': other.time}) -%}
            {%- endif -%}
            {%- do overtaken.append(edge) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(overtaken) -%}
{%- endmacro -%}


{%- macro _raise_overtaken(edges) -%}
    {%- for edge in edges -%}
        {%- do exceptions.raise_compiler_error(
            "dbt_cdc: two runs of " ~ model.unique_id ~ " have written changes of " ~ edge.source ~ " at the same time, "
            ~ "the rows of one may lie over newer ones of the other; run it again: it reads from version "
            ~ edge.watermark ~ ", the older of both, and so mends that") -%}
    {%- endfor -%}
{%- endmacro -%}


{%- macro _moves() -%}
    {%- set recorded = dbt_cdc._recorded_edges() -%}
    {%- set read = dbt_cdc._read_edges() -%}
    {%- set whole = read.edges.values() | rejectattr('part', 'defined') | list -%}
    {%- set moves = [] -%}
    {%- for edge in whole if dbt_cdc._has_moved(edge, recorded.get(edge.source)) -%}
        {%- do moves.append(edge) -%}
    {%- endfor -%}
    {%- if read.anew -%}
        {#- What this model once read and does not read now: to be read from the start when it comes back. -#}
        {%- for source, old in recorded.items() if old.by != 'reset' and source not in whole | map(attribute='source') -%}
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

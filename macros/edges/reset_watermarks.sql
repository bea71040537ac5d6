{%- macro reset_watermarks(source=none, destination=none) -%}
    {#- Lets readers read from the start: the edge of both names, or all edges of the one that is given. -#}
    {%- if source is none and destination is none -%}
        {%- do exceptions.raise_compiler_error("dbt_cdc.reset_watermarks: give --args '{source: schema.table, destination:"
               ~ " schema.table}', or one of the two for all its edges; run cdc_summary for their names") -%}
    {%- endif -%}
    {%- do dbt_cdc._raise_run_faults(dbt_cdc._setting_faults(dbt_cdc._settings_of_meaning(), 'cdc_metadata: ')) -%}
    {%- set asked = [] -%}
    {%- for edge in dbt_cdc._asked_edges('reset_watermarks', source, destination) -%}
        {%- do asked.append({'source': edge.source, 'destination': edge.destination, 'by': 'reset',
                             'kept': edge, 'sequence': edge.sequence + 1}) -%}
    {%- endfor -%}
    {%- do dbt_cdc._append_edges(asked) -%}
    {%- for edge in asked -%}
        {%- do log('dbt_cdc: ' ~ edge.destination ~ ' will read ' ~ edge.source ~ ' from the start'
               ~ (', without what was deleted there since version ' ~ edge.kept.get('watermark') ~ ': to have that gone too, run'
                  ~ ' the model with --full-refresh' if edge.kept.by == 'version' else ''), info=true) -%}
    {%- endfor -%}
{%- endmacro -%}


{%- macro _asked_edges(command, source, destination) -%}
    {#- The edges of an upstream, of a reader, or of both; without either all. -#}
    {%- set edges, asked = dbt_cdc._newest_edges(), [] -%}
    {%- for edge in edges if source in [none, edge.source] and destination in [none, edge.destination] -%}
        {%- do asked.append(edge) -%}
    {%- endfor -%}
    {%- if not asked and (source is not none or destination is not none) -%}
        {%- do dbt_cdc._raise_unknown_edge(command, source, destination, edges) -%}
    {%- endif -%}
    {%- do return(asked) -%}
{%- endmacro -%}


{%- macro _raise_unknown_edge(command, source, destination, edges) -%}
    {%- set problems = [] -%}
    {%- for kind, name in {'source': source, 'destination': destination}.items() if name is not none -%}
        {%- set known = edges | map(attribute=kind) | unique | list -%}
        {%- if name not in known -%}{%- do problems.append(dbt_cdc._unknown_name(kind, name, known)) -%}{%- endif -%}
    {%- endfor -%}
    {%- if not problems -%}
        {%- set upstreams = edges | selectattr('destination', 'equalto', destination) | map(attribute='source') | list -%}
        {%- do problems.append("there is no edge from '" ~ source ~ "' to '" ~ destination ~ "', which reads "
                               ~ (upstreams | join(', ')) ~ ': give one of these, or leave `source` out for all of them') -%}
    {%- endif -%}
    {%- do exceptions.raise_compiler_error('dbt_cdc.' ~ command ~ ': ' ~ (problems | join('\n  '))) -%}
{%- endmacro -%}

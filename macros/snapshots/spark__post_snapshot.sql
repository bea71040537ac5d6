{#- The temporary tables go, this run's and those of killed ones, and dbt's log line gets the counts. -#}
{%- macro spark__post_snapshot(staging_relation) -%}
    {#- the project, or the adapter, has macros of its own for its snapshots -#}
    {%- if '_dbt_cdc_shape' not in model -%}{%- do return(dbt_cdc._stock('post_snapshot')(staging_relation)) -%}{%- endif -%}
    {%- set shape = model.pop('_dbt_cdc_shape') -%}
    {%- if shape.viewed is not defined -%}{%- do dbt_cdc._stock('post_snapshot')(staging_relation) -%}{%- endif -%}
    {%- for relation in [shape.staging] + dbt_cdc._leftover_tables(shape.target) -%}
        {%- do run_query(dbt_cdc._drop_temporary(relation)) -%}
    {%- endfor -%}
    {%- do dbt_cdc._tell_snapshot(shape.counts['insert'], shape.counts['update'], shape.counts['delete']) -%}
{%- endmacro -%}


{%- macro _tell_snapshot(inserted, updated, deleted) -%}
    {%- do dbt_cdc._report_outcome('OK (' ~ inserted ~ ' new, ' ~ updated ~ ' changed, ' ~ deleted ~ ' deleted)',
                                 {'I': inserted, 'U': updated, 'D': deleted}) -%}
{%- endmacro -%}

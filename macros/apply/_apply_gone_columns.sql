{#- Columns that others have taken from {{ this }}. -#}
{%- macro _apply_gone_column_faults(options, state, recorded, known) -%}
    {#- `recorded`, the ledger's, but for `known`, the table's own: what is recorded next would lack their values. And the ends of
        the intervals, if they have their names still. -#}
    {%- if not state.kept or state.rebuild -%}{%- do return([]) -%}{%- endif -%}
    {%- set there = known | map(attribute='name') | map('lower') | list -%}
    {%- set gone = [] -%}
    {%- for column in recorded if column.name | lower not in there -%}{%- do gone.append(column.name) -%}{%- endfor -%}
    {%- if not dbt_cdc._apply_drift_faults(dbt_cdc._apply_kept_options(options), state.kept) -%}
        {%- for name in dbt_cdc._apply_interval_columns(dbt_cdc._apply_intervals(options)) if name | lower not in there -%}
            {%- do gone.append(name) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- if not gone -%}{%- do return([]) -%}{%- endif -%}
    {%- do return([state.target ~ " has lost columns (" ~ gone | join(', ') ~ "): rename them back, or drop the table to have it built"
                   ~ " anew from the events in " ~ state.ledger]) -%}
{%- endmacro -%}

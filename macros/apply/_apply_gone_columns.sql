{#- Columns that others have taken from {{ this }}. -#}
{%- macro _apply_gone_column_faults(options, state, recorded, known) -%}
    {#- `recorded`, the ledger's, but for `known`, the table's own: what is recorded next would lack their values. Those that a
        killed run has added to the ledger alone have none there. And the ends of the intervals, if they have their names still. -#}
    {%- if not state.kept or state.rebuild -%}{%- do return([]) -%}{%- endif -%}
    {%- set gone = recorded | map(attribute='name') | list -%}
    {%- set there = known | map(attribute='name') | map('lower') | list -%}
    {%- set made_with = fromjson(state.kept['dbt_cdc.columns']) | map('lower') | list -%}
    {%- for column in recorded if column.name | lower in there -%}{%- do gone.remove(column.name) -%}{%- endfor -%}
    {%- set later = [] -%}
    {%- for name in gone if name | lower not in made_with -%}{%- do later.append(name) -%}{%- endfor -%}
    {%- set gone = gone | reject('in', dbt_cdc._apply_null_columns(state.ledger, later)) | list -%}
    {%- if not dbt_cdc._apply_drift_faults(dbt_cdc._apply_kept_options(options), state.kept) -%}
        {%- for name in dbt_cdc._apply_interval_columns(dbt_cdc._apply_intervals(options)) if name | lower not in there -%}
            {%- do gone.append(name) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- if not gone -%}{%- do return([]) -%}{%- endif -%}
    {%- do return([state.target ~ " has lost columns (" ~ gone | join(', ') ~ "): rename them back, or drop the table to have it built"
                   ~ " anew from the events in " ~ state.ledger]) -%}
{%- endmacro -%}

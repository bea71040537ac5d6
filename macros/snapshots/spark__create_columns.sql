{#- As dbt-spark's own, with names quoted and types whole. dbt takes the new columns from the view that it has made of the
    changes, and over Iceberg that view lies in no schema: two snapshots of one name in two schemas, running at the same time,
    have one view between them. A column that is not this run's own is never added, nor one that the table has in letters of
    another case. -#}
{%- macro spark__create_columns(relation, columns) -%}
    {%- if not columns -%}{%- do return(none) -%}{%- endif -%}
    {%- set existing, new = dbt_cdc._types_by_name(adapter.get_columns_in_relation(relation)), [] -%}
    {%- for column in columns if column.name | lower not in existing -%}{%- do new.append(column) -%}{%- endfor -%}
    {%- if not new -%}{%- do return(none) -%}{%- endif -%}
    {%- set strategy = strategy_dispatch(config.get('strategy'))(
        model, 'snapshotted_data', 'source_data', model['config'], true) -%}
    {%- set shape = dbt_cdc._staging_shape(dbt_cdc._staging_relation(relation), strategy, relation) -%}
    {%- set own = dbt_cdc._insert_values(shape).keys() | map('lower') | list -%}
    {%- set foreign = new | map(attribute='name') | map('lower') | reject('in', own) | list -%}
    {%- if foreign -%}
        {%- do dbt_cdc._raise_faults(["the view " ~ relation.identifier ~ "__dbt_tmp has the column(s) "
            ~ (foreign | join(', ')) ~ ", which are not of this snapshot: another snapshot of the name "
            ~ relation.identifier ~ " ran at the same time, and dbt-spark makes one view for both; run this one again"]) -%}
    {%- endif -%}
    {%- set added = [] -%}
    {%- for column in new -%}
        {%- do added.append(dbt_cdc._quote(column.name) ~ ' '
                            ~ dbt_cdc._type_text(shape.source_types.get(column.name | lower, column.dtype))) -%}
    {%- endfor -%}
    {%- do run_query('alter table ' ~ relation ~ ' add columns (' ~ added | join(', ') ~ ')') -%}
{%- endmacro -%}

{#- The source's columns, and its rows as tables keep them. -#}

{%- macro _columns_of_source(sql) -%}
    {%- do return(dbt_cdc._whole_columns('(\n' ~ sql ~ '\n) as source_rows')) -%}
{%- endmacro -%}


{%- macro _source_of(sql) -%}
    {#- The source's columns and its query. No table keeps a collation, and Spark compares no texts of two: they are cast, also within
        other types. -#}
    {%- set given, columns, selected = dbt_cdc._columns_of_source(sql), [], [] -%}
    {%- for column in given -%}
        {%- set quoted = dbt_cdc._quote(column.name) -%}
        {%- set type = modules.re.sub('\\bstring collate \\w+(?!\\w*:)', 'string', column.dtype) -%}
        {%- do columns.append(api.Column(column.name, type)) -%}
        {%- do selected.append(
            quoted if type == column.dtype else 'cast(' ~ quoted ~ ' as ' ~ dbt_cdc._type_text(type) ~ ') as ' ~ quoted) -%}
    {%- endfor -%}
    {%- set as_it_is = columns | map(attribute='dtype') | list == given | map(attribute='dtype') | list -%}
    {%- do return({
        'columns': columns,
        'sql': sql if as_it_is else 'select ' ~ selected | join(', ') ~ ' from (\n' ~ sql ~ '\n) as collated',
    }) -%}
{%- endmacro -%}

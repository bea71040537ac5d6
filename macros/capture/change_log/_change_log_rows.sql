{#- Row changes in the shape of a log. -#}

{%- macro _images_of_mode(mode) -%}
    {%- do return({'key_op': [], 'data_before': ['before'], 'data_before_after': ['before', 'after']}[mode]) -%}
{%- endmacro -%}


{%- macro _change_log_rows(table, mode, images, fields=none) -%}
    {#- Rows of the log out of images; `fields`: names of the log's image fields in order, where they differ. -#}
    {%- set key = [] -%}
    {%- for name in dbt_cdc._quoted_list(table.key) -%}
        {%- do key.append('if(after is null, before.' ~ name ~ ', after.' ~ name ~ ') as ' ~ name) -%}
    {%- endfor -%}
with images as (
    {{ images }}
),

{{ dbt_cdc._paired_by_key(table) }}

select
    op,
    ts,
    version,
    struct({{ key | join(', ') }}) as key
    {%- for name in dbt_cdc._images_of_mode(mode) %},
    {{ dbt_cdc._log_image(table, name, fields) }}
    {%- endfor %}
from row_changes
{%- endmacro -%}


{%- macro _log_image(table, name, fields) -%}
    {%- set own = table.columns | map(attribute='name') | list -%}
    {%- if fields is none or fields == own -%}{%- do return(name) -%}{%- endif -%}
    {%- set known = own | map('lower') | list -%}
    {%- set values = [] -%}
    {%- for field in fields -%}
        {%- set quoted = dbt_cdc._quote(field) -%}
        {%- do values.append((name ~ '.' ~ quoted if field | lower in known else 'null') ~ ' as ' ~ quoted) -%}
    {%- endfor -%}
    {%- do return('if(' ~ name ~ ' is null, null, struct(' ~ values | join(', ') ~ ')) as ' ~ name) -%}
{%- endmacro -%}


{%- macro _grow_log_images(table, log, names) -%}
    {#- Adds the table's new columns to the log's images; gives the names of all their fields, or none without images. -#}
    {%- if not names -%}{%- do return(none) -%}{%- endif -%}
    {%- set fields = run_query('select ' ~ names[0] ~ '.* from ' ~ log.relation ~ ' limit 0').column_names | list -%}
    {%- set known, added = fields | map('lower') | list, [] -%}
    {%- for column in table.columns if column.name | lower not in known -%}
        {%- do fields.append(column.name) -%}
        {%- for name in names -%}
            {%- do added.append(name ~ '.' ~ dbt_cdc._quote(column.name) ~ ' ' ~ column.dtype) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if added -%}
        {%- do run_query('alter table ' ~ log.relation ~ ' add columns (' ~ added | join(', ') ~ ')') -%}
    {%- endif -%}
    {%- do return(fields) -%}
{%- endmacro -%}

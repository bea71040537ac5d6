{#- Row changes in the shape of a log. -#}

{%- macro _images_of_mode(mode) -%}
    {%- do return({'key_op': [], 'data_before': ['before'], 'data_before_after': ['before', 'after']}[mode]) -%}
{%- endmacro -%}


{%- macro _change_log_rows(table, mode, images, fields=none) -%}
    {#- Rows of the log out of images; `fields`: names of the log's image fields in order, where they differ. -#}
    {%- set key = [] -%}
    {%- for name in dbt_cdc._quoted_list(table.key) -%}{%- do key.append('key_' ~ loop.index ~ ' as ' ~ name) -%}{%- endfor -%}
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
    {#- Gives the log's images the table's new columns, and the types of those that had none; gives the names of all their
        fields, or none without images. -#}
    {%- if not names -%}{%- do return(none) -%}{%- endif -%}
    {#- of the image that gets types last: a run may have been killed in between -#}
    {%- set logged = dbt_cdc._whole_columns('(select ' ~ names[-1] ~ '.* from ' ~ log.relation ~ ') as images') -%}
    {%- set kept, own = dbt_cdc._types_by_name(logged), dbt_cdc._whole_types(table.relation, table.columns) -%}
    {%- set fields, given, faults = logged | map(attribute='name') | list, {}, [] -%}
    {%- for name in table.columns | map(attribute='name') -%}
        {%- set before, type = kept.get(name | lower), own[name | lower] -%}
        {%- do given.update({name: type}) -%}
        {%- if before is none -%}
            {%- do fields.append(name) -%}
        {%- elif before not in [type, 'void'] -%}
            {%- do faults.append(log.relation ~ " keeps column '" ~ name ~ "' of " ~ table.source ~ " as " ~ before
                ~ ", got " ~ type ~ "; drop " ~ log.relation ~ " to begin a new log") -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do dbt_cdc._raise_faults(faults) -%}
    {%- do dbt_cdc._grow_columns(log.relation, table.format, kept, given, structs=names) -%}
    {%- do return(fields) -%}
{%- endmacro -%}

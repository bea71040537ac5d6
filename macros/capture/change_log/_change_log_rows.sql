{#- Row changes in the shape of a log. -#}

{%- macro _images_of_mode(mode) -%}
    {%- do return({'key_op': [], 'data_before': ['before'], 'data_before_after': ['before', 'after']}[mode]) -%}
{%- endmacro -%}


{%- macro _change_log_rows(table, mode, images, fields=none) -%}
    {#- Rows of the log out of images; `fields`: names of the log's image fields in order, where they differ. -#}
with images as (
    {{ images }}
),

{{ dbt_cdc._paired_by_key(table) }}

select
    op,
    ts,
    version,
    struct({{ dbt_cdc._key_of_change(table, named=true) }}) as key
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
    {%- set fields, kept, new, faults = [], {}, {}, [] -%}
    {%- for row in run_query('describe query select before.* from ' ~ log.relation).rows -%}
        {%- do fields.append(row[0]) -%}
        {%- do kept.update({row[0] | lower: row[1]}) -%}
    {%- endfor -%}
    {%- set own = dbt_cdc._types_of(table.relation) -%}
    {%- for column in table.columns -%}
        {%- set type = kept.get(column.name | lower) -%}
        {%- if type is none and 'more fields' in column.dtype -%}
            {%- do faults.append("column '" ~ column.name ~ "' of " ~ table.source ~ " came later and is a struct of so many fields"
                ~ " that Spark cuts its type: it can't be added to " ~ log.relation ~ "; drop that table to begin a new log") -%}
        {%- elif type is none -%}
            {%- do new.update({column.name: column.dtype}) -%}
            {%- do fields.append(column.name) -%}
        {%- elif type != own[column.name | lower] -%}
            {%- do faults.append(log.relation ~ " keeps column '" ~ column.name ~ "' of " ~ table.source ~ " as " ~ type
                ~ ", got " ~ own[column.name | lower] ~ "; drop " ~ log.relation ~ " to begin a new log") -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do dbt_cdc._raise_faults(faults, wrote='its change log was not written') -%}
    {%- do dbt_cdc._add_columns(log.relation, table.format, new, structs=names) -%}
    {%- do return(fields) -%}
{%- endmacro -%}

{#- The images of an envelope: what fields before and after have, and both with the fields of either. -#}

{%- macro _debezium_sides(feed) -%}
    {#- The fields of before and after, types by name; none of one that is no struct: JSON files of inserts alone, read as
        Spark infers them, have a before of type string. -#}
    {%- set prefix, sides = feed.prefix, {'before': {}, 'after': {}} -%}
    {%- for side in run_query('describe query select ' ~ prefix ~ 'before, ' ~ prefix ~ 'after from ' ~ feed.relation) -%}
        {%- if side[1].startswith('struct') -%}
            {%- for field in dbt_cdc._whole_columns('(select ' ~ prefix ~ side[0] ~ '.* from ' ~ feed.relation ~ ') as image') -%}
                {%- do sides[side[0] | lower].update({field.name: field.dtype}) -%}
            {%- endfor -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(sides) -%}
{%- endmacro -%}


{%- macro _debezium_fields(feed) -%}
    {#- What an image has: types by name. Of JSON what is asked for, as text. -#}
    {%- set fields = {} -%}
    {%- if feed.form == 'json' -%}
        {%- for name in feed.columns -%}{%- do fields.update({name: 'string'}) -%}{%- endfor -%}
    {%- endif -%}
    {%- for side in ['after', 'before'] -%}
        {%- for name, type in feed.sides.get(side, {}).items() if dbt_cdc._spelled(name, fields) not in fields -%}
            {%- do fields.update({name: type}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(fields) -%}
{%- endmacro -%}


{%- macro _debezium_image(feed, side) -%}
    {#- One side of an envelope of structs, with the fields of both. -#}
    {%- set image, own = feed.prefix ~ side, feed.sides[side] -%}
    {%- if own.items() | list == feed.fields.items() | list -%}{%- do return(image) -%}{%- endif -%}
    {%- set fields = [] -%}
    {%- for name, type in feed.fields.items() -%}
        {%- set value = dbt_cdc._debezium_of_type(name, image ~ '.' ~ dbt_cdc._quote(name), own.get(dbt_cdc._spelled(name, own)), type) -%}
        {%- do fields.append(dbt_cdc._literal(name) ~ ', ' ~ value) -%}
    {%- endfor -%}
    {#- what is no struct, such as a document as text, is no row -#}
    {%- do return('if(' ~ (image ~ ' is null' if own else 'true') ~ ', null, named_struct(' ~ fields | join(', ') ~ '))') -%}
{%- endmacro -%}


{%- macro _debezium_of_type(name, value, own, type) -%}
    {#- A field that one side has with the type `own` (none: it has no such field) and both are to have with another. Where one
        of them is text it stays text if it is that after, and is read if not; the wider of two numbers is Spark's to find. -#}
    {%- if own is none -%}{%- do return('null') -%}{%- endif -%}
    {%- if own == type or 'string' not in [own, type] -%}{%- do return(value) -%}{%- endif -%}
    {%- if type == 'string' -%}{%- do return('to_json(' ~ value ~ ')' if '<' in own else 'cast(' ~ value ~ ' as string)') -%}{%- endif -%}
    {%- set text = dbt_cdc._type_text(type) -%}
    {%- set read = 'from_json(' ~ value ~ ', ' ~ dbt_cdc._literal(text) ~ ')' if '<' in type else dbt_cdc._read_as(value, text) -%}
    {%- do return(dbt_cdc._read_or_fail('from_debezium', name, type, value, read)) -%}
{%- endmacro -%}

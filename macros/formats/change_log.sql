{#- How rows get into a log that other runs may be writing too: never twice. -#}

{#- A clause of a MERGE that inserts, without which it would not fail when another has inserted the same meanwhile. -#}
{%- macro default__insert_once() -%}{%- endmacro -%}


{%- macro iceberg__insert_once() -%}
    {#- without a clause for matched rows Iceberg only appends, and looks for no one else's appends -#}
    {%- do return('when matched and false then delete') -%}
{%- endmacro -%}


{#- Table properties of a log of a table. -#}
{%- macro default__log_properties(relation) -%}{%- do return({}) -%}{%- endmacro -%}


{%- macro iceberg__log_properties(relation) -%}
    {#- Merge-on-read: such a MERGE is one pass over its source, and a snapshot that a stream takes for the append that it is.
        Version 2 knows it; a table of a later one may have types that only that one has. -#}
    {%- set own = dbt_cdc._table_properties(relation).get('format-version', '2') -%}
    {%- do return(dict(dbt_cdc._own_table_properties('iceberg'), **{
        'format-version': [own | int, 2] | max, 'write.merge.mode': 'merge-on-read'})) -%}
{%- endmacro -%}

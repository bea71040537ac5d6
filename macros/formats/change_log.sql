{#- How rows get into a log that other runs may be writing too: never twice. -#}

{%- macro delta__insert_once() -%}
    {#- A clause of a MERGE that inserts, without which it would not fail when another has inserted the same meanwhile. -#}
{%- endmacro -%}


{%- macro iceberg__insert_once() -%}
    {#- without a clause for matched rows Iceberg only appends, and looks for no one else's appends -#}
    {%- do return('when matched and false then delete') -%}
{%- endmacro -%}


{#- Table properties of a log. -#}
{%- macro delta__change_log() -%}{%- do return({}) -%}{%- endmacro -%}


{%- macro iceberg__change_log() -%}
    {#- such a MERGE is one pass over its source, and a snapshot that a stream takes for the append that it is -#}
    {%- do return({'format-version': '2', 'write.merge.mode': 'merge-on-read'}) -%}
{%- endmacro -%}

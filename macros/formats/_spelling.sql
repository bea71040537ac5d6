{%- macro _spelling(relation, name, asked) -%}
    {#- A name (a table's, or of a part of it) in small and capital letters of its own for what is asked of it. Spark looks a
        name up once in a statement and drops what the second use asks for (options, a range of versions): a union or join
        of two ranges would give the rows of the first for both. Catalogs do not mind the letters' case. An ephemeral model
        is part of its readers' statements, so all nodes of a run share the spellings while there are any left. -#}
    {%- set shared = dbt_cdc._of_this_run().setdefault('spellings', {}) -%}
    {%- set own = dbt_cdc._of_this_run().setdefault('spellings of ' ~ dbt_cdc._running(), {}) -%}
    {%- set asked, found = relation ~ ' ' ~ asked, namespace(spelled=none) -%}
    {%- set found.spelled = dbt_cdc._free_spelling(relation ~ ' ', name, asked, shared) -%}
    {%- if found.spelled is none or own.get(relation ~ ' ' ~ found.spelled, asked) != asked -%}
        {#- none is left, or this node asks another range by it -#}
        {%- set found.spelled = dbt_cdc._free_spelling(relation ~ ' ', name, asked, own) -%}
    {%- endif -%}
    {%- if found.spelled is none -%}
        {%- do dbt_cdc._raise_faults(["it asks for more ranges of " ~ name ~ " than one statement can tell apart. "
            ~ "Make a model for each range"]) -%}
    {%- endif -%}
    {%- do own.update({relation ~ ' ' ~ found.spelled: asked}) -%}
    {%- do return(found.spelled) -%}
{%- endmacro -%}


{%- macro _free_spelling(prefix, name, asked, known) -%}
    {#- One that nothing else has been asked by, or none; `known`: what was asked by which, and is by this one from now on. -#}
    {%- set number = local_md5(asked)[:4] | int(base=16) -%}
    {%- for offset in range(128) -%}
        {%- set letters, place = [], namespace(value=1) -%}
        {%- for letter in name -%}
            {%- set is_letter = letter | lower in 'abcdefghijklmnopqrstuvwxyz' -%}
            {%- do letters.append(letter | upper if is_letter and (number + offset) // place.value % 2 else letter) -%}
            {%- if is_letter -%}{%- set place.value = place.value * 2 -%}{%- endif -%}
        {%- endfor -%}
        {%- if known.setdefault(prefix ~ letters | join, asked) == asked -%}{%- do return(letters | join) -%}{%- endif -%}
    {%- endfor -%}
    {%- do return(none) -%}
{%- endmacro -%}

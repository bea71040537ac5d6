{%- macro _spelling(name, asked) -%}
    {#- A table's name in small and capital letters of its own for what is asked of it. Spark looks a name up once in a
        statement and drops what the second use asks for (options, a range of versions): a union or join of two ranges would
        give the rows of the first for both. Catalogs do not mind the letters' case. -#}
    {%- set number, known = local_md5(asked)[:4] | int(base=16), model.setdefault('_dbt_cdc_spellings', {}) -%}
    {%- set spelling = namespace(name=none) -%}
    {%- for offset in range(128) if spelling.name is none -%}
        {%- set letters, place = [], namespace(value=1) -%}
        {%- for letter in name -%}
            {%- set is_letter = letter | lower in 'abcdefghijklmnopqrstuvwxyz' -%}
            {%- do letters.append(letter | upper if is_letter and (number + offset) // place.value % 2 else letter) -%}
            {%- if is_letter -%}{%- set place.value = place.value * 2 -%}{%- endif -%}
        {%- endfor -%}
        {%- if known.setdefault(letters | join, asked) == asked -%}{%- set spelling.name = letters | join -%}{%- endif -%}
    {%- endfor -%}
    {%- if spelling.name is none -%}
        {%- do dbt_cdc._raise_faults(["it asks for more ranges of " ~ name ~ " than one statement can tell apart. "
            ~ "Make a model for each range"]) -%}
    {%- endif -%}
    {%- do return(spelling.name) -%}
{%- endmacro -%}

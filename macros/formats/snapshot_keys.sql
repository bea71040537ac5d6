{#- Keys of snapshots that a format keeps as others than those given. -#}

{%- macro _char_keys(shape) -%}
    {#- The char(n) columns that a key is made of, with their n: Delta plans no merge on one, while Spark pads such columns as it reads
        them. `describe table` calls them strings. -#}
    {%- set lengths = {} -%}
    {%- for name in dbt_cdc._text_keys(shape.strategy, shape.source_types) -%}
        {%- set described = run_query('describe extended ' ~ shape.target ~ ' ' ~ dbt_cdc._quote(name)) -%}
        {%- for row in described.rows if row[0] == 'data_type' and row[1].startswith('char(') -%}
            {%- do lengths.update({name: row[1][5:-1]}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(lengths) -%}
{%- endmacro -%}


{#- What is wrong with new keys for the table's own columns. -#}
{%- macro default__new_key_faults(shape) -%}{%- do return([]) -%}{%- endmacro -%}


{%- macro delta__new_key_faults(shape) -%}
    {#- A source that has been char(n), too, and gives text now. -#}
    {%- set faults, keys = [], dbt_cdc._keys(shape.strategy) -%}
    {%- set numbered, other = dbt_cdc._numbered(keys), [] -%}
    {%- for key in keys -%}{%- do other.append('not (' ~ key ~ ' <=> ' ~ numbered[loop.index0] ~ ')') -%}{%- endfor -%}
    {%- for name, length in dbt_cdc._char_keys(shape).items() -%}
        {%- set value, columns = dbt_cdc._quote(name), [] -%}
        {%- set kept = 'if(length(' ~ value ~ ') < ' ~ length ~ ', rpad(' ~ value ~ ', ' ~ length ~ '), ' ~ value ~ ') as ' ~ value -%}
        {%- for column in shape.source_columns -%}
            {%- do columns.append(kept if column | lower == name else dbt_cdc._quote(column)) -%}
        {%- endfor -%}
        {#- by what the table will keep, other keys than these: trim(id) is none -#}
        {%- set short = run_query('select count(*) from (select ' ~ (columns + numbered) | join(', ') ~ ' from ' ~ shape.staging
            ~ " where dbt_cdc_kind = 'insert') as kept where " ~ other | join(' or '))[0][0] -%}
        {%- if short -%}
            {%- do faults.append("column '" ~ name ~ "' of " ~ shape.target ~ ", a part of unique_key, is char(" ~ length ~ "), and "
                ~ short ~ " new key(s) are shorter: the table would fill them up with spaces, and they would not be found again. Give"
                ~ " rpad(" ~ value ~ ", " ~ length ~ ") in the snapshot's query, or make the column a string and trim it by hand") -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}

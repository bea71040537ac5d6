{#- A snapshot's key: its expressions, and the names that their values have in SQL. -#}

{%- macro _keys(strategy) -%}
    {#- The key expressions as a list: dbt takes one or many, each a column or an expression. -#}
    {%- set given = strategy.unique_key -%}
    {%- do return([given] if given is string else given | list) -%}
{%- endmacro -%}


{%- macro _scd_id(strategy) -%}
    {#- dbt's own, which puts '|' between the parts of a key. Where a part has one in itself, ('x|y', 'z') and ('x', 'y|z') would have one
        id: such keys are told apart by parts spelled without it. A strategy that makes ids of its own keeps them. -#}
    {%- set stock = snapshot_hash_arguments(api.Relation.scd_args(strategy.unique_key, strategy.updated_at)) -%}
    {%- if dbt_cdc._keys(strategy) | length == 1 or stock | trim != strategy.scd_id | trim -%}
        {%- do return(strategy.scd_id) -%}
    {%- endif -%}
    {%- set texts = [] -%}
    {%- for key in dbt_cdc._keys(strategy) -%}{%- do texts.append('cast(' ~ key ~ ' as string)') -%}{%- endfor -%}
    {%- set parts = texts | join(', ') -%}
    {%- do return("if(instr(concat(" ~ parts ~ "), '|') > 0, "
                  ~ snapshot_hash_arguments(['hex(to_json(array(' ~ parts ~ ')))', strategy.updated_at]) ~ ', ' ~ stock ~ ')') -%}
{%- endmacro -%}


{%- macro _key_columns_of(strategy) -%}
    {#- Their names in lower case, where they are columns. -#}
    {%- do return(dbt_cdc._unquoted_names(dbt_cdc._keys(strategy)) | map('lower') | list) -%}
{%- endmacro -%}


{%- macro _text_keys(strategy, types) -%}
    {#- The text columns that a key is made of, as far as its text shows. `types`: by lower-case name. -#}
    {%- set keys, names = dbt_cdc._keys(strategy) | join(' '), [] -%}
    {%- for name, type in types.items() if type == 'string' and dbt_cdc._speaks_of(keys, name) -%}
        {%- do names.append(name) -%}
    {%- endfor -%}
    {%- do return(names) -%}
{%- endmacro -%}


{%- macro _key_names(strategy) -%}
    {#- The names that dbt's unique_key_fields gives the key expressions. -#}
    {%- if strategy.unique_key is string -%}{%- do return(['dbt_unique_key']) -%}{%- endif -%}
    {%- do return(dbt_cdc._numbered(strategy.unique_key, 'dbt_unique_key_')) -%}
{%- endmacro -%}


{%- macro _numbered(keys, prefix='dbt_cdc_key_') -%}
    {#- Names for the values of as many key expressions. -#}
    {%- set names = [] -%}
    {%- for key in keys -%}{%- do names.append(prefix ~ loop.index) -%}{%- endfor -%}
    {%- do return(names) -%}
{%- endmacro -%}


{%- macro _numbered_keys(keys, prefix='dbt_cdc_key_') -%}
    {#- Select list of the key expressions by those names. -#}
    {%- set listed = [] -%}
    {%- for key in keys -%}{%- do listed.append('(' ~ key ~ ') as ' ~ prefix ~ loop.index) -%}{%- endfor -%}
    {%- do return(listed | join(', ')) -%}
{%- endmacro -%}


{%- macro _key_text(strategy) -%}
    {#- For errors, of a row of the changes. -#}
    {%- set texts = [] -%}
    {%- for name in dbt_cdc._numbered(dbt_cdc._keys(strategy)) -%}{%- do texts.append('cast(' ~ name ~ ' as string)') -%}{%- endfor -%}
    {%- do return("concat_ws(', ', " ~ texts | join(', ') ~ ')') -%}
{%- endmacro -%}


{%- macro _same_numbered(keys, left, right) -%}
    {#- The condition of a join by two prefixes of those names. -#}
    {%- set same = [] -%}
    {%- for key in keys -%}{%- do same.append(left ~ loop.index ~ ' = ' ~ right ~ loop.index) -%}{%- endfor -%}
    {%- do return(same | join(' and ')) -%}
{%- endmacro -%}


{%- macro _null_keys(keys) -%}
    {#- The conditions that a key expression is NULL. -#}
    {%- set conditions = [] -%}
    {%- for key in keys -%}{%- do conditions.append('(' ~ key ~ ') is null') -%}{%- endfor -%}
    {%- do return(conditions) -%}
{%- endmacro -%}

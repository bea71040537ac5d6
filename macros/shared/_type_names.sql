{#- The types that a person may name. -#}

{%- macro _type_names() -%}
    {%- do return(['tinyint', 'smallint', 'int', 'bigint', 'float', 'double', 'decimal', 'string', 'char', 'varchar', 'binary', 'boolean',
                   'date', 'timestamp', 'timestamp_ntz', 'array', 'map', 'struct', 'variant']) -%}
{%- endmacro -%}


{%- macro _is_known_type(type) -%}
    {#- By the name that it begins with, its brackets, the length that a char has and the digits of decimals; else what stands within is
        Spark's to read. -#}
    {%- set others = ['byte', 'short', 'integer', 'long', 'real', 'dec', 'numeric', 'character', 'timestamp_ltz', 'interval'] -%}
    {%- set closed = type.count('(') == type.count(')') and type.count('<') == type.count('>') -%}
    {%- set unsized = modules.re.search('(?i)(^|[<,:])\\s*(var)?char(acter)?\\s*([,>]|$)', type) -%}
    {%- for whole, fraction in modules.re.findall('(?i)\\b(?:dec|decimal|numeric)\\s*[(]\\s*(\\d+)\\s*,?\\s*(\\d*)\\s*[)]', type)
        if not 0 < whole | int <= 38 or (fraction or 0) | int > whole | int -%}
        {%- do return(false) -%}
    {%- endfor -%}
    {%- do return(closed and not unsized and dbt_cdc._leading_name(type) in dbt_cdc._type_names() + others) -%}
{%- endmacro -%}


{%- macro _leading_name(type) -%}
    {%- do return(modules.re.match('\\s*(\\w*)', type).group(1) | lower) -%}
{%- endmacro -%}


{%- macro _split_outside_brackets(text) -%}
    {#- At commas that stand in no brackets, backticks and quotes (of comments). -#}
    {%- set parts, at = [''], namespace(depth=0, quoted='') -%}
    {%- for character in text -%}
        {%- if at.quoted in ['', character] and character in "`'" -%}
            {%- set at.quoted = '' if at.quoted else character -%}
        {%- elif not at.quoted -%}
            {%- set at.depth = at.depth + {'<': 1, '(': 1, '>': -1, ')': -1}.get(character, 0) -%}
        {%- endif -%}
        {%- if character == ',' and at.depth == 0 and not at.quoted -%}
            {%- do parts.append('') -%}
        {%- else -%}
            {%- do parts.append(parts.pop() ~ character) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(parts) -%}
{%- endmacro -%}

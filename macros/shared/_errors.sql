{#- Errors say: which node, what is wrong, the value got, what was expected, one thing to do. -#}

{%- macro _raise_faults(faults, about='', wrote=none) -%}
    {#- `about`: what each fault begins with. `wrote`: what became of the tables, where it is more than nothing. While dbt parses, a
        node does not know its options yet. -#}
    {%- if faults and execute -%}
        {%- set wrote = wrote or (model.get('_dbt_cdc_wrote') if model is defined else none) or 'nothing was written' -%}
        {%- set lines = ["dbt_cdc: " ~ dbt_cdc._running() ~ " can't run, " ~ wrote ~ ":"] -%}
        {%- for fault in faults -%}
            {%- do lines.append("  - " ~ about ~ fault) -%}
        {%- endfor -%}
        {%- do exceptions.raise_compiler_error(lines | join("\n")) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _raise_run_faults(faults) -%}
    {#- What keeps a whole run from starting. -#}
    {%- if faults -%}
        {%- do exceptions.raise_compiler_error("dbt_cdc: nothing was written:\n  - " ~ faults | sort | join('\n  - ')) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _running() -%}
    {#- What errors name: the node that runs, if it is one. -#}
    {%- do return(model.unique_id if model is defined else 'this operation') -%}
{%- endmacro -%}


{%- macro _value_text(value) -%}
    {#- The value for a message: as JSON, but with every character as it was given (`tojson` escapes quotes and what is not ASCII), and
        also of what JSON does not know: YAML makes a date of 2019-06-18. -#}
    {%- set parts = [] -%}
    {%- if value is mapping -%}
        {%- for name, part in value.items() -%}
            {%- do parts.append(dbt_cdc._value_text(name | string) ~ ': ' ~ dbt_cdc._value_text(part)) -%}
        {%- endfor -%}
        {%- do return('{' ~ parts | join(', ') ~ '}') -%}
    {%- elif value is iterable and value is not string -%}
        {%- for part in value -%}{%- do parts.append(dbt_cdc._value_text(part)) -%}{%- endfor -%}
        {%- do return('[' ~ parts | join(', ') ~ ']') -%}
    {%- elif value is none or value is boolean or value is number -%}
        {%- do return('null' if value is none else value | string | lower) -%}
    {%- endif -%}
    {%- set text = value | string -%}
    {%- do return('"' ~ text.replace('\\', '\\\\').replace('"', '\\"').replace('\n', '\\n') ~ '"') -%}
{%- endmacro -%}


{%- macro _unknown_name(kind, name, known) -%}
    {%- do return("unknown " ~ kind ~ " '" ~ name ~ "'" ~ dbt_cdc._suggestion(name, known)
                  ~ " Known: " ~ (known | sort | join(', '))) -%}
{%- endmacro -%}


{%- macro _suggestion(name, known) -%}
    {#- ", did you mean …?" for the nearest known name, "." where none is near. Likeness: the share of letters
        and letter pairs that both have (Dice), so that swapped letters count as near. -#}
    {%- set nearest = namespace(name=none, likeness=0.55) -%}
    {%- for candidate in known -%}
        {%- set likeness = dbt_cdc._likeness(name | string, candidate | string) -%}
        {%- if likeness > nearest.likeness -%}
            {%- set nearest.name = candidate -%}
            {%- set nearest.likeness = likeness -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(", did you mean '" ~ nearest.name ~ "'?" if nearest.name is not none else ".") -%}
{%- endmacro -%}


{%- macro _likeness(left, right) -%}
    {%- set pairs, others = dbt_cdc._letters_and_pairs(left), dbt_cdc._letters_and_pairs(right) -%}
    {%- set total = (pairs | length) + (others | length) -%}
    {%- set shared = [] -%}
    {%- for pair in pairs if pair in others -%}
        {%- do others.remove(pair) -%}
        {%- do shared.append(pair) -%}
    {%- endfor -%}
    {%- do return(2.0 * (shared | length) / total) -%}
{%- endmacro -%}


{%- macro _letters_and_pairs(text) -%}
    {%- set padded = "^" ~ (text | lower) ~ "$" -%}
    {%- set pairs = text | lower | list -%}
    {%- for i in range((padded | length) - 1) -%}
        {%- do pairs.append(padded[i:i + 2]) -%}
    {%- endfor -%}
    {%- do return(pairs) -%}
{%- endmacro -%}


{%- macro _ignoring_errors(statement) -%}
    {#- No macro can catch an error, but Spark's own scripts can. Where one did, a query gives no rows. -#}
    {%- if not dbt_cdc._takes_scripts() -%}{%- do return(statement) -%}{%- endif -%}
    {%- do return('begin declare exit handler for sqlexception begin end; ' ~ statement ~ '; end') -%}
{%- endmacro -%}


{%- macro _takes_scripts() -%}
    {#- Version 3 does not, and a session may have them off (as it has in 4.0). -#}
    {%- set found = dbt_cdc._of_this_run() -%}
    {%- if 'takes_scripts' not in found -%}
        {%- do found.update({'takes_scripts': dbt_cdc._session_setting('spark.sql.scripting.enabled') | lower == 'true'}) -%}
    {%- endif -%}
    {%- do return(found.takes_scripts) -%}
{%- endmacro -%}

{#- The options a node may carry under `meta: {dbt_cdc: {…}}`. A capability states its options once, as a mapping
    name -> {type, default, values, between, required, under, rival}, and reads and checks them with the macros below.
    Types: boolean, string, number, scalar (string, number or date), date (2019-06-18, with quotes or without), list (of strings; one
    string stands for a list of one). Where there are `values`, the text counts: vars give 2 as '2'.
    `expects` says what is meant where the type does not; a list that is `filled` must have names in it; `under`: the values of other
    options with which this one has a meaning; `rival`: an option that can't stand beside it. -#}

{%- macro _meta(node=none, raw=false) -%}
    {#- The node's options; `raw`: as they are written, though that be no mapping. -#}
    {%- set given = ((node or model).config.get('meta') or {}).get('dbt_cdc') or {} -%}
    {%- do return(given if raw or given is mapping else {}) -%}
{%- endmacro -%}


{%- macro _given_options(spec, node=none) -%}
    {#- What the node says, with defaults filled in; check with _option_faults before relying on it. -#}
    {%- set given = dbt_cdc._meta(node) -%}
    {%- set options = {} -%}
    {%- for name, rule in spec.items() -%}
        {%- set value = given[name] if given.get(name) is not none else rule.get('default') -%}
        {%- set value = [value] if rule.type == 'list' and value is string else value -%}
        {%- set allowed = dbt_cdc._allowed_value(value, rule.get('values', [])) -%}
        {%- set value = value if allowed is none else allowed -%}
        {%- set is_text = rule.type == 'date' or (rule.type == 'scalar' and value is not none and value is not integer) -%}
        {%- do options.update({name: value | string if is_text else value}) -%}
    {%- endfor -%}
    {%- do return(options) -%}
{%- endmacro -%}


{%- macro _option_faults(spec) -%}
    {#- All that is wrong with the node's options, one sentence each; an empty list if nothing is. -#}
    {%- set given = dbt_cdc._meta(raw=true) -%}
    {%- if given is not mapping -%}
        {%- do return(["meta.dbt_cdc must be a mapping of options, got " ~ dbt_cdc._value_text(given)]) -%}
    {%- endif -%}
    {%- set faults = [] -%}
    {%- for name, value in given.items() if name not in spec -%}
        {%- do faults.append(dbt_cdc._unknown_name('option', name, spec.keys() | list)) -%}
    {%- endfor -%}
    {%- for name, rule in spec.items() -%}
        {%- do faults.extend(dbt_cdc._value_faults(name, rule, given.get(name))) -%}
        {%- if name != 'unique_key' and model.config.get(name) is not none -%}
            {%- do faults.append("option '" ~ name ~ "' stands beside meta, where nothing reads it: move it to meta: {dbt_cdc: {"
                                 ~ name ~ ": …}}") -%}
        {%- endif -%}
        {%- if name in (model.config.get('meta') or {}) and name not in given -%}
            {%- do faults.append("option '" ~ name ~ "' stands in meta itself, where nothing of dbt_cdc reads it: move it to meta:"
                                 ~ " {dbt_cdc: {" ~ name ~ ": …}} or, where another tool reads it, set it to null there") -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(faults + dbt_cdc._faults_between(spec, given, dbt_cdc._given_options(spec))) -%}
{%- endmacro -%}


{%- macro _faults_between(spec, given, options) -%}
    {#- What the specification itself says of options beside each other; an option whose own value is wrong is passed over. -#}
    {%- set faults = [] -%}
    {%- for name, rule in spec.items() if given.get(name) is not none -%}
        {%- if rule.get('rival') and given[name] and given.get(rule.rival) -%}
            {%- do faults.append("give '" ~ name ~ "' or '" ~ rule.rival ~ "', not both, got " ~ dbt_cdc._value_text(given[name]) ~ " and "
                                 ~ dbt_cdc._value_text(given[rule.rival])) -%}
        {%- endif -%}
        {%- for other, allowed in rule.get('under', {}).items() if options[other] not in allowed -%}
            {%- set needed, got = allowed | join(' or ') | lower, options[other] | string | lower -%}
            {%- set whose = ' (the default)' if given.get(other) is none else '' -%}
            {%- if not dbt_cdc._value_faults(other, spec[other], options[other]) -%}
                {%- do faults.append("option '" ~ name ~ "' has a meaning under '" ~ other ~ ": " ~ needed ~ "' only, got '" ~ other
                                     ~ ": " ~ got ~ "'" ~ whose ~ ": change that, or take the option out") -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _value_faults(name, rule, value) -%}
    {%- if value is none or (rule.get('required') and value == []) -%}
        {%- do return(["option '" ~ name ~ "' is required (" ~ rule.get('expects', rule.type) ~ ")"] if rule.get('required') else []) -%}
    {%- endif -%}
    {%- if rule.get('values') -%}
        {%- if dbt_cdc._allowed_value(value, rule['values']) is not none -%}{%- do return([]) -%}{%- endif -%}
        {%- do return(["option '" ~ name ~ "' must be one of " ~ (rule['values'] | join(', ')) ~ ", got " ~ dbt_cdc._value_text(value)
                       ~ dbt_cdc._suggestion(value, rule['values'])]) -%}
    {%- endif -%}
    {%- if not dbt_cdc._is_of_type(value, rule.type) -%}
        {%- set wanted = 'a date like 2019-06-18' if rule.type == 'date' else rule.get('expects', 'of type ' ~ rule.type) -%}
        {%- do return(["option '" ~ name ~ "' must be " ~ wanted ~ ", got " ~ dbt_cdc._value_text(value)]) -%}
    {%- endif -%}
    {%- if rule.get('filled') and value | length == 0 -%}
        {%- do return(["option '" ~ name ~ "' must name at least one column, got " ~ dbt_cdc._value_text(value)
                       ~ "; leave it out instead"]) -%}
    {%- endif -%}
    {%- if '' in ([value] if value is string else value if value is iterable else []) -%}
        {%- do return(["option '" ~ name ~ "' must have a text, got " ~ dbt_cdc._value_text(value) ~ "; leave it out instead"]) -%}
    {%- endif -%}
    {%- if rule.get('between') and not rule.between[0] <= value <= rule.between[1] -%}
        {%- do return(["option '" ~ name ~ "' must lie between " ~ (rule.between | join(' and ')) ~ ", got " ~ value]) -%}
    {%- endif -%}
    {%- do return([]) -%}
{%- endmacro -%}


{%- macro _allowed_value(value, values) -%}
    {#- The one of `values` that is meant, or none. -#}
    {%- for allowed in values if allowed | string == value | string -%}{%- do return(allowed) -%}{%- endfor -%}
    {%- do return(none) -%}
{%- endmacro -%}


{%- macro _is_of_type(value, type) -%}
    {%- set strings = value is iterable and value is not mapping and value is not string
                      and (value | reject('string') | list | length == 0) -%}
    {%- do return({
        'boolean': value is boolean,
        'string': value is string,
        'number': value is number and value is not boolean,
        'scalar': value is string or (value is number and value is not boolean) or dbt_cdc._is_date((value | string)[:10]),
        'date': dbt_cdc._is_date(value | string),
        'list': value is string or strings,
    }[type]) -%}
{%- endmacro -%}


{%- macro _is_date(text) -%}
    {#- YYYY-MM-DD, and a day that the calendar has: counted from the month's first it is still in that month. -#}
    {%- if not modules.re.fullmatch('(?!0000)[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])', text) -%}
        {%- do return(false) -%}
    {%- endif -%}
    {%- set year, month, day = text.split('-') | map('int') -%}
    {%- set date = modules.datetime.date(year, month, 1) + modules.datetime.timedelta(days=day - 1) -%}
    {%- do return(date.month == month) -%}
{%- endmacro -%}


{%- macro _check_options(spec, more_faults) -%}
    {#- One error that lists every fault, or the options. `more_faults`: rules between options, found by the caller. -#}
    {%- do dbt_cdc._raise_faults(dbt_cdc._option_faults(spec) + more_faults) -%}
    {%- do return(dbt_cdc._given_options(spec)) -%}
{%- endmacro -%}

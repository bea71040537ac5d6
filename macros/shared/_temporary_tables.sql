{#- The tables of one run, beside the table that it writes: what a run reads more than once is in them, as it was when it was read.
    (Spark's cache is no such place: Spark fills it anew whenever another session of the application writes what was read.) -#}

{%- macro _run_name() -%}
    {#- The time first, for _leftover_tables; then what tells two runs at once apart. -#}
    {%- do return(modules.datetime.datetime.now(modules.pytz.utc).strftime('%Y%m%dT%H%M%S%f') ~ '-' ~ invocation_id[:8]) -%}
{%- endmacro -%}


{%- macro _temporary_relation(target, run, kind=none) -%}
    {#- `run`: its name. Two runs of one node at once never meet in them. -#}
    {%- set own = target.identifier ~ '__dbt_tmp_' ~ run.replace('-', '_') | lower ~ ('_' ~ kind if kind else '') -%}
    {%- do return(target.incorporate(path={'identifier': own}, type='table')) -%}
{%- endmacro -%}


{%- macro _create_temporary(relation, query) -%}
    {%- set format = dbt_cdc._file_format() -%}
    {%- set properties = dict(dbt_cdc._shared_properties(), **dbt_cdc._for_format('temporary_properties', format)()) -%}
    {%- do return(dbt_cdc._create_as(relation, query, dbt_cdc._for_format('temporary_format', format)(), properties)) -%}
{%- endmacro -%}


{%- macro _drop_temporary(relation) -%}
    {%- do return(dbt_cdc._for_format('drop_temporary', dbt_cdc._file_format())(relation)) -%}
{%- endmacro -%}


{%- macro _leftover_tables(target) -%}
    {#- Those of killed runs: older than any run that may still be at work. -#}
    {%- set relations = [] -%}
    {%- set prefix = (target.identifier ~ '__dbt_tmp_') | lower -%}
    {%- set own = modules.re.escape(prefix) ~ '\\d{8}t\\d{12}_\\w{8}(_images|_touched|_changes)?' -%}
    {%- set a_day_ago = modules.datetime.datetime.now(modules.pytz.utc) - modules.datetime.timedelta(days=1) -%}
    {%- set oldest = prefix ~ a_day_ago.strftime('%Y%m%dt%H%M%S') -%}
    {%- for name in dbt_cdc._temporary_names(target) if modules.re.fullmatch(own, name | lower) and name | lower < oldest -%}
        {%- do relations.append(target.incorporate(path={'identifier': name})) -%}
    {%- endfor -%}
    {%- do return(relations) -%}
{%- endmacro -%}


{%- macro _temporary_names(target) -%}
    {#- Of all such tables in a schema, as they were when the run first asked: a listing may be one of the whole schema, whatever it
        is asked for, and what comes later is of runs that may still be at work. -#}
    {%- set place = target.include(identifier=false) | string -%}
    {%- set listed = dbt_cdc._of_this_run().setdefault('temporary tables', {}) -%}
    {%- if place not in listed -%}
        {%- set names = [] -%}
        {%- for row in run_query('show tables in ' ~ place ~ " like '*__dbt_tmp_*'") -%}{%- do names.append(row[1]) -%}{%- endfor -%}
        {%- do listed.update({place: names}) -%}
    {%- endif -%}
    {%- do return(listed[place]) -%}
{%- endmacro -%}

{%- macro _session_setting(name) -%}
    {#- A setting's value as text. Asked without dbt's query comment: Spark takes one that follows for a part of the name. -#}
    {%- set _, cursor = adapter.add_query('set ' ~ name, auto_begin=false) -%}
    {%- do return(cursor.fetchall()[0][1]) -%}
{%- endmacro -%}


{%- macro _given_settings() -%}
    {#- {name: value} of all that Spark was given, by its start or by this session: what is left at Spark's defaults is not there. -#}
    {%- set given, cursor = {}, adapter.add_query('set', auto_begin=false)[1] -%}
    {%- for row in cursor.fetchall() -%}{%- do given.update({row[0]: row[1]}) -%}{%- endfor -%}
    {%- do return(given) -%}
{%- endmacro -%}


{%- macro _profile_setting(name) -%}
    {#- A setting's value as the profile has it, which a thrift server heeds in Python models alone; empty if it has none. -#}
    {%- do return((adapter.config.credentials.server_side_parameters | default({}, true)).get(name, '') | string) -%}
{%- endmacro -%}

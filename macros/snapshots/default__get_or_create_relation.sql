{#- dbt's own, and for catalogs that do not list their tables a second look: the table itself is asked. Without it, such
    a snapshot would start anew in every run and lose its history. It is the first thing that a snapshot calls,
    so its options are checked here, before anything is written, and its log is brought up to it. -#}
{%- macro default__get_or_create_relation(database, schema, identifier, type) -%}
    {#- an operation may call it, too, or a hook of the run, where it is none -#}
    {%- if not (this | default(none)) -%}
        {%- do return(dbt.default__get_or_create_relation(database, schema, identifier, type)) -%}
    {%- endif -%}
    {%- if execute and model.resource_type == 'snapshot' -%}
        {%- do dbt_cdc._check_snapshot_options() -%}
        {%- do dbt_cdc._open_change_log(this) -%}
    {%- endif -%}
    {%- set known = dbt.default__get_or_create_relation(database, schema, identifier, type) -%}
    {#- dbt's cache knows tables without the quotes that a name may need -#}
    {%- set relation = known[1].incorporate(quote_policy=this.quote_policy.to_dict()) -%}
    {%- set found = dbt_cdc._load_relation(relation) if execute and not known[0] else none -%}
    {%- if found is none -%}{%- do return([known[0], relation]) -%}{%- endif -%}
    {#- dbt's strategies ask its cache for the table, too -#}
    {%- do adapter.cache_added(found) -%}
    {%- do return([true, found]) -%}
{%- endmacro -%}

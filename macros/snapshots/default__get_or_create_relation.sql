{#- dbt's own, and for catalogs that do not list their tables a second look: the table itself is asked. Without it, such
    a snapshot would start anew in every run and lose its history. It is the first thing that a snapshot calls,
    so its options are checked here, before anything is written, and its log is brought up to it. -#}
{%- macro default__get_or_create_relation(database, schema, identifier, type) -%}
    {#- an operation may call it, too, or a hook of the run, where it is none -#}
    {%- if not (this | default(none)) or not dbt_cdc._on_spark() -%}
        {%- do return(dbt_cdc._stock('get_or_create_relation')(database, schema, identifier, type)) -%}
    {%- endif -%}
    {%- if execute and model.resource_type == 'snapshot' -%}
        {%- do dbt_cdc._check_snapshot_options() -%}
        {%- do dbt_cdc._open_change_log(this) -%}
    {%- endif -%}
    {%- set known = dbt.default__get_or_create_relation(database, schema, identifier, type) -%}
    {#- dbt's cache knows tables without the quotes that a name may need -#}
    {%- set relation = known[1].incorporate(quote_policy=this.quote_policy.to_dict()) -%}
    {%- set found = dbt_cdc._load_relation(relation) if execute and not known[0] else none -%}
    {#- dbt's strategies ask its cache for the table, too -#}
    {%- if found is not none -%}{%- do adapter.cache_added(found) -%}{%- endif -%}
    {%- set there, relation = known[0] or found is not none, found or relation -%}
    {%- if there and execute and model.resource_type == 'snapshot' -%}{%- do dbt_cdc._check_before_strategy(relation) -%}{%- endif -%}
    {%- do return([there, relation]) -%}
{%- endmacro -%}


{%- macro _check_before_strategy(table) -%}
    {#- What would end in an error of Spark's: dbt's check strategy reads its columns from the source first of all. What a pre-hook
        has still to make can't be asked yet. -#}
    {%- do dbt_cdc._raise_faults(dbt_cdc._other_format_faults(table, config.get('file_format'))) -%}
    {%- if dbt_cdc._goes_by_columns() and config.get('check_cols') is not string and not model.config.get('pre-hook') -%}
        {%- set names = dbt_cdc._columns_of_source(model['compiled_code']) | map(attribute='name') | list -%}
        {%- do dbt_cdc._raise_faults(dbt_cdc._named_column_faults(names)) -%}
    {%- endif -%}
{%- endmacro -%}

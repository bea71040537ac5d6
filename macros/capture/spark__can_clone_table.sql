{#- The adapter's own. A hash_diff model is a view over tables that `dbt clone` does not know, and no query from which to make it. -#}
{%- macro spark__can_clone_table() -%}
    {%- if model.config.materialized == 'hash_diff' -%}
        {%- do dbt_cdc._raise_faults(["dbt clone knows none of the tables of a hash_diff model: leave it out (--exclude), or read "
                                      ~ defer_relation ~ " by --defer"]) -%}
    {%- endif -%}
    {%- do return(dbt_cdc._stock('can_clone_table')()) -%}
{%- endmacro -%}

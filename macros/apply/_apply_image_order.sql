{#- Images against those applied before. -#}
{%- macro _apply_image_order(plan, named) -%}
    {#- Versions only grow. The ledger's markers remember each, even where its image changed nothing. Older images are passed
        over where all were applied and the last one comes with them: the same batch again. -#}
    {%- do plan.update(image_versions='select distinct ' ~ plan.moments.sequence.sql ~ ' as version from ' ~ plan.stage
                                      ~ (' union select ' ~ named if named else '')) -%}
    {%- if not plan.kept -%}{%- do return(none) -%}{%- endif -%}
    {%- set applied = 'select distinct _dbt_cdc_sequence as version from ' ~ plan.ledger ~ " where _dbt_cdc_kind = 'begun'" -%}
    {%- set last = '(select max(version) from (' ~ applied ~ ') as markers)' -%}
    {%- set query -%}
with placed as (
    select
        given.version,
        given.version < {{ last }} as is_older,
        markers.version is null as is_new,
        bool_or(given.version = {{ last }}) over () as has_last
    from ({{ plan.image_versions }}) as given
    left join ({{ applied }}) as markers on given.version = markers.version
)

select
    count_if(is_late) as images, to_json(struct(min(if(is_late, version, null)) as version)) as oldest,
    to_json(struct({{ last }} as version)) as last_applied, count_if(is_new) as new
from (select *, is_older and (is_new or not has_last) as is_late from placed)
    {%- endset -%}
    {%- set row = run_query(query)[0] -%}
    {#- the same images again leave no more markers -#}
    {%- if row['new'] == 0 -%}{%- do plan.update(image_versions=none) -%}{%- endif -%}
    {%- if row['images'] -%}
        {%- do plan.faults.append("the image's version " ~ row['oldest'] ~ " is older than the last one applied, " ~ row['last_applied']
                                  ~ ": give images in order of their version, or " ~ dbt_cdc._apply_anew()) -%}
    {%- endif -%}
    {%- do plan.update(last_version=last) -%}
{%- endmacro -%}


{%- macro _apply_image_again(plan) -%}
    {#- An image given again must say what it said before. -#}
    {%- if not plan.last_version -%}{%- do return(none) -%}{%- endif -%}
    {%- set row = run_query('select count(*) as differing, min(to_json(named_struct(' ~ dbt_cdc._apply_shown(plan) ~ '))) as example from '
                            ~ plan.images ~ ' where _dbt_cdc_sequence = ' ~ plan.last_version)[0] -%}
    {%- if row['differing'] -%}
        {%- set lacking = dbt_cdc._apply_lacking(plan) -%}
        {%- do plan.faults.append("an image of the last version applied was given again and differs in " ~ row['differing']
                                  ~ " key(s), for example " ~ row['example'] ~ (" (it lacks " ~ lacking ~ ")" if lacking else '')
                                  ~ ": give it a greater version") -%}
    {%- endif -%}
{%- endmacro -%}

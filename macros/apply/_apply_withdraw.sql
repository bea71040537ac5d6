{#- Images that two runs record at once. An image was compared with the rows as they were: where another run has recorded one
    meanwhile, it says too little, and is taken back. -#}
{%- macro _apply_withdraw_overtaken(plan) -%}
    {#- This run's own. The other run may already show some of it, and a third may have compared its own with that: a marker
        of another batch takes its place, so that both look again, and the keys are built anew. One that is applied stays, as
        later images may build on it: a run that began meanwhile has taken this one for killed, and shown it whole. -#}
    {%- if plan.options.source_kind != 'snapshot'
        or dbt_cdc._apply_look(plan).signature == plan.signature -%}
        {%- do return(none) -%}
    {%- endif -%}
    {%- set withdrawn = dbt_cdc._apply_withdraw(plan, plan.batch) -%}
    {%- set is_kept = withdrawn == plan.batch -%}
    {%- do dbt_cdc._apply_check_ledger(plan, 'its image ' ~ ('is kept in ' ~ plan.ledger if is_kept else 'was taken back')) -%}
    {%- do dbt_cdc._apply_forget_collected(plan) -%}
    {%- if is_kept -%}{%- do return(none) -%}{%- endif -%}
    {%- do dbt_cdc._apply_to_target(plan, [withdrawn]) -%}
    {%- do dbt_cdc._apply_fail(plan, [dbt_cdc._apply_beside_other_image()], wrote='its image was taken back') -%}
{%- endmacro -%}


{%- macro _apply_beside_other_image() -%}
    {%- do return("another run of this model has recorded an image at the same time: run it again, unless that image is of a later"
                  ~ " version") -%}
{%- endmacro -%}


{%- macro _apply_withdraw_killed(plan, pending) -%}
    {#- Those of killed runs, which had no time to look: each says what its run had seen recorded. What is pending then. -#}
    {%- if plan.options.source_kind != 'snapshot' -%}{%- do return(pending) -%}{%- endif -%}
    {%- set left = [] -%}
    {%- for batch in pending -%}
        {%- set overtaken = run_query('select max(_dbt_cdc_columns[0]) <> ' ~ dbt_cdc._apply_signature_in(plan.ledger, batch) ~ ' from '
            ~ plan.ledger ~ " where _dbt_cdc_kind = 'begun' and _dbt_cdc_batch = " ~ dbt_cdc._literal(batch))[0][0] -%}
        {%- do left.append(dbt_cdc._apply_withdraw(plan, batch) if overtaken else batch) -%}
        {%- if left[-1] != batch -%}
            {%- do log('dbt_cdc: an image that an interrupted run recorded beside that of another run is taken back', info=true) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(left) -%}
{%- endmacro -%}


{%- macro _apply_withdraw(plan, batch) -%}
    {#- The name of the batch that stands in its place, or its own, where it was applied. -#}
    {%- set withdrawn = dbt_cdc._apply_all_keys_batch(batch) -%}
    {%- set query -%}
merge into {{ plan.ledger }} as recorded
using (
    select own.batch
    from (select {{ dbt_cdc._literal(batch) }} as batch) as own
    left anti join {{ plan.ledger }} as shown on shown._dbt_cdc_kind = 'applied' and shown._dbt_cdc_batch = own.batch
) as own
on recorded._dbt_cdc_batch = own.batch
when matched and recorded._dbt_cdc_kind = 'begun' then update set
    recorded._dbt_cdc_batch = {{ dbt_cdc._literal(withdrawn) }},
    recorded._dbt_cdc_sequence = cast(null as {{ dbt_cdc._type_text(plan.moments.sequence.type) }}),
    recorded._dbt_cdc_columns = cast(null as array<string>)
when matched then delete
    {%- endset -%}
    {%- do dbt_cdc._apply_execute(query) -%}
    {%- set is_left = dbt_cdc._apply_markers(plan.ledger, plan.format, batch).recorded -%}
    {%- do plan.update(signature=dbt_cdc._apply_look(plan).signature) -%}
    {%- do return(batch if is_left else withdrawn) -%}
{%- endmacro -%}

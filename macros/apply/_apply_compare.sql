{#- What is wrong with a batch beside what is recorded of its keys, found by one query before anything is written. -#}
{%- macro _apply_compare(plan) -%}
    {#- The batch beside what the ledger has of its keys, once that is collected: how many events are to be recorded, and which
        contradict another of the same key and moment. -#}
    {%- set query -%}
with {{ dbt_cdc._apply_moment_steps(plan) }}

select
    coalesce(sum(_dbt_cdc_events), 0) as events, coalesce(sum(_dbt_cdc_fresh), 0) as fresh,
    coalesce(sum(_dbt_cdc_fresh_truncates), 0) as fresh_truncates, coalesce(bool_or(_dbt_cdc_contradictory), false) as is_contradictory
from moments
    {%- endset -%}
    {%- set row = run_query(query)[0] -%}
    {%- for count in ['events', 'fresh', 'fresh_truncates'] -%}{%- do plan.update({count: row[count] | int}) -%}{%- endfor -%}
    {%- if row['is_contradictory'] and plan.options.on_conflict == 'error' -%}
        {%- do plan.faults.append(dbt_cdc._apply_contradiction_fault(plan)) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _apply_moment_steps(plan) -%}
{%- set identity = dbt_cdc._quoted_list(plan.key + dbt_cdc._apply_moment_columns(plan)) | join(', ') -%}
{%- if not plan.collected %}
{{ dbt_cdc._apply_batch_events(plan) }},

{% endif -%}
{{ dbt_cdc._apply_distinct_step(plan) }},

moments as (
    select
        {{ identity }},
        count_if(_dbt_cdc_is_given) as _dbt_cdc_events,
        count_if(_dbt_cdc_is_fresh) as _dbt_cdc_fresh,
        count_if(_dbt_cdc_is_fresh and _dbt_cdc_kind = 'truncate') as _dbt_cdc_fresh_truncates,
        count_if(_dbt_cdc_kind = 'upsert') > 1 and bool_or(_dbt_cdc_is_given and _dbt_cdc_kind = 'upsert')
            as _dbt_cdc_contradictory
    from weighed
    group by {{ identity }}
)
{%- endmacro -%}


{%- macro _apply_distinct_step(plan) -%}
{#- Each event once: whether the batch gives it, whether the ledger has it, whether it is to be recorded. -#}
{%- set identity = dbt_cdc._quoted_list(dbt_cdc._apply_event_identity(plan)) | join(', ') -%}
{%- set key = dbt_cdc._quoted_list(plan.key) | join(', ') -%}
distinct_events as (
    select
        {{ identity }},
        bool_or({{ '_dbt_cdc_given' if plan.collected else 'true' }}) as _dbt_cdc_is_given,
        bool_or({{ 'not _dbt_cdc_given' if plan.collected else 'false' }}) as _dbt_cdc_is_known
    from {{ plan.touched if plan.collected else 'events' }}
    group by {{ identity }}
),

weighed as (
    select *, _dbt_cdc_is_given and {{ dbt_cdc._apply_is_fresh(plan) }} as _dbt_cdc_is_fresh
    from distinct_events
    window
        of_key as (partition by {{ key }}),
        before as (
            partition by {{ key }} order by _dbt_cdc_sequence, _dbt_cdc_kind rows between unbounded preceding and 1 preceding
        )
)
{%- endmacro -%}


{%- macro _apply_is_fresh(plan) -%}
    {#- Whether a given event is to be recorded, as a condition on distinct events. What a purge has forgotten may be given again, day by
        day: what the ledger has kept of its key is not recorded with it once more. -#}
    {%- if not plan.collected -%}{%- do return('true') -%}{%- endif -%}
    {%- set last = "max(if(_dbt_cdc_is_known%s, _dbt_cdc_sequence, null)) over %s" -%}
    {%- set is_delete, is_upsert = " and _dbt_cdc_kind = 'delete'", " and _dbt_cdc_kind = 'upsert'" -%}
    {%- if plan.intervals and not plan.moments.system -%}
        {#- a delete that ends no version is, behind a new event: a purge that this run does not see may take the old one away, and
            what it outdoes would be live -#}
        {%- set upsert, delete = last % (is_upsert, 'before'), last % (is_delete, 'before') -%}
        {%- set is_idle = "coalesce(" ~ upsert ~ " <= " ~ delete ~ ", " ~ upsert ~ " is null)" -%}
        {%- set is_behind = "coalesce(_dbt_cdc_sequence >= min(if(_dbt_cdc_is_known, null, _dbt_cdc_sequence)) over of_key, false)" -%}
        {%- do return("(not _dbt_cdc_is_known or (_dbt_cdc_kind = 'delete' and " ~ is_idle ~ " and " ~ is_behind ~ "))") -%}
    {%- elif not plan.intervals and plan.options.source_kind == 'feed' -%}
        {#- what a recorded one has outdone is not: a purge would forget it. Nor is an upsert that a delete of the batch has, which is
            recorded itself, or outdone by what outdoes the upsert. A delete prolongs the memory of a later one -#}
        {%- set any_delete = "max(if(_dbt_cdc_kind = 'delete', _dbt_cdc_sequence, null)) over of_key" -%}
        {%- set counts = ["(_dbt_cdc_kind = 'delete' or coalesce(_dbt_cdc_sequence > " ~ any_delete ~ ", true))"] -%}
        {%- if not dbt_cdc._apply_is_partial(plan.kept) -%}
            {%- set upsert, delete = last % (is_upsert, 'of_key'), last % (is_delete, 'of_key') -%}
            {%- set is_last = "coalesce(_dbt_cdc_sequence >= " ~ upsert ~ ", true)" -%}
            {%- do counts.append("(" ~ is_last ~ " or coalesce(" ~ upsert ~ " <= " ~ delete ~ ", false))") -%}
        {%- endif -%}
        {%- if plan.truncated -%}
            {%- set truncated = "(select max(_dbt_cdc_sequence) from " ~ plan.ledger ~ " where _dbt_cdc_kind = 'truncate')" -%}
            {%- do counts.append("coalesce(_dbt_cdc_sequence > " ~ truncated ~ ", true)") -%}
        {%- endif -%}
        {%- do return("not _dbt_cdc_is_known and (_dbt_cdc_kind = 'truncate' or (" ~ counts | join(' and ') ~ "))") -%}
    {%- endif -%}
    {%- do return("not _dbt_cdc_is_known") -%}
{%- endmacro -%}


{%- macro _apply_contradiction_fault(plan) -%}
    {%- set steps, where = 'with ' ~ dbt_cdc._apply_moment_steps(plan), '\nfrom moments\nwhere _dbt_cdc_contradictory' -%}
    {%- set keys = run_query(steps ~ '\nselect count(distinct ' ~ dbt_cdc._quoted_list(plan.key) | join(', ') ~ ')' ~ where)[0][0] -%}
    {%- set examples = run_query(steps ~ '\nselect distinct to_json(named_struct(' ~ dbt_cdc._apply_shown(plan) ~ '))' ~ where
                                 ~ '\norder by 1\nlimit 5').columns[0].values() | join(' ') -%}
    {%- set told_apart = plan.moments.values() | map(attribute='option') | join(' or ') -%}
    {%- set new, lacking = plan.new | map(attribute='name') | join(', '), dbt_cdc._apply_lacking(plan) -%}
    {%- set apart = "make " ~ told_apart ~ " tell them apart" -%}
    {%- set is_feed = plan.options.source_kind == 'feed' -%}
    {%- set remedy = (apart if is_feed else "give each key once in an image") ~ ", or set 'on_conflict: resolve'" -%}
    {%- if new -%}
        {%- set remedy = "where they differ in what is new, " ~ new ~ ", alone, give only events that were not given before it,"
                         ~ " or " ~ dbt_cdc._apply_anew() ~ "; else " ~ apart -%}
    {%- elif lacking and is_feed -%}
        {%- set remedy = "where they differ in what this batch lacks, " ~ lacking ~ ", alone, give only events that were not given"
                         ~ " with it; else " ~ remedy -%}
    {%- endif -%}
    {%- do return(keys ~ " key(s) have different events with the same sequence, for example " ~ examples ~ ": " ~ remedy) -%}
{%- endmacro -%}


{%- macro _apply_lacking(plan) -%}
    {#- The table's columns that the batch does not have. -#}
    {%- do return(plan.payload | selectattr('source', 'none') | map(attribute='name') | join(', ')) -%}
{%- endmacro -%}

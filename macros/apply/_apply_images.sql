{#- source_kind: snapshot. Full images become events: a row that is new or different is an upsert, a missing key a delete. -#}
{%- macro _apply_images(plan) -%}
    {#- The images of a batch against each other and against what is live. -#}
    {%- set version = plan.options.snapshot_version if not plan.reads_nothing else none -%}
    {%- if version is not none and plan.moments.sequence.parts -%}
        {%- do plan.faults.append("option 'snapshot_version' is one value, sequence_by gives a struct of "
                                  ~ plan.moments.sequence.parts | join(', ') ~ ": give one column or expression") -%}
        {%- do return(none) -%}
    {%- endif -%}
    {%- set type = plan.moments.sequence.type -%}
    {%- set named = dbt_cdc._read_as(dbt_cdc._literal(version), dbt_cdc._type_text(type)) if version is not none else none -%}
    {%- if named and run_query('select ' ~ named ~ ' is null')[0][0] -%}
        {%- do plan.faults.append("option 'snapshot_version' must be of sequence_by's type " ~ type ~ ", got "
                                  ~ dbt_cdc._value_text(version | string)) -%}
    {%- endif -%}
    {%- do dbt_cdc._apply_check_batch(plan) -%}
    {%- if plan.faults or not (plan.rows or named) -%}{%- do return(none) -%}{%- endif -%}
    {%- if plan.rows and named -%}
        {%- set other = run_query('select count(*) from ' ~ plan.stage ~ ' where not (' ~ plan.moments.sequence.sql
            ~ ' <=> ' ~ named ~ ')')[0][0] -%}
        {%- if other -%}
            {%- do plan.faults.append(other ~ " row(s) have another version than snapshot_version " ~ version
                                      ~ ": give that for an image without rows only") -%}
            {%- do return(none) -%}
        {%- endif -%}
    {%- endif -%}
    {%- do dbt_cdc._apply_image_order(plan, named) -%}
    {%- do dbt_cdc._apply_compare(plan) -%}
    {%- if plan.faults -%}{%- do return(none) -%}{%- endif -%}
    {%- do dbt_cdc._apply_make_temporary(plan, plan.images, dbt_cdc._apply_images_query(plan, named)) -%}
    {%- do plan.update(given='select * from ' ~ plan.images) -%}
    {%- set image_rows = plan.rows -%}
    {%- do dbt_cdc._apply_check_batch(plan) -%}
    {%- do dbt_cdc._apply_image_again(plan) -%}
    {%- do plan.update(rows=image_rows or 1) -%}
{%- endmacro -%}


{%- macro _apply_live_columns(plan) -%}
    {#- Of the target as it is: it gets its new columns later, when nothing can be refused any more. -#}
    {%- set new, columns = plan.new | map(attribute='name') | list, dbt_cdc._quoted_list(plan.key) -%}
    {%- for column in plan.payload -%}
        {%- do columns.append('null' if column.name in new else dbt_cdc._quote(column.name)) -%}
    {%- endfor -%}
    {%- do return(columns) -%}
{%- endmacro -%}


{%- macro _apply_image_steps(plan, named) -%}
    {#- Each row of an image (of the live rows, for the first) beside its key's row in the images before and after. -#}
{%- set key = dbt_cdc._quoted_list(plan.key) | join(', ') -%}
{%- set payload = dbt_cdc._quoted_list(plan.payload | map(attribute='name')) -%}
{%- set columns = ([key] + payload) | join(', ') -%}
{#- elsewhere two contents of a key in one image have been refused by now -#}
{%- set resolves = plan.options.on_conflict == 'resolve' -%}
one_each as (
    select
        *
        {%- if resolves %},
        row_number() over (partition by {{ key }}, _dbt_cdc_sequence order by _dbt_cdc_hash desc) as _dbt_cdc_rank
        {%- endif %}
    from events
    {%- if plan.last_version %}
    where not coalesce(_dbt_cdc_sequence < {{ plan.last_version }}, false)
    {%- endif %}
),

images as (
    select {{ columns }}, _dbt_cdc_sequence from one_each{{ ' where _dbt_cdc_rank = 1' if resolves }}
    {%- if plan.kept %}
    union all
    select {{ dbt_cdc._apply_live_columns(plan) | join(', ') }}, null as _dbt_cdc_sequence from {{ plan.target }}
    {%- if plan.intervals %} where {{ dbt_cdc._apply_live(plan) }}{% endif %}
    {%- endif %}
),

image_versions as (
    select _dbt_cdc_sequence, row_number() over (order by _dbt_cdc_sequence) as _dbt_cdc_number
    from (
        select distinct _dbt_cdc_sequence from one_each
        {%- if named %} union select {{ named }}{% endif %}
    ) as distinct_versions
),

numbered as (
    select images.*, coalesce(image_versions._dbt_cdc_number, 0) as _dbt_cdc_number
    from images
    left join image_versions on images._dbt_cdc_sequence = image_versions._dbt_cdc_sequence
),

neighbours as (
    select
        *,
        lag(_dbt_cdc_number) over in_order as _dbt_cdc_earlier,
        lead(_dbt_cdc_number) over in_order as _dbt_cdc_later
        {%- for column in plan.payload %},
        lag({{ dbt_cdc._quote(column.name) }}) over in_order as _dbt_cdc_earlier_{{ loop.index }}
        {%- endfor %}
    from numbered
    window in_order as (partition by {{ key }} order by _dbt_cdc_number)
)
{%- endmacro -%}


{%- macro _apply_images_query(plan, named) -%}
{%- set payload = plan.payload | map(attribute='name') | list -%}
with {{ dbt_cdc._apply_batch_events(plan) }},

{{ dbt_cdc._apply_image_steps(plan, named) }}

select {{ dbt_cdc._quoted_list(plan.key + payload) | join(', ') }},
       _dbt_cdc_sequence, 'upsert' as _dbt_cdc_kind, cast(null as array<string>) as _dbt_cdc_columns
from neighbours
where
    _dbt_cdc_number > 0
    and (
        coalesce(_dbt_cdc_earlier < _dbt_cdc_number - 1, true)
        {%- for column in plan.payload %}
        or not (
            {{- dbt_cdc._comparable_value(dbt_cdc._quote(column.name), column.type) }}
            <=> {{ dbt_cdc._comparable_value('_dbt_cdc_earlier_' ~ loop.index, column.type) }})
        {%- endfor %}
    )
union all
select {{ dbt_cdc._quoted_list(plan.key + payload, 'neighbours') | join(', ') }},
    image_versions._dbt_cdc_sequence, 'delete', cast(null as array<string>)
from neighbours
inner join image_versions on image_versions._dbt_cdc_number = neighbours._dbt_cdc_number + 1
where coalesce(neighbours._dbt_cdc_later > neighbours._dbt_cdc_number + 1, true)
{%- endmacro -%}

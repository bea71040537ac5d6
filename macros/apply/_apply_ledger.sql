{#- The ledger, `<model>__events`: all events given that can still matter (_apply_is_fresh), and markers. Runs add to it, batch by
    batch; a purge takes out what is forgotten, and an image that can't be applied is taken back:
      upsert, delete      events, with the batch they came in and when that was
      truncate            SCD 1: everything up to its sequence is gone
      begun               the events of a batch are recorded (of images: one marker for each version, in whose _dbt_cdc_columns is the
                          signature that their run had seen). A batch called so by _apply_all_keys_batch has none of its own
      applied             {{ this }} shows the batch; one that is begun and not applied is that of a killed run, or of one at work.
                          A purge forgets both after a day
      purged              old tombstones were removed, by the run of this batch or by an operation (of images: by nobody but the
                          run that began the ledger, as none that is forgotten can matter to them)
    {{ this }} is a function of it. Columns: the key, the bookkeeping, then the payload. -#}
{%- macro _apply_ledger_columns(plan) -%}
    {%- do return(dbt_cdc._apply_event_identity(plan) + ['_dbt_cdc_columns', '_dbt_cdc_batch', '_dbt_cdc_processed_at']
                  + (plan.payload | map(attribute='name') | list)) -%}
{%- endmacro -%}


{%- macro _apply_record_query(plan) -%}
{%- set has_known = plan.fresh < plan.events -%}
with {{ dbt_cdc._apply_collected_events(plan) if plan.collected else dbt_cdc._apply_batch_events(plan) }}
{%- if has_known %},

{{ dbt_cdc._apply_distinct_step(plan) }}
{%- endif %}

{# the order of _apply_ledger_columns -#}
select
    {{ dbt_cdc._quoted_list(dbt_cdc._apply_event_identity(plan)) | join(', ') }}, _dbt_cdc_columns,
    {{ dbt_cdc._literal(plan.batch) }} as _dbt_cdc_batch, current_timestamp() as _dbt_cdc_processed_at
    {%- for column in plan.payload %}, {{ dbt_cdc._quote(column.name) }}{% endfor %}
from events
{%- if has_known %}
left semi join weighed
    on {{ dbt_cdc._same(dbt_cdc._apply_event_identity(plan), 'events', 'weighed') }} and weighed._dbt_cdc_is_fresh
{%- endif %}
union all
{{ dbt_cdc._apply_marker(dbt_cdc._apply_ledger_columns(plan), 'begun', plan.batch,
                         {'_dbt_cdc_sequence': 'version', '_dbt_cdc_columns': "array('" ~ plan.signature ~ "')"}
                             if plan.image_versions else {}) }}
{%- if plan.image_versions %}
from ({{ plan.image_versions }}) as image_versions
{%- endif %}
{%- endmacro -%}


{%- macro _apply_marker(ledger_columns, kind, batch, more={}) -%}
    {%- set values = dict(more, _dbt_cdc_kind=dbt_cdc._literal(kind), _dbt_cdc_batch=dbt_cdc._literal(batch),
                          _dbt_cdc_processed_at='current_timestamp()') -%}
    {%- set columns = [] -%}
    {%- for name in ledger_columns -%}{%- do columns.append(values.get(name, 'null') ~ ' as ' ~ dbt_cdc._quote(name)) -%}{%- endfor -%}
    {%- do return('select ' ~ columns | join(', ')) -%}
{%- endmacro -%}


{%- macro _apply_look(plan, retention='0 seconds') -%}
    {#- The markers as this run finds them; a first truncate that another has recorded counts from then on. -#}
    {%- set markers = dbt_cdc._apply_markers(plan.ledger, plan.format, plan.batch, retention) -%}
    {%- do plan.update(truncated=markers.truncated) -%}
    {%- do return(markers) -%}
{%- endmacro -%}


{%- macro _apply_markers(ledger, format, batch, retention='0 seconds') -%}
    {#- Reads the markers only (the ledger is partitioned by kind).
          recorded       whether `batch` is: another run may have taken an image back
          signature      a signature of what other runs than `batch` recorded and purged
          pending        batches that were recorded but never applied, because their run was killed
          everything     whether one of those concerns all keys: it has a truncate, or is called so
          truncated      whether there ever was a truncate
          purge_due      whether to look for old tombstones: at most once a day, or once in a retention that is shorter
          purged_until   the last purge has seen all events that were recorded up to here, a day before it, as a write may take its
                         time; none where a truncate came since -#}
    {%- set batches_of = "collect_set(if(_dbt_cdc_kind = '%s', _dbt_cdc_batch, null))" -%}
    {%- set pending = 'array_except(' ~ batches_of % 'begun' ~ ', ' ~ batches_of % 'applied' ~ ')' -%}
    {#- by the model's own retention: one that was given to the operation may be longer -#}
    {%- set purged_at = "max(if(_dbt_cdc_kind = 'purged' and not coalesce(startswith(_dbt_cdc_batch, '"
        ~ dbt_cdc._apply_purge_by_hand('') ~ "'), false), _dbt_cdc_processed_at, null))" -%}
    {%- set recorded_at = "max(if(_dbt_cdc_kind = '%s', _dbt_cdc_processed_at, null))" -%}
    {%- set purged_until = recorded_at % 'purged' ~ ' - interval 1 day' -%}
    {%- set query -%}
select
    {{ dbt_cdc._apply_signature(batch) }} as signature,
    array_join(array_sort({{ pending }}), ' ') as pending,
    arrays_overlap({{ batches_of % 'truncate' }}, {{ pending }})
        or exists({{ pending }}, batch -> endswith(batch, '{{ dbt_cdc._apply_all_keys_batch('') }}')) as everything,
    coalesce({{ purged_at }} <= greatest(current_timestamp() - interval {{ dbt_cdc._apply_span(retention) }},
                                         current_timestamp() - interval 1 day), true) as purge_due,
    cast(if(coalesce({{ recorded_at % 'truncate' }} > {{ purged_until }}, false), null, {{ purged_until }}) as string) as purged_until,
    coalesce(bool_or(_dbt_cdc_kind = 'truncate'), false) as truncated,
    coalesce(bool_or(_dbt_cdc_kind = 'begun' and _dbt_cdc_batch = {{ dbt_cdc._literal(batch) }}), false) as recorded
from {{ ledger }}
where _dbt_cdc_kind in ('begun', 'applied', 'truncate', 'purged')
    {%- endset -%}
    {%- do dbt_cdc._refresh_metadata(ledger, format) -%}
    {%- set row = run_query(query)[0] -%}
    {%- do return(dict(row.dict(), pending=row['pending'].split(' ') if row['pending'] else [])) -%}
{%- endmacro -%}


{%- macro _apply_signature(batch) -%}
    {#- Of what other runs than `batch` recorded and purged, from the markers: a run that does both does so at different times. -#}
    {%- set others = "collect_set(if(_dbt_cdc_kind in ('begun', 'purged') and _dbt_cdc_batch <> " ~ dbt_cdc._literal(batch)
                     ~ ", _dbt_cdc_kind || ' ' || _dbt_cdc_batch, null))" -%}
    {%- do return('cast(aggregate(' ~ others ~ ', 0L, (signature, marker) -> signature ^ xxhash64(marker)) as string)') -%}
{%- endmacro -%}


{%- macro _apply_signature_in(ledger, batch) -%}
    {#- The same as a subquery that reads no other markers. -#}
    {%- do return('(select ' ~ dbt_cdc._apply_signature(batch) ~ ' from ' ~ ledger ~ " where _dbt_cdc_kind in ('begun', 'purged'))") -%}
{%- endmacro -%}


{%- macro _apply_all_keys_batch(batch) -%}
    {#- The name of a batch without events, which has the next run compare all keys. -#}
    {%- do return(batch ~ '-all-keys') -%}
{%- endmacro -%}


{%- macro _apply_purge_by_hand(name) -%}
    {#- The name of a purge by another retention than the model's: runs look for old tombstones as if it had not been. -#}
    {%- do return('purge-' ~ name) -%}
{%- endmacro -%}

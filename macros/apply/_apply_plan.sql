{#- The plan: one mapping that says what a run works on and what its steps have found.
    Set here:
      target, ledger                      relations: {{ this }} and its bookkeeping
      stage, images, touched, changes     and the run's temporary tables
      options, format                     the node's options; its file_format
      ledger_columns                      the ledger's columns (lower case), as this run has found them
      batch, generation                   this run's id; that of the run that made the ledger, or makes it now
      kept, rebuild                       as in _apply_state
      replace                             whether the tables are made anew: by a full refresh, or {{ this }} by this run
      names, types, reads_nothing         the batch's columns (lower case), their types; whether its rows count (--empty)
      key, payload, intervals, order      the target's columns: payload is a list of {name, source: the batch's column or none,
                                          type, tracked, ignore_null, partial, fields: of a struct whose NULLs are ignored, as
                                          a list of [name, its own fields]}, intervals one of {start, end, of: their moment},
                                          order all names but those of intervals; reserved: the names of intervals
      new, casts, nulls                   columns to add; what the batch's are cast to; those that are NULL throughout,
                                          whose type need not be the table's
      columns_to_update                   the batch's column of that option, or none
      moments                             name -> {sql: over the batch, parts: of a struct, type, option}: `sequence`, and
                                          `system` where the table is bitemporal
      properties                          what the ledger is to remember
      checks                              constraints of the table and its contract: what each is called -> SQL
      blanks                              columns in which the format makes NULL of an empty text (lower case)
      faults                              what is wrong, sentence by sentence
    Set by later steps:
      signature, truncated, purge_due     _apply_recover, _apply_look: tells the batches that other runs have recorded; whether there was
                                          ever a truncate; whether old deletes are to be forgotten
      wrong, rows, deletes, truncates     _apply_check_batch: conditions by name; counts of the batch
      bounds                              ranges of the keys it touches, or none: any
      given, image_versions, last_version _apply_images, _apply_image_order: queries for its events, for the images' versions, for the
                                          last one before
      collected                           _apply_collect: whether `touched` holds all that the ledger knows of the batch's keys
      events, fresh, fresh_truncates      _apply_compare: counts of distinct events, of those that are to be recorded
      made                                _apply_make_temporary: those of the run's temporary tables that there are
      counts, sql                         _apply_note: rows of {{ this }} by operation (_apply_changes_query); the statements -#}
{%- macro _apply_plan(options, relations, state) -%}
    {%- set staged = dbt_cdc._columns_of(relations.stage) -%}
    {#- as they are now: another run may add some at any time -#}
    {%- set recorded = dbt_cdc._own_columns(state.ledger) if state.kept else [] -%}
    {%- set known = dbt_cdc._apply_table_columns(relations, state, options, recorded) -%}
    {%- set names = staged | map(attribute='name') | list -%}
    {%- set faults = dbt_cdc._apply_gone_column_faults(options, state, recorded, known) -%}
    {%- set types = dbt_cdc._whole_types(relations.stage, staged) -%}
    {%- set plan = dict(
        relations, options=options, format=dbt_cdc._file_format(),
        batch=state.batch, generation=state.kept['dbt_cdc.generation'] if state.kept else state.batch,
        kept=state.kept, rebuild=state.rebuild, replace=state.replace,
        names=names | map('lower') | list, types=types, reads_nothing=dbt_cdc._apply_reads_nothing(options),
        intervals=dbt_cdc._apply_intervals(options), new=[], columns_to_update=none,
        faults=faults, ledger_columns=recorded | map(attribute='name') | map('lower') | list,
        checks=dbt_cdc._for_format('checks', dbt_cdc._file_format())(state.properties if not state.rebuild else none),
        signature='0', truncated=false, purge_due=false, given=none, image_versions=none, collected=false, events=0, fresh=0,
        made=[relations.stage], counts={'insert': 0, 'update': 0, 'delete': 0}, sql='',
    ) -%}
    {%- if options.columns_to_update -%}
        {%- do plan.update(columns_to_update=(dbt_cdc._apply_columns([options.columns_to_update], 'columns_to_update', names, faults)
                                              + [none]) | first) -%}
    {%- endif -%}
    {%- set key_types = [] -%}
    {%- do plan.update(key=[]) -%}
    {%- for name in dbt_cdc._apply_columns(dbt_cdc._key_in(config), 'unique_key', names, faults) -%}
        {%- do plan.key.append(dbt_cdc._spelled(name, known | map(attribute='name'))) -%}
        {%- do key_types.append(types[name | lower]) -%}
    {%- endfor -%}
    {%- do plan.update(blanks=dbt_cdc._blank_partitions(
        plan.format, state.target if state.kept and not state.rebuild else none, key_types)) -%}
    {%- do plan.update(moments={'sequence': dbt_cdc._apply_moment(options, 'sequence_by', names, faults)}) -%}
    {%- if plan.options.stored_as_scd_type == 'bitemporal' -%}
        {%- do plan.moments.update(system=dbt_cdc._apply_moment(options, 'system_sequence_by', names, faults)) -%}
    {%- endif -%}
    {%- set intervals = dbt_cdc._apply_interval_columns(plan.intervals) -%}
    {%- do plan.update(reserved=intervals | map('lower') | list) -%}
    {%- do faults.extend(dbt_cdc._apply_name_faults(plan)) -%}
    {%- set reaching = dbt_cdc._apply_reaching(plan, names, known | map(attribute='name') | list) -%}
    {%- do faults.extend(dbt_cdc._failing_name_faults(plan.key + reaching + intervals, plan.format)) -%}
    {%- do plan.update(payload=dbt_cdc._apply_payload(plan, staged, known, reaching)) -%}
    {%- do plan.update(order=dbt_cdc._apply_order(plan, names, known)) -%}
    {%- set own = dbt_cdc._whole_types(dbt_cdc._apply_shape(relations, state), known) -%}
    {%- do plan.update(casts=dbt_cdc._apply_casts(plan, own)) -%}
    {%- do dbt_cdc._apply_roles(plan) -%}
    {%- if not faults -%}
        {%- do dbt_cdc._apply_find_fields(plan, known | map(attribute='name') | list, dbt_cdc._apply_shape(relations, state)) -%}
        {%- do faults.extend(dbt_cdc._apply_type_faults(plan) + dbt_cdc._apply_new_column_faults(plan)) -%}
        {%- do plan.update(properties=dbt_cdc._apply_properties(plan)) -%}
        {%- do faults.extend(dbt_cdc._apply_drift_faults(plan.properties, state.kept)) -%}
        {%- do faults.extend(dbt_cdc._apply_contract_faults(plan) + dbt_cdc._apply_layout_faults(plan)) -%}
    {%- else -%}
        {%- do faults.extend(dbt_cdc._apply_drift_faults(dbt_cdc._apply_kept_options(options), state.kept)) -%}
    {%- endif -%}
    {%- do return(plan) -%}
{%- endmacro -%}


{%- macro _apply_name_faults(plan) -%}
    {#- A key and the ends of intervals are columns of one table. -#}
    {%- set faults, taken = [], [] -%}
    {%- for name in plan.key + dbt_cdc._apply_interval_columns(plan.intervals) -%}
        {%- if (name | lower).startswith('_dbt_cdc_') -%}
            {%- do faults.append("the column '" ~ name ~ "' of the key or of an interval has a name that apply_changes uses itself:"
                                 ~ " rename it") -%}
        {%- endif -%}
        {%- if name | lower in taken -%}
            {%- do faults.append("two columns of the table would be called '" ~ name ~ "': the key, start_at_column, end_at_column"
                                 ~ " and their like need names of their own") -%}
        {%- endif -%}
        {%- do taken.append(name | lower) -%}
    {%- endfor -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _apply_reads_nothing(options) -%}
    {#- Part of a feed's events are events; part of an image would say that every other key is gone. -#}
    {%- do return(flags.EMPTY or (options.source_kind == 'snapshot' and dbt_cdc._reads_a_part())) -%}
{%- endmacro -%}


{%- macro _apply_shape(relations, state) -%}
    {#- The table whose columns are the target's. -#}
    {%- do return(relations.ledger if state.rebuild else relations.target) -%}
{%- endmacro -%}


{%- macro _apply_table_columns(relations, state, options, ledger_columns) -%}
    {#- The columns of the table as it is, but for those that others have added to it, or, where it has to be built from the
        ledger, as it was created. -#}
    {%- if not state.kept -%}{%- do return([]) -%}{%- endif -%}
    {%- set recorded, known = {}, [] -%}
    {%- for column in ledger_columns -%}{%- do recorded.update({column.name: column}) -%}{%- endfor -%}
    {%- if not state.rebuild -%}
        {%- set own = recorded.keys() | list + dbt_cdc._apply_interval_columns(dbt_cdc._apply_intervals(options)) -%}
        {%- set own = own | map('lower') | list -%}
        {%- for column in dbt_cdc._columns_of(relations.target) if column.name | lower in own -%}
            {%- do known.append(column) -%}
        {%- endfor -%}
        {%- do return(known) -%}
    {%- endif -%}
    {%- for name in fromjson(state.kept['dbt_cdc.columns']) + recorded.keys() | list -%}
        {%- if name in recorded -%}{%- do known.append(recorded.pop(name)) -%}{%- endif -%}
    {%- endfor -%}
    {%- do return(known) -%}
{%- endmacro -%}

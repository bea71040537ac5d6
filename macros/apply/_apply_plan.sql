{#- The plan: one mapping that says what a run works on. Every later step reads it and nothing else.
      target, ledger                           relations: {{ this }} and its bookkeeping
      stage, images, touched, changes          and the run's temporary tables
      key, payload, intervals                  the target's columns; payload is a list of
                                               {name, source: the batch's column or none, type, tracked, ignore_null},
                                               intervals one of {start, end, of: the moment that they are of}
      moments                                  name -> {sql: over the batch, parts: of a struct, type}: `sequence`, and
                                               `system` where the table is bitemporal
      scd, batch, new, properties              1, 2 or bitemporal, this run's id, columns to add, what the ledger remembers
      collected                                whether `touched` holds what the ledger knows; none: it was not made -#}
{%- macro _apply_plan(options, relations, state) -%}
    {%- set batch = adapter.get_columns_in_relation(relations.stage) -%}
    {%- set known = dbt_cdc._apply_known(relations, state) -%}
    {%- set names = batch | map(attribute='name') | list -%}
    {%- set faults, types = [], dbt_cdc._whole_types(relations.stage, batch) -%}
    {%- set plan = dict(relations, known=state.ledger is not none, options=options, scd=options.stored_as_scd_type, faults=faults, batch=state.batch,
                        format=config.get('file_format'), conflict=options.on_conflict,
                        reads_nothing=dbt_cdc._apply_reads_nothing(options), intervals=dbt_cdc._apply_intervals(options), new=[],
                        columns_to_update=none, collected=none, types=types, names=names | map('lower') | list,
                        hash_rule='2' if state.ledger is none else state.ledger.get('dbt_cdc.hash_rule')) -%}
    {%- if options.columns_to_update -%}
        {%- do plan.update(columns_to_update=(dbt_cdc._apply_columns([options.columns_to_update], 'columns_to_update', names, faults)
                                              + [none]) | first) -%}
    {%- endif -%}
    {%- set unique_key = config.get('unique_key') -%}
    {%- set unique_key = [unique_key] if unique_key is string else unique_key -%}
    {%- do plan.update(key=[]) -%}
    {%- for name in dbt_cdc._apply_columns(unique_key, 'unique_key', names, faults) -%}
        {%- do plan.key.append(dbt_cdc._spelled(name, known | map(attribute='name'))) -%}
    {%- endfor -%}
    {%- do plan.update(moments={'sequence': dbt_cdc._apply_moment(options, 'sequence_by', names, faults)}) -%}
    {%- if plan.scd == 'bitemporal' -%}
        {%- do plan.moments.update(system=dbt_cdc._apply_moment(options, 'system_sequence_by', names, faults)) -%}
    {%- endif -%}
    {%- do plan.update(reserved=dbt_cdc._apply_interval_columns(plan) | map('lower') | list) -%}
    {%- do faults.extend(dbt_cdc._apply_name_faults(plan)) -%}
    {%- set reaching = dbt_cdc._apply_reaching(plan, names, known | map(attribute='name') | list) -%}
    {%- do plan.update(payload=dbt_cdc._apply_payload(plan, batch, known, reaching)) -%}
    {%- do plan.update(order=dbt_cdc._apply_order(plan, names, known)) -%}
    {%- set own = dbt_cdc._whole_types(relations.ledger if state.rebuild else relations.target, known) -%}
    {%- do plan.update(casts=dbt_cdc._apply_casts(plan, own)) -%}
    {%- do dbt_cdc._apply_roles(plan) -%}
    {%- if not faults -%}
        {%- do faults.extend(dbt_cdc._apply_types(plan)) -%}
        {%- do plan.update(properties=dbt_cdc._apply_properties(plan)) -%}
        {%- do faults.extend(dbt_cdc._apply_drift(plan.properties, state.ledger)) -%}
        {%- do faults.extend(dbt_cdc._apply_contract(plan)) -%}
    {%- endif -%}
    {%- do return(plan) -%}
{%- endmacro -%}


{%- macro _apply_name_faults(plan) -%}
    {#- A key and the ends of intervals are columns of one table. -#}
    {%- set faults, taken = [], [] -%}
    {%- for name in plan.key + dbt_cdc._apply_interval_columns(plan) -%}
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


{%- macro _apply_known(relations, state) -%}
    {#- The columns of the table as it is, or, where it has to be built from the ledger, as it was created. -#}
    {%- if not state.ledger -%}{%- do return([]) -%}{%- endif -%}
    {%- if not state.rebuild -%}{%- do return(adapter.get_columns_in_relation(relations.target)) -%}{%- endif -%}
    {%- set recorded, known = {}, [] -%}
    {%- for column in adapter.get_columns_in_relation(relations.ledger) if not column.name.startswith('_dbt_cdc_') -%}
        {%- do recorded.update({column.name: column}) -%}
    {%- endfor -%}
    {%- for name in fromjson(state.ledger['dbt_cdc.columns']) + recorded.keys() | list -%}
        {%- if name in recorded -%}{%- do known.append(recorded.pop(name)) -%}{%- endif -%}
    {%- endfor -%}
    {%- do return(known) -%}
{%- endmacro -%}


{%- macro _apply_columns(wanted, option, names, faults) -%}
    {#- The columns an option names, spelled as the batch spells them; a fault for each that it does not have. -#}
    {%- set found = [] -%}
    {%- for name in wanted -%}
        {%- set alike = [name] if name in names else [] -%}
        {%- for candidate in names if candidate | lower == name | lower -%}{%- do alike.append(candidate) -%}{%- endfor -%}
        {%- if alike -%}
            {%- do found.append(alike | first) -%}
        {%- else -%}
            {%- do faults.append(option ~ ": " ~ dbt_cdc._unknown_name('column', name, names)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(found) -%}
{%- endmacro -%}


{%- macro _apply_reaching(plan, names, known) -%}
    {#- The batch's columns that reach the target, keys left out, in the batch's order. -#}
    {%- set options, faults = plan.options, plan.faults -%}
    {%- set listed = dbt_cdc._apply_columns(options.column_list or [], 'column_list', names + known, faults) | map('lower') | list -%}
    {%- set except = dbt_cdc._apply_columns(options.except_column_list or [], 'except_column_list', names, faults) -%}
    {%- set keys = plan.key | map('lower') | list -%}
    {%- for key in except if key | lower in keys -%}
        {%- do faults.append("except_column_list: the key column '" ~ key ~ "' must reach the target") -%}
    {%- endfor -%}
    {#- the list of the columns that an event sets is an instruction, not data -#}
    {%- set except = except + ([plan.columns_to_update] if plan.columns_to_update else []) -%}
    {%- set reaching = [] -%}
    {%- for name in names if name | lower not in keys -%}
        {%- if (name | lower in listed if options.column_list else name not in except) -%}
            {%- if name | lower in plan.reserved or (name | lower).startswith('_dbt_cdc_') -%}
                {%- do faults.append("the column '" ~ name ~ "' has a name that apply_changes uses itself: leave it out by"
                                     ~ " except_column_list, or rename it") -%}
            {%- endif -%}
            {%- do reaching.append(name) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(reaching) -%}
{%- endmacro -%}


{%- macro _apply_order(plan, names, known) -%}
    {#- The target's columns in order, start and end left out: an existing table's own, then those of the batch that it gets. -#}
    {%- set order, own = [], [] -%}
    {%- set reaching = plan.payload | map(attribute='name') | list -%}
    {%- for name in (known | map(attribute='name') | list) + names -%}
        {%- if name | lower not in own + plan.reserved and (name in plan.key + reaching or loop.index0 < known | length) -%}
            {%- do order.append(name) -%}
            {%- do own.append(name | lower) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do return(order) -%}
{%- endmacro -%}

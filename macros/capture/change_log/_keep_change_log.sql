{#- `<model>__changes`: the row changes of a table, taken from its own versions. A run brings the log up to the table at its
    start (for a run that was killed in between) and again after its write; the table's version is what makes that
    repeatable. The log begins with an `i` of every row that the table held when the log was made. -#}

{%- macro _open_change_log(relation, restart=false) -%}
    {#- To be called by a materialization before its first write: refuses what the node's log can't be, and brings it up to
        the table. `restart`: the table will be built anew (full refresh): right before that, once its rows are found to be right,
        comes what _restart_change_log gives. Does nothing for a node without `change_log`. -#}
    {%- set mode = dbt_cdc._meta().get('change_log') -%}
    {%- if mode is none -%}{%- do return(none) -%}{%- endif -%}
    {%- set log = dbt_cdc._load_relation(dbt_cdc._companion(relation, 'changes')) -%}
    {%- if log is not none -%}
        {%- do dbt_cdc._raise_faults(dbt_cdc._found_log_faults(log, relation, mode, restart)) -%}
    {%- endif -%}
    {%- if not restart -%}{%- do model.update(_dbt_cdc_resumes=dbt_cdc._resume_change_log(log, relation, mode)) -%}{%- endif -%}
{%- endmacro -%}


{%- macro _found_log_faults(log, relation, mode, restart) -%}
    {#- What keeps a table that is there already from being this node's log. (Of a model the table itself keeps the key, in any order.) -#}
    {%- set kept = dbt_cdc._own_properties(log) -%}
    {%- set begun = kept.get('dbt_cdc.change_log') -%}
    {%- if begun is none -%}
        {%- do return([log ~ " is where change_log '" ~ mode ~ "' keeps its rows, got a table that dbt_cdc did not make; rename"
            ~ " or drop it, or give the model another name"]) -%}
    {%- endif -%}
    {%- if restart -%}{%- do return([]) -%}{%- endif -%}
    {%- set faults, key, kept_key = [], dbt_cdc._key_of_node(model) | join('\n') | lower, kept.get('dbt_cdc.key') -%}
    {%- set anew = [' by dropping it'] + ([' with --full-refresh'] if model.resource_type != 'snapshot' else []) -%}
    {%- set by_key = anew if kept_key.split('\n') | sort == key.split('\n') | sort else anew[-1:] -%}
    {%- for what, was, given, ways in [('change_log', begun, mode, anew), ('the key', kept_key, key, by_key)] if was != given -%}
        {%- do faults.append(log ~ " was begun with " ~ what ~ " '" ~ was.replace('\n', ', ') ~ "', got '" ~ given.replace('\n', ', ')
            ~ "'; set it back, or begin a new log" ~ ways | join(' or')) -%}
    {%- endfor -%}
    {%- if kept.get('dbt_cdc.restarts') != 'true' and dbt_cdc._load_relation(dbt_cdc._storage_relation(relation)) is none -%}
        {%- do faults.append(log ~ " is the log of a table that is gone: a new one has another history; drop " ~ log
            ~ " to begin a new log") -%}
    {%- endif -%}
    {%- do return(faults) -%}
{%- endmacro -%}


{%- macro _keep_change_log(relation, restart=false) -%}
    {#- To be called by a materialization after its last write. `restart`: the table was built anew. Its log begins anew, unless
        another run has begun that of the new table by now; one beside us may have taken away what _restart_change_log noted.
        What was noted since this run began stays: that run may build the table right now. (One that begins in between takes it
        away: if the builder is killed then, the log has to be dropped by hand, as the error says.) -#}
    {%- set mode, log = dbt_cdc._meta().get('change_log'), dbt_cdc._companion(relation, 'changes') -%}
    {%- if mode is none -%}{%- do return(none) -%}{%- endif -%}
    {%- do model.update(_dbt_cdc_wrote='its change log was not written') -%}
    {%- set noted = dbt_cdc._restart_change_log(relation) if restart else none -%}
    {%- if noted -%}{%- do run_query(noted) -%}{%- endif -%}
    {%- if dbt_cdc._bring_up_change_log(relation, mode) and (restart or model.get('_dbt_cdc_resumes')) -%}
        {%- do run_query(dbt_cdc._restarts_statement(log, false)) -%}
    {%- endif -%}
    {%- do model.pop('_dbt_cdc_wrote') -%}
    {%- do apply_grants(log, config.get('grants'), should_revoke(true, full_refresh_mode=true)) -%}
{%- endmacro -%}


{%- macro _bring_up_change_log(relation, mode) -%}
    {#- True if the log goes on though a run had begun to build it anew. -#}
    {%- if dbt_cdc._load_relation(dbt_cdc._storage_relation(relation)) is none -%}{%- do return(none) -%}{%- endif -%}
    {%- set since = model.get('_dbt_cdc_logged') -%}
    {%- set table = dbt_cdc._changed_table(relation, dbt_cdc._key_of_node(model), since, log=false) -%}
    {%- set log = dbt_cdc._change_log_of(relation, table, end_only=true) -%}
    {%- set log = none if log is not none and log.restarts and dbt_cdc._is_replaced_since(table, log.upto) else log -%}
    {%- if log is none -%}
        {%- do dbt_cdc._start_change_log(relation, table, mode) -%}
    {%- else -%}
        {%- do dbt_cdc._continue_change_log(table, log) -%}
        {%- do return(log.restarts) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro _start_change_log(relation, table, mode) -%}
    {%- do dbt_cdc._raise_faults(dbt_cdc._for_format('feed_faults', table.format)(table.columns)) -%}
    {%- if table.timeline.feed_from is none -%}
        {%- do dbt_cdc._for_format('feed_on', table.format)(table.relation) -%}
        {%- do table.update(timeline=dbt_cdc._for_format('timeline', table.format)(table.relation)) -%}
    {%- endif -%}
    {%- set log, commits = dbt_cdc._companion(relation, 'changes'), table.timeline.commits -%}
    {%- set stale = dbt_cdc._load_relation(log) -%}
    {#- dropped rather than replaced: Iceberg calls that an overwrite, which a stream over the log refuses -#}
    {%- if stale is not none -%}{%- do adapter.drop_relation(stale) -%}{%- endif -%}
    {%- if not commits -%}{%- do return(none) -%}{%- endif -%}
    {%- set properties = {
        'dbt_cdc.change_log': mode, 'dbt_cdc.key': table.key | join('\n') | lower,
        'dbt_cdc.from': commits[-1].version, 'dbt_cdc.from_micros': commits[-1].micros,
        'dbt_cdc.upto': commits[-1].version, 'dbt_cdc.upto_micros': commits[-1].micros,
    } -%}
    {%- do properties.update(dbt_cdc._properties_of_names(table.columns | map(attribute='name'), table.format,
                                                           dbt_cdc._whole_types(table.relation, table.columns).values())) -%}
    {%- do dbt_cdc._later_properties(properties, table.format) -%}{#- nothing reads a log's feed -#}
    {%- do properties.update(dbt_cdc._for_format('log_properties', table.format)(table.relation)) -%}
    {%- set images = dbt_cdc._two_versions(table, none, commits[-1], commits | length - 1) -%}
    {%- call statement('change_log', auto_begin=false) -%}
{{ dbt_cdc._create_as(log, dbt_cdc._change_log_rows(table, mode, images), table.format, properties, dbt_cdc._comment_clause(),
                      dbt_cdc._formats()[table.format].replace_conflicts) }}
    {%- endcall -%}
    {%- do dbt_cdc._for_format('delete_old_metadata', table.format)(log) -%}
{%- endmacro -%}


{%- macro _continue_change_log(table, log) -%}
    {#- Appends what happened since the last version that the log has. Two runs at once do not log a change twice: the
        statement looks for what is there already, and a format refuses it when another has written meanwhile. -#}
    {%- set commits = table.timeline.commits -%}
    {%- set versions = commits | map(attribute='version') | list -%}
    {%- do dbt_cdc._raise_faults([log.lost] if log.lost else []) -%}
    {%- if log.noted == versions[-1] -%}{%- do return(none) -%}{%- endif -%}
    {%- do dbt_cdc._note_renaming(table, log, versions.index(log.upto)) -%}
    {%- set begin, end = dbt_cdc._past_quiet(commits, versions.index(log.upto)), commits | length - 1 -%}
    {%- if begin < end -%}{%- do dbt_cdc._append_to_change_log(table, log, begin, end) -%}{%- endif -%}
    {%- do dbt_cdc._note_end(log, commits[end]) -%}
    {#- a run that built the table anew and was killed then has left the table without its feed -#}
    {%- if table.timeline.feed_from is none -%}{%- do dbt_cdc._for_format('feed_on', table.format)(table.relation) -%}{%- endif -%}
{%- endmacro -%}


{%- macro _append_to_change_log(table, log, begin, end) -%}
    {%- set names = dbt_cdc._images_of_mode(log.mode) -%}
    {%- set fields, inserted = dbt_cdc._grow_log_images(table, log, names), ['op', 'ts', 'version', 'key'] + names -%}
    {#- files are left out by `ts`: where they were compacted, versions, as text, are a wide range -#}
    {%- set since = table.timeline.commits[begin + 1:] | map(attribute='micros') | min -%}
    {%- call statement('change_log', auto_begin=false) -%}
merge into {{ log.relation }} as logged
using (
{{ dbt_cdc._change_log_rows(table, log.mode, dbt_cdc._images_by_commit(table, begin, end), fields) }}
) as found
on logged.ts >= timestamp_micros({{ since }}) and logged.version = found.version and logged.key <=> found.key
{{ dbt_cdc._for_format('insert_once', table.format)() }}
when not matched then insert ({{ inserted | join(', ') }}) values (found.{{ inserted | join(', found.') }})
    {%- endcall -%}
{%- endmacro -%}


{%- macro _note_end(log, commit) -%}
    {#- A commit without row changes leaves no row that says how far the log is: the log's properties do, so that it does
        not hang on a version that may expire; and now and then, so that few rows are asked. -#}
    {%- set at_end = 'select 1 as found from ' ~ log.relation ~ ' where ts >= timestamp_micros(' ~ commit.micros ~ ')'
                     ~ ' and version = ' ~ dbt_cdc._literal(commit.version) ~ ' limit 1' -%}
    {%- if log.commits | length > 50 or run_query(at_end).rows | length == 0 -%}
        {%- do dbt_cdc._set_properties(log.relation, {'dbt_cdc.upto': commit.version, 'dbt_cdc.upto_micros': commit.micros}) -%}
    {%- endif -%}
{%- endmacro -%}

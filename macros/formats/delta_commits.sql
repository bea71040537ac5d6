{#- The commits of a Delta table, out of `describe history`. -#}

{%- macro _delta_commits(relation) -%}
    {#- Oldest first: {version, micros, operation, parameters, quiet: rows stay as they are, keeps_files: takes none away,
        retypes: columns may be others after it}. -#}
    {%- set rows, commits = run_query('describe history ' ~ relation).rows | list, [] -%}
    {%- do rows.reverse() -%}
    {%- set micros = dbt_cdc._epoch_micros(rows | map(attribute='timestamp') | list) -%}
    {%- for row in rows -%}
        {%- set operation, parameters = row['operation'], dbt_cdc._delta_parameters(row['operationParameters'] or '{}') -%}
        {%- set is_metadata = operation in dbt_cdc._delta_metadata_operations() -%}
        {%- do commits.append({
            'version': row['version'] | int | string,
            'micros': micros[loop.index0],
            'operation': operation,
            'parameters': parameters,
            'quiet': is_metadata or operation in ['OPTIMIZE', 'REORG'],
            'keeps_files': is_metadata or 'Append' in [parameters.get('mode'), parameters.get('outputMode')],
            'retypes': 'REPLACE TABLE' in operation or parameters.get('mode') == 'Overwrite'
                       or operation in ['RESTORE', 'CLONE', 'CHANGE COLUMN', 'CHANGE COLUMNS'],
        }) -%}
    {%- endfor -%}
    {%- do return(commits) -%}
{%- endmacro -%}


{%- macro _delta_parameters(text) -%}
    {#- Of a commit, by name. A thrift server leaves the quotes within values as they are, which is no JSON: then those that
        are asked for are looked for in the text. -#}
    {%- set read = fromjson(text) -%}
    {%- if read is mapping -%}{%- do return(read) -%}{%- endif -%}
    {%- set found = {} -%}
    {%- for name in ['mode', 'outputMode', 'version', 'specifiedRetentionMillis', 'defaultRetentionMillis'] -%}
        {%- for value in modules.re.findall('"' ~ name ~ '"\\s*:\\s*"?(\\w+)', text) -%}{%- do found.update({name: value}) -%}{%- endfor -%}
    {%- endfor -%}
    {%- set feed = 'delta.enableChangeDataFeed' -%}
    {%- for value in modules.re.findall('"' ~ feed ~ '"(?:\\s*:\\s*"(\\w+))?', text) -%}
        {%- do found.update({'properties': {feed: value} if value else [feed]}) -%}
    {%- endfor -%}
    {%- do return(found) -%}
{%- endmacro -%}


{%- macro _delta_metadata_operations() -%}
    {#- Commits that leave rows and files as they are. -#}
    {%- do return([
        'ADD COLUMNS', 'CHANGE COLUMN', 'CHANGE COLUMNS', 'RENAME COLUMN', 'DROP COLUMNS', 'SET TBLPROPERTIES',
        'UNSET TBLPROPERTIES', 'ADD CONSTRAINT', 'DROP CONSTRAINT', 'CLUSTER BY', 'UPGRADE PROTOCOL', 'COMPUTE STATS',
        'VACUUM START', 'VACUUM END',
    ]) -%}
{%- endmacro -%}

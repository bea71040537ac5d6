{#- Python models need the Python distribution dbt-cdc, in the version of this package. -#}

{%- macro _python_part_faults() -%}
    {#- Where a run has Python models of ours to run: the command that mends it. -#}
    {%- set models = dbt_cdc._session_python_models() -%}
    {%- if not models -%}{%- do return([]) -%}{%- endif -%}
    {%- set installed = adapter.dbt_cdc_version() if adapter.dbt_cdc_version is defined else 'none' -%}
    {%- if installed == dbt_cdc._version() -%}{%- do return([]) -%}{%- endif -%}
    {%- do return(["Python models (" ~ (models | join(', ')) ~ ") need the Python distribution dbt-cdc in the version of the dbt"
                   ~ " package, " ~ dbt_cdc._version() ~ "; installed: " ~ installed ~ ". Run in the project's folder:\n    "
                   ~ "pip install " ~ ('' if adapter.config.packages_install_path.startswith('/') else './')
                   ~ adapter.config.packages_install_path ~ "/dbt_cdc"]) -%}
{%- endmacro -%}


{%- macro _session_python_models() -%}
    {#- Names of the Python models of this run with submission_method: session. -#}
    {%- set names = [] -%}
    {%- for node in dbt_cdc._selected_nodes() if node.language == 'python' and dbt_cdc._submission_method(node.config) == 'session' -%}
        {%- do names.append(node.name) -%}
    {%- endfor -%}
    {%- do return(names | sort) -%}
{%- endmacro -%}


{%- macro _submission_method(config) -%}
    {#- `session` is the default where the profile has `method: session`. -#}
    {%- do return(config.get('submission_method') or adapter.config.credentials.method | string) -%}
{%- endmacro -%}

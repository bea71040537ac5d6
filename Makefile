# make demo   set up, then the main job on local Spark with Delta, as a story to read
# make test   set up, then lint and the tests of all formats
# make help   the rest

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.10 || echo python3)
VENV := .venv
HUDI := .venv-hudi
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest -q
export TZ := UTC
export DBT_SEND_ANONYMOUS_USAGE_STATS := false

.DEFAULT_GOAL := help
.PHONY: help requirements setup demo demo-iceberg test environments lint lock test-delta test-iceberg test-hudi test-all clean
JAVA := "$(if $(JAVA_HOME),$(JAVA_HOME)/bin/)java"

help:
	@grep -E '^# make|^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^# //; s/^([a-z-]+):.*## /make \1   /'

requirements: # what the set-ups ask for before they fetch anything
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))' \
	  || { echo "Python 3.10 to 3.12 is needed, $(PYTHON) is another: make PYTHON=python3.11 ..."; exit 1; }
	@$(JAVA) -version 2>&1 | grep -qE 'version "(1[7-9]|2[0-2])' \
	  || { echo Java 17 to 22 is needed \(Hadoop does not start on later ones\), $(JAVA) is none: set JAVA_HOME; exit 1; }

$(VENV)/ready: requirements/dev.txt pyproject.toml profiles.example.yml
	@$(MAKE) --no-print-directory requirements
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --requirement requirements/dev.txt
	$(BIN)/pip install --quiet --no-deps --editable .
	$(BIN)/python -m tests.support.spark delta
	$(BIN)/python -m tests.support.spark iceberg
	touch $@

setup: $(VENV)/ready ## environment and jars, fetched once

demo: setup ## the main job
	$(BIN)/python -m integration_tests.demo

demo-iceberg: setup ## the same on Apache Iceberg
	$(BIN)/python -m integration_tests.demo --target iceberg

test: environments
	@$(MAKE) --no-print-directory --jobs 1 lint test-delta test-iceberg test-hudi

environments: # both at once: each waits for the network and unpacks on one core
	@$(MAKE) --no-print-directory --jobs 2 $(VENV)/ready $(HUDI)/ready

lint: setup ## ruff, mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Two workers, each with a Spark of its own; a file's tests stay together, folders of long files come first
WORKERS := -n 2 --dist loadfile --no-loadscope-reorder

test-delta: setup ## the tests on Delta, and those that need no format
	$(PYTEST) tests/servers tests/property tests/integration tests/dbt_adapter tests/functional tests/unit $(WORKERS) \
	  --table-format delta $(OPTIONS)

test-iceberg: setup ## the tests on Iceberg
	$(PYTEST) tests/servers tests/property tests/integration tests/dbt_adapter tests/functional $(WORKERS) \
	  --table-format iceberg $(OPTIONS)

test-all: ## all tests on Delta and on Iceberg that can run there, also those that `make test` asks of one (hours)
	$(MAKE) --no-print-directory --jobs 1 test-delta test-iceberg OPTIONS="--every-test $(OPTIONS)"

# Hudi's own tests, and those that ask the same of every format
test-hudi: $(HUDI)/ready ## Hudi, on pyspark 3.5
	$(HUDI)/bin/python -m pytest -q $(WORKERS) --table-format hudi tests/hudi \
	  tests/functional/test_table_changes.py::test_the_same_writes_give_the_same_rows_in_each_format_of_answer \
	  tests/functional/test_table_changes.py::test_net_tells_every_pair_of_first_and_last_operation \
	  tests/functional/test_table_changes.py::test_python_models_get_the_rows_and_the_errors_of_sql_models \
	  tests/functional/test_table_changes_ranges.py::test_begin_is_exclusive_and_end_inclusive_for_versions_and_timestamps \
	  tests/functional/test_table_changes_ranges.py::test_a_range_that_can_not_be_told_is_an_error_that_says_what_can \
	  tests/functional/test_table_changes_ranges.py::test_what_can_not_be_told_is_not_written \
	  $(OPTIONS)

$(HUDI)/ready: requirements/hudi.txt pyproject.toml profiles.example.yml
	@$(MAKE) --no-print-directory requirements
	$(PYTHON) -m venv $(HUDI)
	$(HUDI)/bin/pip install --quiet --requirement requirements/hudi.txt
	$(HUDI)/bin/pip install --quiet --no-deps --editable .
	$(HUDI)/bin/python -m tests.support.spark hudi
	touch $@

lock: setup ## compile requirements/*.in to pinned versions
	$(BIN)/pip install --quiet uv
	set -e; for name in requirements/*.in; do $(BIN)/uv pip compile --quiet --universal --python-version 3.10 \
	  --no-annotate --no-header $$name --output-file $${name%.in}.txt; done

clean: ## remove what set-up, demo and tests made
	rm -rf $(VENV) $(HUDI) warehouse target logs integration_tests/target integration_tests/logs \
	  integration_tests/dbt_packages integration_tests/warehouse .hypothesis .mypy_cache .pytest_cache .ruff_cache derby.log

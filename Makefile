# Everything one does with this project. `make` alone lists it.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Tests start hundreds of nodes: each would compile everything again.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps

# Programs that some tests run beside the Python packages of the `dev` extra.
TEST_DEBIAN_PACKAGES := e2fsprogs etcd-server fish iproute2 kcat nftables openjdk-17-jre-headless \
	strace zsh
# A few modules are in C, and built where that is possible.
C_DEBIAN_PACKAGES := gcc libc6-dev python3-dev
C_SOURCES := $(wildcard src/*/*/*.c src/*/*/*/*.c)
# The load generators are C, and one of them drives librdkafka.
BENCH_DEBIAN_PACKAGES := librdkafka-dev
# Servers that the comparison is with; others come by pip and Maven.
PEER_DEBIAN_PACKAGES := etcd-server maven openjdk-17-jre-headless rabbitmq-server redis-server

# What `make test` does a few times, and `make endure` many times.
ENDURED := tests/sim/test_seeds.py tests/crash/test_kill.py tests/crash/test_queue_kills.py \
	tests/crash/test_usage.py tests/cluster/test_chaos.py tests/cluster/test_heavy_fail_over.py

# Whoever waits sees what for: each step says what it does, and pip what it fetches.
STEP := @printf '==> %s\n'
PIP_INSTALL := PIP_ROOT_USER_ACTION=ignore $(BIN)/pip install --disable-pip-version-check
# Of this directory with these extras. Says which C modules were built.
define install
	$(STEP) "Installing $(2) into $(VENV), and building the C modules"
	@$(PIP_INSTALL) -e '.$(1)' -c constraints.txt
	@$(BIN)/duolog version
endef

FAST_TESTS := tests/unit tests/style tests/conformance

.PHONY: help run cluster demo-pipeline sim test documents endure heal check fast lint bench bench-peers \
	bench-page constraints clean

help:  ## list what can be made
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 15

run: $(STAMPS)/run  ## serve in the foreground; ARGS="--data DIR" and the like are passed on
	$(STEP) "Starting a node"
	@exec $(BIN)/duolog serve --set log.format=text $(ARGS)

cluster: $(STAMPS)/run  ## run an etcd and three nodes on this machine; ARGS are passed on
	@command -v etcd >/dev/null || .ci/debian etcd-server
	$(STEP) "Starting an etcd and three nodes"
	@exec $(BIN)/duolog cluster up $(ARGS)

demo-pipeline: $(STAMPS)/spark  ## show the pipelines on Spark: traffic, bills, audit, archive, replay
	@java -version 2>&1 | grep -qE 'version "(1[7-9]|[2-9][0-9])' || .ci/debian openjdk-17-jre-headless
	@rm -rf build/demo
	$(STEP) "Starting the demo: half a minute or more, most of it Spark's"
	@exec $(BIN)/duolog demo pipeline --data build/demo $(ARGS)

sim: $(STAMPS)/run  ## simulate clusters that are hurt in every way: SEEDS=50, on all cores
	@exec $(BIN)/python -m duolog.sim --seeds $(or $(SEEDS),50) $(ARGS)

test: $(STAMPS)/dev $(STAMPS)/test-programs  ## all tests; ARGS are passed to pytest
	$(BIN)/pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder -m 'not documents' $(ARGS)

documents: $(STAMPS)/dev $(STAMPS)/test-programs  ## run what documents show and a lone node cannot: Spark, clusters
	$(BIN)/pytest --numprocesses 2 -m documents --durations 0 tests/documents $(ARGS)

endure: $(STAMPS)/dev $(STAMPS)/test-programs  ## kills, faults and simulated clusters, over and over
	DUOLOG_CRASH_ROUNDS=50 DUOLOG_CHAOS_SECONDS=45 DUOLOG_SIM_SEEDS=50 DUOLOG_COMMITS=15000 DUOLOG_HANDLED=4000 \
		$(BIN)/pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder $(ENDURED) $(ARGS)

heal: $(STAMPS)/dev $(STAMPS)/test-programs  ## hurt a cluster under load, say how soon it serves again; ARGS="--only kill --idle" and the like
	$(BIN)/python -m tests.heal $(ARGS)

check: $(STAMPS)/dev  ## in two minutes or so: style, types, layers and the fast tests
	@$(MAKE) --no-print-directory --jobs 2 lint fast

fast: $(STAMPS)/dev
	$(BIN)/pytest --numprocesses 3 -m 'not thorough' $(FAST_TESTS)

lint: $(STAMPS)/dev  ## style, types and layers only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMPS)/bench $(STAMPS)/bench-programs  ## measure; ARGS="--quick" and the like are passed on
	$(BIN)/python -m bench $(ARGS)

bench-peers:  ## install the servers that Duolog is compared with, without starting them
	@START_SERVICES=no .ci/debian $(PEER_DEBIAN_PACKAGES)

bench-page: $(STAMPS)/run  ## write docs/performance.md and its pictures from docs/performance.json
	$(BIN)/python -m bench.page

constraints:  ## pin the newest versions of all dependencies in constraints.txt
	rm -rf build/constraints
	$(PYTHON) -m venv build/constraints
	build/constraints/bin/pip install --disable-pip-version-check -e '.[dev,bench]'
	build/constraints/bin/pip freeze --exclude-editable | grep -E '^[A-Za-z0-9._-]+==' > constraints.txt
	rm -rf build/constraints

clean:  ## remove what was made, except stored data
	rm -rf $(VENV) build dist src/*.egg-info bench/build
	find src -name '*.so' -delete
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests bench examples -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMPS)/venv:
	@command -v $(PYTHON) >/dev/null || .ci/debian python3 python3-venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Duolog needs Python 3.11 or newer. Run make with PYTHON=python3.11." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || .ci/debian python3-venv
	$(STEP) "Making a Python environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/run: pyproject.toml constraints.txt $(C_SOURCES) | $(STAMPS)/venv
	$(call install,,what Duolog needs)
	@touch $@

$(STAMPS)/spark: pyproject.toml constraints.txt $(C_SOURCES) | $(STAMPS)/venv
	$(call install,[spark],what Duolog and its pipelines need with Spark)
	@touch $@ $(STAMPS)/run

$(STAMPS)/dev: pyproject.toml constraints.txt $(C_SOURCES) | $(STAMPS)/venv $(STAMPS)/c-programs
	$(call install,[dev],what Duolog and its tests need)
	@touch $@ $(STAMPS)/run $(STAMPS)/spark

$(STAMPS)/bench: pyproject.toml constraints.txt $(C_SOURCES) | $(STAMPS)/venv $(STAMPS)/c-programs
	$(call install,[bench],what the benchmark needs)
	@touch $@ $(STAMPS)/run

$(STAMPS)/c-programs: | $(STAMPS)/venv
	@.ci/debian $(C_DEBIAN_PACKAGES) && touch $@ || echo "The C modules are not built: some work takes more time." >&2

$(STAMPS)/test-programs: | $(STAMPS)/venv
	@.ci/debian $(TEST_DEBIAN_PACKAGES) && touch $@ || echo "Tests that need them are skipped." >&2

$(STAMPS)/bench-programs: | $(STAMPS)/venv
	@.ci/debian $(BENCH_DEBIAN_PACKAGES) && touch $@ || echo "Some workloads are left out." >&2

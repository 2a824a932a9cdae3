# `make` alone says what there is. Every target sets up what it needs: Python 3.11, Node and git are enough.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help

PYTHON ?=
# One more than the two processors of a small machine: a third of the time the tests wait for a terminal, a disk, a server.
JOBS ?= 3
ARGS ?=
# `make fuzz`: for how long (or for how many requests), which fuzzer, with which seed, in how many processes.
MINUTES ?= 5
REQUESTS ?=
ONLY ?=
SEED ?=
PROCESSES ?= 1
VENV := .venv
BIN := $(VENV)/bin
LINT := $(MAKE) --no-print-directory lint

# The stamp carries a hash of all that decides what is installed, and where: a changed file or a moved folder is set up
# again, anything else is not.
# There are three states: what the chat needs (`make run`), everything for development (most other targets), and the
# generator of the documentation site on top of it (`make docs`).
WANTED := $(shell { pwd; cat pyproject.toml constraints.txt tools/setup; } | { sha256sum 2>/dev/null || shasum -a 256; } | cut -c1-16)
STAMP := $(VENV)/.installed-$(WANTED)
RUNS := $(VENV)/.runs-$(WANTED)
DOCS := $(VENV)/.docs-$(WANTED)

# pyright is complete in its wheel: no asking the network for a newer one.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

# The tests start Python some thousand times: what it compiles is kept (`make clean` removes it), whatever the machine says.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup run test lint format cover fuzz bench docs wheel floors clean

help: ## say what there is
	@printf 'Backscroll: long conversations, kept whole\n\n'
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-8s %s\n", $$1, $$2 }'
	@printf '\n  ARGS="..." goes to pytest, backscroll or bench; JOBS=%s test processes; PYTHON=... to choose one\n' '$(JOBS)'

setup: $(STAMP) ## make .venv and install into it (the others do it by themselves)

$(STAMP):
	@tools/setup $(VENV) $(STAMP) dev $(PYTHON)

$(RUNS):
	@tools/setup $(VENV) $(RUNS) openai,anthropic $(PYTHON)

$(DOCS):
	@tools/setup $(VENV) $(DOCS) dev,docs $(PYTHON)

# Where nobody sits at the terminal there is no chat: then a demonstration, on a store that is thrown away afterwards.
run: $(RUNS) ## the chat, with a guided first minute; in a pipe, a demonstration
	@if [ -t 0 ] && [ -t 1 ]; then exec $(BIN)/backscroll chat $(ARGS); else exec $(BIN)/backscroll demo $(ARGS); fi

test: $(STAMP) ## the whole test suite, and beside it lint, types, import contracts
	@$(BIN)/python tools/beside.py '$(LINT)' \
		$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

lint: $(STAMP) ## ruff, pyright, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@command -v node >/dev/null || { echo 'lint: pyright needs Node (Debian, Ubuntu: apt install nodejs)' >&2; exit 1; }
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports --no-cache --no-logo

format: $(STAMP) ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

cover: $(STAMP) ## the test suite once more, counting the lines and branches it reaches
	$(BIN)/python -m pytest -n $(JOBS) --cov --cov-report=term $(ARGS)

fuzz: $(STAMP) ## the fuzzers with fresh seeds: MINUTES=5, ONLY=name, SEED=n to see a failure again, REQUESTS=100000, PROCESSES=2
	@$(BIN)/python -m tests.fuzz --minutes $(MINUTES) --processes $(PROCESSES) \
		$(if $(ONLY),--only $(ONLY)) $(if $(SEED),--seed $(SEED)) $(if $(REQUESTS),--requests $(REQUESTS))

bench: $(STAMP) ## measure speed and size
	@$(BIN)/python -m bench $(ARGS)

docs: $(DOCS) ## build the documentation site in build/site; a warning is an error
	@$(BIN)/python tools/site.py

wheel: $(RUNS) ## build dist/*.whl
	@rm -rf dist
	@$(BIN)/python -m hatchling build --target wheel

floors: ## show that the oldest versions that pyproject.toml allows do work: ARGS="sdks" for one row
	@python3 tools/floors.py $(ARGS)

clean: ## remove everything that make and the tools have made
	rm -rf $(VENV) .coverage .hypothesis .import_linter_cache .pytest_cache .ruff_cache build dist htmlcov
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

# Needs Python 3.11 or newer, git and make, and nothing else. Every target makes the virtual
# environment it needs in .venv, from pyproject.toml, and renews it when that file has changed.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:  # two installs at once would spoil the environment
.PHONY: help demo test lint types bench docs clean

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

# make test WORKERS=0 runs the tests in one process
WORKERS ?= auto

# Left empty, PYTHON becomes the first interpreter that is new enough and can make environments.
PYTHON ?=
CANDIDATES := $(if $(PYTHON),$(PYTHON),python3 python3.14 python3.13 python3.12 python3.11 python)
SUITABLE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))

help:
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/has-cli $(VENV)/has-plot ## the tour: train, prove, correct, forget, save, look
	$(BIN)/adiabat tour

test: $(VENV)/has-test ## the tests, the doctests and the documents' examples
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS)

lint: $(VENV)/has-lint ## ruff (rules and format) and the order of the floors
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

types: $(VENV)/has-lint ## mypy on the package
	$(BIN)/mypy

bench: $(VENV)/has-bench ## the table of ratios to scikit-learn and its rivals (ARGS=... goes to it)
	$(BIN)/python -m benchmarks $(ARGS)

docs: $(VENV)/has-test ## run every Python block of README.md and docs/
	$(BIN)/python -m pytest tests/test_documents.py

clean: ## remove the environment, caches and built files
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/python:
	@for candidate in $(CANDIDATES); do \
	    if $$candidate -c '$(SUITABLE)' 2>/dev/null; then \
	        echo "$$candidate makes $(VENV)" && $$candidate -m venv --clear $(VENV) && exit 0; \
	        exit 1; \
	    fi; \
	done; \
	echo "Adiabat needs Python 3.11 or newer with venv and ensurepip. Tried: $(CANDIDATES)." >&2; \
	echo "Name another with: make PYTHON=/path/to/python3" >&2; \
	echo "(Debian and Ubuntu keep venv in a package of its own: python3-venv.)" >&2; \
	exit 1

$(VENV)/has-%: pyproject.toml | $(BIN)/python
	$(PIP) install --editable '.[$*]'
	@touch $@

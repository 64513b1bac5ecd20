# `make check` is what continuous integration runs.

PYTHON ?= python3
WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --constraint constraints.txt
PINS := pyproject.toml constraints.txt
DEV := $(VENV)/.installed-dev
DEMO := $(VENV)/.installed-demo

# XLA shares the cores by itself; torch and BLAS would start one thread per core in every worker.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

# Pages with tables that are generated from results/.
PAGES := README.md $(shell grep --recursive --files-with-matches --include='*.md' '\[\[\[cog' docs)
COG := $(BIN)/cog -P -I docs

.PHONY: help install demo test docs tables check clean

help:
	@echo "make install  create $(VENV) with everything development needs"
	@echo "make demo     train on CartPole into a new folder below runs/, and write a report of it"
	@echo "make test     run the tests"
	@echo "make docs     build the documentation into site/; a broken link fails"
	@echo "make tables   write the tables of the documentation from results/"
	@echo "make check    lint, format, types, layers, tables, documentation, tests"
	@echo "make clean    remove caches and build products; keeps $(VENV), runs/ and results/"

install: $(DEV)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(DEV): $(PINS) | $(BIN)/python
	$(PIP) --editable '.[dev]'
	touch $(DEMO) $@

# The development environment holds all that the demo needs, so it also writes this stamp.
$(DEMO): $(PINS) | $(BIN)/python
	$(PIP) --editable '.[report,video]'
	touch $@

demo: $(DEMO)
	out=runs/demo-$$(date +%Y%m%d-%H%M%S); \
	$(BIN)/ilfo train --seeds 2 --out $$out && $(BIN)/ilfo report $$out

# A file's tests share what it has trained, so they stay in one process.
test: $(DEV)
	$(ONE_THREAD) $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

# Without --quiet, which also silences the warnings that --strict counts.
docs: $(DEV)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

tables: $(DEV)
	$(COG) -r $(PAGES)

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy src
	$(BIN)/lint-imports
	$(COG) --check $(PAGES)
	$(MAKE) docs
	$(MAKE) test

clean:
	rm -rf build dist site src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name $(VENV) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

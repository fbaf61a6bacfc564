# make demo    a training script that goes NaN, and the line that does it
# make test    lint, types, format and every test
# make check   the quick part of it: under a minute
# Each sets up what it needs.

VENV := .venv
PYTHON := $(VENV)/bin/python
READY := $(VENV)/.ready

# Fast and free of frameworks, so a mistake shows early.
UNIT := $(wildcard tests/wire tests/boundaries tests/cli)
OTHER := $(filter-out $(UNIT),$(patsubst %/,%,$(dir $(wildcard tests/*/test_*.py))))
PYTEST := $(PYTHON) -m pytest -n 2 --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help demo test check lint types bench generate clean

help:
	@sed -n 's/^# \(make.*\)/\1/p' Makefile

demo: $(READY)
	@tools/demo.sh $(VENV)

test: lint types
	@$(PYTEST) $(UNIT) $(sort $(OTHER))

check: lint types
	@$(PYTEST) $(UNIT)

lint: $(READY)
	@$(VENV)/bin/ruff check --quiet .
	@$(VENV)/bin/ruff format --check --quiet . || { \
		$(VENV)/bin/ruff format --check .; echo "mend with: $(VENV)/bin/ruff format"; exit 1; }

types: $(READY)
	@PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(VENV)/bin/pyright --warnings

bench: $(READY)
	@for file in $$(grep -l __main__ benchmarks/*.py); do echo "== $$file"; $(PYTHON) $$file || exit 1; done

generate: $(READY)
	@$(PYTHON) -m zentracer.wire.schema tests/wire/schema.json
	@$(PYTHON) tests/wire/wire_examples.py

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis

$(READY): pyproject.toml tools/setup.sh
	@tools/setup.sh $(VENV)
	@touch $@

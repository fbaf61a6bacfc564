# make demo         a training script that goes NaN: the stop in the terminal, then in the editor
# make vsix         the VS Code extension, build/zentracer.vsix
# make test         lint, types, format and every test, the real editor's too
# make check        the quick part of it: under a minute
# make bench        measurements against a named peer
# make screenshots  the pictures in docs/images, taken in the real editor
# Each sets up what it needs.

VENV := .venv
PYTHON := $(VENV)/bin/python
READY := $(VENV)/.ready
EXTENSION := vscode-extension
MODULES := $(EXTENSION)/node_modules/.installed-lock

# Fast and free of frameworks, so a mistake shows early.
UNIT := $(wildcard tests/wire tests/boundaries tests/cli)
OTHER := $(filter-out $(UNIT),$(patsubst %/,%,$(dir $(wildcard tests/*/test_*.py))))
PYTEST := $(PYTHON) -m pytest -n 2 --dist loadfile
NODE := cd $(EXTENSION) && ../tools/node.sh ../$(VENV)
BIN := node_modules/.bin

.DEFAULT_GOAL := help
.PHONY: help demo vsix test check lint types unit editor bench screenshots generate clean

help:
	@sed -n 's/^# \(make.*\)/\1/p' Makefile

demo: $(READY)
	@tools/demo.sh $(VENV)

vsix: $(READY) $(MODULES)
	@tools/vsix.sh $(VENV)

test: check
	@$(PYTEST) $(sort $(OTHER))
	@$(MAKE) --no-print-directory editor

check: lint types unit
	@$(PYTEST) $(UNIT)

lint: $(READY) $(MODULES)
	@$(VENV)/bin/ruff check --quiet .
	@$(VENV)/bin/ruff format --check --quiet . || { \
		$(VENV)/bin/ruff format --check .; echo "mend with: $(VENV)/bin/ruff format"; exit 1; }
	@$(NODE) $(BIN)/eslint --max-warnings 0 .

types: $(READY) $(MODULES)
	@PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(VENV)/bin/pyright --warnings
	@$(NODE) $(BIN)/tsc -p .
	@$(NODE) $(BIN)/tsc -p webviews
	@$(NODE) $(BIN)/tsc -p test/e2e
	@$(NODE) $(BIN)/tsc -p test/dap

unit: $(READY) $(MODULES)
	@$(NODE) $(BIN)/vitest run

editor: vsix
	@tools/editor.sh $(VENV) --browser
	@$(NODE) $(BIN)/vitest run --config vitest.e2e.config.mts

bench: $(READY) vsix
	@tools/editor.sh $(VENV) --browser
	@for file in $$(grep -l __main__ benchmarks/*.py); do echo "== $$file"; $(PYTHON) $$file || exit 1; done

screenshots: vsix
	@tools/editor.sh $(VENV) --browser
	@$(NODE) node test/e2e/screenshots.ts

generate: $(READY) $(MODULES)
	@$(PYTHON) -m zentracer.wire.schema tests/wire/schema.json
	@$(PYTHON) tests/wire/wire_examples.py
	@$(NODE) node tools/generate.mjs ../tests/wire/schema.json src/wire/generated.ts

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	rm -rf $(EXTENSION)/node_modules $(EXTENSION)/dist $(EXTENSION)/bundled

$(READY): pyproject.toml tools/setup.sh
	@tools/setup.sh $(VENV)
	@touch $@

$(MODULES): $(EXTENSION)/package-lock.json $(READY)
	@tools/modules.sh $(VENV)
	@touch $@

# make demo | make test : both set up .venv by themselves; again a no-op.
# make bench           : speed against the peers, in an environment of its own; an hour on a machine that does nothing else.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test bench lint types layers format clean
.DEFAULT_GOAL := test

.venv/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "minprobflow needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: .venv/.installed
	$(BIN)/python -m minprobflow.demo

test: lint types layers
	$(BIN)/python -m pytest -n 2 --dist loadgroup --durations 25

.venv-bench/.installed: pyproject.toml constraints.txt benchmarks/requirements.txt
	test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check "$$(grep ^torch benchmarks/requirements.txt)"
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt -r benchmarks/requirements.txt --editable .
	touch $@

bench: .venv-bench/.installed
	.venv-bench/bin/python -m benchmarks speed
	.venv-bench/bin/python -m benchmarks.docs

lint: .venv/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.installed
	$(BIN)/mypy

layers: .venv/.installed
	$(BIN)/lint-imports

format: .venv/.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .venv-bench demo-output

# make demo | make test : both set up .venv by themselves; again a no-op.
# make check           : lint, types, layers and each rule on one model; for daily work.
# make lowest          : the core of the tests with the lowest versions of the dependencies that pyproject.toml allows.
# make mutate          : deliberate bugs, and whether the tests notice them; half an hour, continues where it stopped.
# make soak            : kills, damaged records, hostile files and wild calls; about an hour, and continues where it was stopped.
# make bench           : speed against the peers, in an environment of its own; an hour on a machine that does nothing else.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo check test soak lowest mutate bench lint types layers format clean
.DEFAULT_GOAL := test

.venv/.installed: pyproject.toml constraints.txt setup.py $(wildcard src/minprobflow/native/src/*)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "minprobflow needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: .venv/.installed
	$(BIN)/python examples/demo.py

check: lint types layers
	$(BIN)/python -m pytest -n auto --dist loadgroup tests/conformance/test_every_rule.py -k 'RBM-0-tau0.5 and (raises or resume or metrics)'

test: lint types layers
	$(BIN)/python -m pytest -n auto --dist loadgroup --no-loadscope-reorder --durations 25 -m "not heavy"
	$(BIN)/python -m pytest -n auto --dist loadgroup --durations 10 -m heavy tests

soak: .venv/.installed
	$(BIN)/python -m soak

# one resolution for all: a tool must not lift a dependency above its bound
.venv-lowest/.installed: pyproject.toml .ci/lowest.py
	test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	$(PYTHON) .ci/lowest.py > .venv-lowest/requirements.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check -r .venv-lowest/requirements.txt \
		beartype hypothesis pandas pytest pytest-xdist
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

lowest: .venv-lowest/.installed
	.venv-lowest/bin/python -m pytest -n auto tests/conformance -k 'RBM-0 or Ising-0'
	.venv-lowest/bin/python -m pytest -n auto tests/test_cli.py tests/test_convex.py tests/test_files.py tests/test_fit.py \
		tests/test_likelihood.py tests/test_numerics.py tests/test_sklearn.py

mutate: .venv/.installed
	$(BIN)/python tests/mutation/run.py

.venv-bench/.installed: pyproject.toml constraints.txt setup.py $(wildcard src/minprobflow/native/src/*) benchmarks/requirements.txt
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
	rm -rf .venv .venv-bench .venv-lowest demo-output soak-output

# make demo: what the library does, on made-up furniture and on graphs. make test: everything that is checked. make bench: all claims of speed
# (make bench BENCH=--full also keeps them in results). make wheel: the package, installed from its wheel and used.
# make site: the documents as a site in build/site, with the notebooks executed; a warning is an error.
# make fuzz: wrong inputs, damaged files, mistaken commands and broken states, 50,000 cases in minutes; make fuzz FUZZ="--cases 5000 --seed 1".
# make mutants: changes of the code that no test notices; make mutants MUTANTS="--files adacanon/core/loss.py --each 20".
# All set up .venv themselves.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: venv demo test lint types bench fuzz mutants wheel site clean

venv: .venv/.ready

.venv/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "adacanon needs Python 3.11 or newer, got " + sys.version.split()[0] + ". Hint: make PYTHON=python3.11 venv")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable ".[all,docs,dev]"
	@touch $@

demo: venv
	$(BIN)/adacanon demo

test: lint types
	$(BIN)/pytest --numprocesses 2 --dist worksteal

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: venv
	$(BIN)/mypy

bench: venv
	$(BIN)/python -m benchmarks.speed.bench $(BENCH)

fuzz: venv
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.fuzz $(FUZZ)

mutants: venv
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.mutants $(MUTANTS)

wheel: venv
	rm -rf dist
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	$(BIN)/python .ci/check_wheel.py dist/*.whl

site: venv
	NO_MKDOCS_2_WARNING=1 OMP_NUM_THREADS=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "build/site/index.html"

clean:
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache

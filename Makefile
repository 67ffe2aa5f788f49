# Two commands: `make demo` and `make test`. Both set everything up on first use.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: demo test docs bench format clean

demo: $(READY)
	$(BIN)/python examples/first_look.py
	$(BIN)/mpsn reproduce sr --quick --out out/runs
	$(BIN)/mpsn reproduce flow --quick --out out/runs
	$(BIN)/mpsn report out/runs --out out/report.html

test: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal

docs: $(READY)
	$(BIN)/sphinx-build -E -W --keep-going -n -q docs out/docs
	@echo "site: out/docs/index.html"

# TopoModelX asks for numpy below 2 but runs beside today's; only its models are imported.
bench: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,bench]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps topomodelx==0.0.1
	$(BIN)/pytest benchmarks -o addopts= --benchmark-only --benchmark-columns=min,median,rounds -s

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# torch goes first and pinned: a looser requirement would be free to pick another build.
$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf .venv out

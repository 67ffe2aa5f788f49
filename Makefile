# Two commands: `make demo` and `make test`. Both set everything up on first use.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
# Each file on one of two workers, so what its tests share is built once.
PYTEST := pytest -n 2 --dist loadfile --no-loadscope-reorder
test lowest: export OMP_NUM_THREADS ?= 1

.PHONY: demo test docs bench lowest format clean

demo: $(READY)
	$(BIN)/python examples/first_look.py
	$(BIN)/mpsn reproduce sr --quick --out out/runs
	$(BIN)/mpsn reproduce flow --quick --out out/runs
	$(BIN)/mpsn report out/runs --out out/report.html

test: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy -n 2
	$(BIN)/lint-imports
	$(BIN)/$(PYTEST)

docs: $(READY)
	$(BIN)/sphinx-build -E -W --keep-going -n -q docs out/docs
	@echo "site: out/docs/index.html"

bench: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,bench]' -e './reproduction[ray]'
	$(BIN)/pytest benchmarks -o addopts= --benchmark-only --benchmark-columns=min,median,rounds -s

# The tests with the lowest versions that pyproject.toml allows, in an environment of their own.
LOWEST := import tomllib; \
  projects = [tomllib.load(open(p, "rb"))["project"] for p in ("pyproject.toml", "reproduction/pyproject.toml")]; \
  groups = [g for p in projects for g in (p["dependencies"], *p["optional-dependencies"].values())]; \
  print(*{d.replace(">=", "==").replace("[tune]", "") for group in groups for d in group if ">=" in d}, sep="\n")
lowest:
	mkdir -p out
	$(PYTHON) -c '$(LOWEST)' > out/lowest.txt
	test -x out/lowest/bin/python || $(PYTHON) -m venv out/lowest
	out/lowest/bin/python -m pip install --quiet --disable-pip-version-check -c out/lowest.txt -e '.[dev]' -e './reproduction[ray]'
	out/lowest/bin/$(PYTEST) -W default

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# torch goes first and pinned: a looser requirement would be free to pick another build. TopoModelX
# asks for numpy below 2 but runs beside today's; only its models are imported, by tests.
$(READY): pyproject.toml reproduction/pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]' -e './reproduction[ray]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps topomodelx==0.0.1
	touch $@

clean:
	rm -rf .venv out

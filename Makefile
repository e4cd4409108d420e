# Each target creates or reuses .venv by itself; only Python 3.11+ and make are needed.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed
OLDEST := .venv-oldest
EXTRAS := .venv-extras
# All tests with the marker dask; those that kill workers, which then start again, come last.
ON_DASK := tests/cli/test_on_cluster.py tests/compare/test_on_cluster.py tests/experiments/benchmark/test_on_cluster.py tests/engines/cluster
BUILD := .venv-build
DOCS := .venv-docs
SITE := build/site
GENERATED := docs/gallery docs/api/generated

.PHONY: demo test test-blas test-browser test-dask test-long test-oldest test-survival test-torch dist bench results defaults benchmark docs docs-quick docs-output lint types format clean

demo: $(INSTALLED)
	$(VENV)/bin/kernelweave demo

# PYTEST: further options of pytest, such as --cov=kernelweave --cov=experiments
test: $(INSTALLED)
	$(RUN) -m pytest -n 2 --dist worksteal -m "not long" --ignore tests/house --ignore tests/experiments tests src $(PYTEST)

test-long: $(INSTALLED)
	$(RUN) -m pytest -n 2 --dist worksteal -m long $(PYTEST)

# The numerical tests with the BLAS kernels of other processors, each with 1 and 2 threads. BLAS=--one: a quick selection
# with one that differs from this processor's own.
test-blas: $(INSTALLED)
	$(RUN) tools/blas_kernels.py $(BLAS) $(PYTEST)

# The report's page in a headless Chromium: /usr/bin/chromium, or the path KERNELWEAVE_CHROMIUM; skipped where there is
# none, which KERNELWEAVE_BROWSER=required turns into a failure.
test-browser: $(VENV)/.installed-browser
	$(RUN) -m pytest -n 0 -rs tests/browser $(PYTEST)

test-oldest: $(OLDEST)/.installed
	$(OLDEST)/bin/python -m pytest -n 2 --dist worksteal

# Tests that compute with torch, on the CPU and on a CUDA device where there is one; Triton's programs are interpreted
# where there is none.
test-torch: $(EXTRAS)/.installed
	$(EXTRAS)/bin/python -m pytest -n 2 --dist worksteal -m device tests $(PYTEST)

# Tests on Dask collections and on a cluster of two local processes; each has a time limit, so that none can hang.
test-dask: $(EXTRAS)/.installed
	$(EXTRAS)/bin/python -m pytest -n 0 -m dask --durations 10 $(ON_DASK) $(PYTEST)

# Tests of survival, against scikit-survival too.
test-survival: $(EXTRAS)/.installed
	$(EXTRAS)/bin/python -m pytest -n 2 --dist worksteal -rs tests/survival $(wildcard tests/*/test_survival.py) $(PYTEST)

# The sdist, and the wheel built from it, in dist/; their metadata and contents are checked, and the wheel is installed
# into an empty environment and used there.
dist: $(INSTALLED) $(BUILD)/.installed
	rm -rf dist
	$(BUILD)/bin/python -m build --no-isolation --outdir dist .
	$(BUILD)/bin/python -m twine check --strict dist/*
	KERNELWEAVE_DIST=dist $(RUN) -m pytest -n 0 -rs -m distribution tests/test_distribution.py $(PYTEST)

bench: $(INSTALLED)
	$(RUN) -m benchmarks.machines
	$(RUN) -m benchmarks.whole_fits
	$(RUN) -m benchmarks.stress
	$(RUN) -m benchmarks.joint
	$(RUN) -m benchmarks.global_mkl
	$(RUN) -m benchmarks.localized
	$(RUN) -m benchmarks.projected
	$(RUN) -m benchmarks.projected_convergence
	$(RUN) -m benchmarks.reduction
	$(RUN) -m benchmarks.extraction
	$(RUN) -m benchmarks.targets
	$(RUN) -m benchmarks.scale --quick

# The digest docs/results.md, and in docs/results a page for each table and the figures of the digest.
results: $(INSTALLED)
	$(RUN) -m experiments reproduce all --page docs/results.md

defaults: $(INSTALLED)
	$(RUN) -m experiments defaults --page docs/defaults.md

benchmark: $(INSTALLED)
	$(RUN) -m experiments benchmark --page docs/benchmark.md

# The site, in build/site: warnings are errors, and so is a link that leads nowhere. `docs` runs the gallery; `docs-quick`
# shows it without its pictures. Neither fetches anything. `docs-output` runs the code of the pages, and compares what it
# prints with what stands there.
docs: $(DOCS)/.installed
	rm -rf $(SITE) $(GENERATED)
	$(DOCS)/bin/python -m sphinx -W --keep-going -E -j auto -b html docs $(SITE)
	$(DOCS)/bin/python tools/check_site.py $(SITE)

docs-quick: $(DOCS)/.installed
	rm -rf $(SITE) $(GENERATED)
	$(DOCS)/bin/python -m sphinx -W --keep-going -E -j auto -b html -D plot_gallery=0 docs $(SITE)
	$(DOCS)/bin/python tools/check_site.py $(SITE)

docs-output: $(DOCS)/.installed
	$(DOCS)/bin/python tools/run_pages.py --check --jobs 2

lint: $(INSTALLED)
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m pytest -n 0 tests/house
	$(VENV)/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

types: $(INSTALLED)
	$(RUN) -m mypy

format: $(INSTALLED)
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Kernelweave needs Python 3.11 or later: run make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --editable ".[plot,test,lint]"
	@touch $@

$(VENV)/.installed-browser: $(INSTALLED)
	$(RUN) -m pip install --quiet --editable ".[dev]"
	@touch $@

# The lowest versions that pyproject.toml declares exist for Python 3.11, not for every later one.
$(OLDEST)/.installed: pyproject.toml tools/oldest.py
	$(PYTHON) -m venv --clear $(OLDEST)
	$(PYTHON) tools/oldest.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --constraint $(OLDEST)/constraints.txt --editable ".[plot,test]"
	@touch $@

$(EXTRAS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(EXTRAS)
	$(EXTRAS)/bin/python -m pip install --quiet --editable ".[torch,dask,survival,test]"
	@touch $@

$(BUILD)/.installed: Makefile
	$(PYTHON) -m venv $(BUILD)
	$(BUILD)/bin/python -m pip install --quiet "build>=1.2" "hatchling>=1.27" "twine>=6.1"
	@touch $@

$(DOCS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --editable ".[plot,docs]"
	@touch $@

clean:
	rm -rf $(VENV) $(OLDEST) $(EXTRAS) $(BUILD) $(DOCS) dist build $(GENERATED)
	find src -name '*.nb[ic]' -delete

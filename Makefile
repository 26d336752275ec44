# Everything runs in .venv, made on the first call and used again until pyproject.toml changes.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# uv chooses versions in seconds, and pip in a minute; but only pip may know where packages are.
install = $(BIN)/uv pip install --quiet --python $(BIN)/python --editable '.[$(1)]' || $(PIP) --editable '.[$(1)]'
# Compiled tests are kept, whatever the caller's habits: else each process compiles them all again.
unexport PYTHONDONTWRITEBYTECODE
# A package index may be slow for a while.
export UV_HTTP_TIMEOUT ?= 180
export UV_HTTP_RETRIES ?= 8

.PHONY: setup demo app test test-long fuzz test-stress test-slow test-browser test-spark test-dist test-lowest docs pictures lint bench dist clean

setup: $(READY)

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(PIP) 'uv>=0.5'
	$(call install,dev)
	@# Compiles what the demonstration needs into the cache.
	$(BIN)/discreet demo --rows 500 --out .venv/warm --force > /dev/null
	touch $(READY)

demo: setup
	$(BIN)/discreet demo --force

discreet-app/households.csv: | $(READY)
	mkdir -p discreet-app
	$(BIN)/python -c "from discreet import datasets, write_table; \
	    write_table(datasets.make_households(10_000, seed=2024, null_rate=0.02), '$@')"

# The app on invented households (ARGS='--no-browser --port 8000'); it goes on where it was left.
app: setup discreet-app/households.csv
	$(BIN)/discreet app discreet-app/households.csv --workspace discreet-app/work $(ARGS)

# Those that take long are left to `make test-long`: tests/long.py.
test: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not (long or slow or browser or spark or dist)'

test-long: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'long and not (slow or browser or spark or dist)'

# Random releases first (ARGS='--cases 10000 --seed 1'), then new examples for the tests that draw
# them; a failure says how to repeat it.
fuzz: setup
	$(BIN)/python -m tests.fuzz $(ARGS)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'hypothesis and not spark' --hypothesis-profile fuzz tests

# A part of the slow tests: 200,000 rows on engines, random pairs of steps, and kills at random moments.
test-stress: setup
	$(BIN)/python -m pytest -m stress tests/flow tests/app

# All of them, those on Spark too.
test-slow: setup .venv/.spark
	$(BIN)/python -m pytest -m slow

# Needs Chromium: apt-get install chromium
test-browser: setup
	$(BIN)/python -m pytest -m browser tests/browser

.venv/.spark: $(READY)
	$(call install,spark)
	touch .venv/.spark

# Java lives too short here for code that is compiled well to pay.
test-spark: export SPARK_SUBMIT_OPTS ?= -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
test-spark: setup .venv/.spark
	$(BIN)/python -m pytest -m 'spark and not slow' tests/spark tests/flow/test_every_engine.py tests/flow/test_holdout.py

# A wheel and an sdist in dist/.
dist: setup
	rm -rf dist
	$(BIN)/python -m build

# What is in them, and that the wheel runs in an empty environment, on the oldest and newest Python.
test-dist: setup
	$(BIN)/python -m pytest -m dist tests/wheel

# The oldest versions that pyproject.toml allows, with compiled code of their own.
LOWEST := .venv/lowest
LOWEST_TESTS := tests/recipe tests/cli/test_recipe.py tests/cli/test_complete.py tests/check/test_keys.py \
    $(addprefix tests/table/test_,formats.py statistics_files.py excel.py native.py)
test-lowest: setup
	$(BIN)/uv venv --quiet --no-project --allow-existing --python $(BIN)/python $(LOWEST)
	$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct \
	    --editable '.[files,sign,app]' 'pytest>=8' 'hypothesis>=6.100' 'polars>=1.0' 'jsonschema>=4.20'
	NUMBA_CACHE_DIR=$(CURDIR)/$(LOWEST)/compiled $(LOWEST)/bin/python -m pytest \
	    -W ignore::ResourceWarning -m 'not (slow or browser or spark or dist)' $(LOWEST_TESTS)

.venv/.docs: $(READY)
	$(call install,docs)
	touch .venv/.docs

# The site, into site/: offline, and a warning is an error. Its pictures need Chromium: apt-get install chromium
docs: setup .venv/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m docs.build

# The two pictures of the README, which are kept.
pictures: setup
	$(BIN)/python -m docs.build.pictures readme

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Peers are optional: a row whose peer does not install still times ours.
.venv/.peers: $(READY)
	-$(call install,bench)
	touch .venv/.peers

bench: setup .venv/.peers
	$(BIN)/python -m benchmarks $(ARGS)

clean:
	rm -rf .venv dist site docs/made discreet-demo discreet-app .pytest_cache .mypy_cache .ruff_cache .hypothesis

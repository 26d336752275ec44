# Everything runs in .venv, made on the first call and used again until pyproject.toml changes.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# Compiled tests are kept, whatever the caller's habits: else each process compiles them all again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo app test fuzz test-stress test-slow test-browser test-spark lint bench clean

setup: $(READY)

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@# Compiles what the demonstration needs into the cache.
	$(BIN)/discreet demo --rows 500 --out .venv/warm --force > /dev/null
	touch $(READY)

demo: setup
	$(BIN)/discreet demo --force

# The app, on invented households.
app: setup
	test -f discreet-demo/households.csv || $(BIN)/discreet demo --force > /dev/null
	$(BIN)/discreet app discreet-demo/households.csv

test: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not slow and not browser and not spark'

# Random releases first (ARGS='--cases 10000 --seed 1'), then new examples for the tests that draw
# them; a failure says how to repeat it.
fuzz: setup
	$(BIN)/python -m tests.fuzz $(ARGS)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'hypothesis and not spark' --hypothesis-profile fuzz tests

# The slow tests of the flow: 200,000 rows on engines, and kills at random moments.
test-stress: setup
	$(BIN)/python -m pytest -m slow tests/flow

test-slow: setup
	$(BIN)/python -m pytest -m slow

# Needs Chromium: apt-get install chromium
test-browser: setup
	$(BIN)/python -m pytest -m browser tests/browser

.venv/.spark: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,spark]'
	touch .venv/.spark

test-spark: setup .venv/.spark
	$(BIN)/python -m pytest -m spark tests/spark tests/flow/test_every_engine.py tests/flow/test_holdout.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Peers are optional: a row whose peer does not install still times ours.
.venv/.peers: $(READY)
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check '.[bench]'
	touch .venv/.peers

bench: setup .venv/.peers
	$(BIN)/python -m benchmarks $(ARGS)

clean:
	rm -rf .venv discreet-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis

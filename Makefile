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

discreet-app/households.csv: | $(READY)
	mkdir -p discreet-app
	$(BIN)/python -c "from discreet import datasets, write_table; \
	    write_table(datasets.make_households(10_000, seed=2024, null_rate=0.02), '$@')"

# The app on invented households (ARGS='--no-browser --port 8000'); it goes on where it was left.
app: setup discreet-app/households.csv
	$(BIN)/discreet app discreet-app/households.csv --workspace discreet-app/work $(ARGS)

test: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not slow and not browser and not spark'

# Random releases first (ARGS='--cases 10000 --seed 1'), then new examples for the tests that draw
# them; a failure says how to repeat it.
fuzz: setup
	$(BIN)/python -m tests.fuzz $(ARGS)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'hypothesis and not spark' --hypothesis-profile fuzz tests

# The slow tests of the flow and the app: 200,000 rows on engines, and kills at random moments.
test-stress: setup
	$(BIN)/python -m pytest -m slow tests/flow tests/app

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
	rm -rf .venv discreet-demo discreet-app .pytest_cache .mypy_cache .ruff_cache .hypothesis

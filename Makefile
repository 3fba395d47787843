# Each target is the only command needed on a fresh clone with Python 3.11 to 3.13 and make:
# it creates .venv, installs the versions pinned in constraints.txt, and runs.
# Another interpreter: make test PYTHON=python3.12 (after make clean, if .venv exists).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PINS := pyproject.toml constraints.txt src/linkwright/version.py
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-build-isolation \
	--constraint constraints.txt

# Nothing that the caller's shell says about Python decides; bytecode is kept, which halves the start.
unexport PYTHONDONTWRITEBYTECODE PYTHONHOME PYTHONPATH PYTHONSTARTUP PYTHONUNBUFFERED PYTHONWARNINGS

.PHONY: help test-gpu test test-all test-rest test-cold bill times test-random mutants fuzz demo pictures \
	bench soak conformance lint regenerate docs clean
.NOTPARALLEL: # all targets install into the same .venv

help:
	@echo "make demo    simulate the Stanford arm, draw it, and serve a page where it moves"
	@echo "make pictures  draw the pictures of the README (needs Chromium)"
	@echo "make test    lint, types, layering, tests and doctests"
	@echo "make test-all   all seeds of the batteries too, from an empty cache of native code"
	@echo "make test-cold  the tests from an empty cache, and that it becomes the same again"
	@echo "make test-random  the batteries with new seeds, for an hour (SECONDS=600 for less)"
	@echo "make mutants  break the code behind docs/acceptance.md, and see its tests fail (an hour)"
	@echo "make test-gpu  compare a card of NVIDIA with the processor, bit by bit, and measure it"
	@echo "make fuzz    damaged files for every reader, for a minute (SECONDS=600 for more)"
	@echo "make bench   measure, and print ratio tables"
	@echo "make soak    a laboratory by the clock for an hour (MINUTES=1 for less): ticks, lateness, drift"
	@echo "make conformance  compare robots with Pinocchio and MuJoCo (minutes)"
	@echo "make docs    build the site of the documentation under build/docs; dead links are errors"
	@echo "make lint    lint, format, layers and types only"
	@echo "make bill    what a change costs: lines, names, commands, test seconds, wheel"
	@echo "make times   keep what the last tests took as tests/times.json"
	@echo "make regenerate  search again for the smallest programs that ship (minutes)"
	@echo "make clean   remove .venv, caches and build products"

test: $(VENV)/.test
	$(NEEDS)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	@$(BESIDE) $(BIN)/pytest --times build/tests.json

# All seeds, from nothing; what became dearer is named.
test-all: $(VENV)/.test
	$(NEEDS)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	rm -rf build/native
	@$(BESIDE) $(BIN)/pytest --all --native build/native --times build/tests-all.json
	$(BIN)/python -m scripts.test_times tests/times.json build/tests-all.json

# What test-all adds to test.
test-rest: $(VENV)/.test
	$(BIN)/pytest --rest --times build/tests-rest.json

test-cold: $(VENV)/.test
	$(NEEDS)
	rm -rf build/native
	$(BIN)/pytest --native build/native --times build/tests-cold.json
	$(BIN)/python -m scripts.compare_caches .pytest_cache/native build/native

NEEDS = @sh scripts/need_compiler.sh && sh scripts/need_chromium.sh && sh scripts/need_arm.sh && \
	sh scripts/need_hamlib.sh

# Types, layers and the site are checked while the tests run, from caches that are kept; they speak
# at the end.
TYPES = $(BIN)/lint-imports --no-logo && $(BIN)/mypy
SITE = $(BIN)/python -m scripts.book
BESIDE = mkdir -p build; ($(TYPES) && $(SITE)) > build/types.txt 2>&1 & beside() { \
	"$$@"; tested=$$?; wait $$!; typed=$$?; cat build/types.txt; [ $$tested$$typed = 00 ]; }; beside

docs: $(VENV)/.test
	@$(SITE)

bill: $(VENV)/.test
	@$(BIN)/python -m scripts.bill

times: $(VENV)/.test
	$(BIN)/python -m scripts.test_times tests/times.json build/tests.json --keep tests/times.json

SECONDS ?= 3600
test-random: $(VENV)/.test
	$(BIN)/python -m scripts.test_random --seconds $(SECONDS)

mutants: $(VENV)/.test
	$(BIN)/python -m scripts.mutants

test-gpu: $(VENV)/.test
	$(BIN)/python -m scripts.test_gpu --report docs/gpu-report.md

fuzz: SECONDS = 60
fuzz: $(VENV)/.test
	$(BIN)/python -m scripts.fuzz --seconds $(SECONDS)

lint: $(VENV)/.test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(TYPES)

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py

pictures: $(VENV)/.test
	@sh scripts/need_chromium.sh
	$(BIN)/python -m examples.pictures

bench: $(VENV)/.bench
	$(BIN)/python -m bench.run

MINUTES ?= 60
soak: $(VENV)/.bench
	$(BIN)/python -m bench.lab_soak --minutes $(MINUTES)

conformance: $(VENV)/.bench
	$(BIN)/python -m bench.conformance

regenerate: $(VENV)/.core
	$(BIN)/python -m linkwright.models.smallest

$(VENV)/.made:
	@command -v "$(PYTHON)" >/dev/null 2>&1 || { \
		echo "Linkwright needs Python 3.11 to 3.13, and there is no $(PYTHON) on this machine;" \
		"install one, or name another: make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" scripts/check_python.py
	@"$(PYTHON)" -m venv $(VENV)
	@touch $@

$(VENV)/.build: $(VENV)/.made constraints.txt
	@echo "installing the pinned packages into $(VENV) (once)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check \
		--constraint constraints.txt setuptools
	@touch $@

$(VENV)/.core: $(VENV)/.build $(PINS)
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/.demo: $(VENV)/.build $(PINS)
	@$(INSTALL) --editable '.[plot,studio]'
	@touch $@ $(VENV)/.core

$(VENV)/.test: $(VENV)/.build $(PINS)
	@$(INSTALL) --editable '.[test]'
	@touch $@ $(VENV)/.core $(VENV)/.demo

$(VENV)/.bench: $(VENV)/.build $(PINS)
	@$(INSTALL) --editable '.[bench]'
	@touch $@ $(VENV)/.core

clean:
	rm -rf $(VENV) build dist src/*.egg-info
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests bench examples scripts -name __pycache__ -type d -prune -exec rm -rf {} +

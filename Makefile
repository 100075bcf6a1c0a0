# Everything a person or CI runs. Each target sets up what it needs in .venv, once.
#
#   PYTHON=python3.12      the interpreter the virtual environment is made from
#   WITHOUT_DURABLE=1      leave durable-rules out where it could be built
#   WITH_HEAVY=1           add torch, transformers and the Tinker SDK, for the tests marked heavy
#   RECORD=1               `make surface` writes the figures and their page instead of comparing
#   ARGS="-k tree -x"      more arguments for pytest
#   FOLDERS="docs probes"  the folders that `make prose` reads (all)
#   FUZZ_SECONDS=60        how long `make fuzz` tries each target; TARGETS="facts yaml" names some

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Where this is set, an editable install would compile every module anew at every start.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
WITHOUT_DURABLE ?=
WITH_HEAVY ?=
RECORD ?=
ARGS ?=
FOLDERS ?=
FUZZ_SECONDS ?= 600
TARGETS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
RUN := $(VENV)/.installed
DEV := $(VENV)/.installed-dev $(if $(WITH_HEAVY),$(VENV)/.installed-heavy)
COMPILED := build/compiled
FIGURES := tests/kb_tools/surface_figures.json
SURFACE := tinker==0.38.0 tinker-cookbook==0.5.8 tinker-cookbook==0.6.1
EXAMPLE := facts/examples/slow_steps.json

.PHONY: help setup dev demo test test-heavy test-deep statements quick lint prose fix types arch figures kb surface interface pages golden check bench speed compiled alike fuzz growth keyboards kills wheel smoke clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 19

# Whether durable-rules can be built: it needs a C compiler and the headers of a Python before 3.13.
CAN_BUILD = import os, shutil, sys, sysconfig as s; \
	cc = os.environ.get("CC", "").split()[:1] or (s.get_config_var("CC") or "cc").split()[:1]; \
	header = os.path.join(s.get_path("include"), "Python.h"); \
	sys.exit(not (sys.version_info < (3, 13) and shutil.which(cc[0]) and os.path.exists(header)))

# ---- set up -------------------------------------------------------------------------------------

setup: $(RUN) ## the virtual environment with ModelMedic in it (editable)

dev: $(DEV) ## the same, and the development tools

# Any failure below prints what to do about it: this is the first thing a newcomer meets.
$(RUN): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  found=$$($(PYTHON) --version 2>/dev/null) || found="no working Python"; \
	  echo "make: '$(PYTHON)' is $$found; ModelMedic needs Python 3.11 or later. Name one:" \
	    "make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 2; }
	@echo "make: installing ModelMedic in $(VENV)" >&2
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "make: no virtual environment could be made (Debian: apt install python3-venv)" >&2; exit 2; }
	@$(PIP) install -c constraints-dev.txt -e .
ifndef WITHOUT_DURABLE
	@if $(BIN)/python -c '$(CAN_BUILD)'; then \
	  $(PIP) install -c constraints-dev.txt -e '.[durable]' || \
	    echo "make: durable-rules could not be built; everything works without it" >&2; fi
endif
	@touch $@

# Not ".[dev]": that holds durable-rules, which an environment may have to do without.
$(VENV)/.installed-dev: $(RUN) constraints-dev.txt
	@echo "make: installing the development tools in $(VENV)" >&2
	@$(BIN)/python -c 'import tomllib; \
	  project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	  names = project["optional-dependencies"]["dev"]; \
	  print(*(n for n in names if not n.startswith("modelmedic[")), sep="\n")' > $(VENV)/dev.txt
	@$(PIP) install -c constraints-dev.txt -r $(VENV)/dev.txt
	@touch $@

$(VENV)/.installed-heavy: $(VENV)/.installed-dev
	@echo "make: installing torch, transformers and the Tinker SDK in $(VENV)" >&2
	@$(PIP) install -c constraints-dev.txt torch==2.13.0
	@$(PIP) install -c constraints-dev.txt tinker tinker-cookbook transformers safetensors numpy matplotlib
	@$(PIP) install -c constraints-dev.txt pyarrow
	@touch $@

# ---- use ----------------------------------------------------------------------------------------

demo: $(RUN) ## the main job on a real example: a fine-tuning run with slow steps
	@echo '$$ diagnose --facts $(EXAMPLE)'
	@rc=0; $(BIN)/diagnose --facts $(EXAMPLE) || rc=$$?; case $$rc in \
	  0) echo "diagnose ended with 0: it found nothing at or above 'error'." ;; \
	  1) echo "diagnose ended with 1: it found something at or above 'error', as it should here." ;; \
	  *) echo "diagnose ended with $$rc: that is a failure, not a finding." >&2; exit $$rc ;; esac

# ---- develop ------------------------------------------------------------------------------------

test: $(DEV) ## the tests, with the same examples in every run
	$(BIN)/pytest -n auto --dist loadgroup $(ARGS)

test-heavy: $(DEV) ## the tests that need extras: torch, transformers, the SDK and its cookbook
	$(BIN)/pytest -n auto --dist loadgroup -m 'heavy and not deep and not bench' $(ARGS)

# `hypothesis` is the mark that hypothesis gives to its properties; `long` is in both runs.
test-deep: $(DEV) ## all examples of the properties from new seeds, what is long, what needs extras
	DIFFERENTIAL=deep DIFFERENTIAL_SEED=$${DIFFERENTIAL_SEED:-$$RANDOM} \
	  $(BIN)/pytest -n auto --dist loadgroup --deep -m '(deep or long or hypothesis or heavy) and not bench' $(ARGS)

quick: $(DEV) ## the tests that take no seconds
	$(BIN)/pytest -n auto --dist loadgroup -m 'not slow and not bench and not deep and not heavy' $(ARGS)

lint: $(DEV) ## style, likely bugs, formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tests/prose/prose.py

prose: $(DEV) ## phrases that a native engineer would not write; FOLDERS="engine docs" names some
	$(BIN)/python tests/prose/prose.py $(FOLDERS)

fix: $(DEV) ## repair what lint can repair
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(DEV) ## mypy --strict
	$(BIN)/mypy

arch: $(DEV) ## import directions and layout
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/pytest -q tests/architecture

figures: $(DEV) ## what the house measures: the way of a fact, cycles, folders, lines
	$(BIN)/python -m tests.architecture.figures

kb: $(DEV) ## the knowledge: lint, form, then its own tests
	$(BIN)/diagnose kb lint
	$(BIN)/diagnose kb fmt --check knowledge facts/vocabulary probes
	$(BIN)/diagnose kb test

IS_INSTALLED = import sys; from importlib.metadata import version; \
	name, wanted = sys.argv[1].split("=="); sys.exit(version(name) != wanted)

# A package that is not installed in this version comes without what it needs: it is only read.
surface: $(DEV) ## how many messages of packages error rows answer; fails if less than recorded
	@sites=(); for wanted in $(SURFACE); do folder=build/surface/$$wanted; \
	  if $(BIN)/python -c '$(IS_INSTALLED)' $$wanted 2>/dev/null; then \
	    sites+=(--python $(BIN)/python); continue; fi; \
	  test -d $$folder || $(PIP) install --no-deps --target $$folder $$wanted; \
	  sites+=(--site $$folder); done; \
	$(BIN)/diagnose kb surface tinker tinker-cookbook "$${sites[@]}" \
	  $(if $(RECORD),--record $(FIGURES) --format markdown > docs/surface.md,--recorded $(FIGURES))

# Releases that the table has already stay in it; the newest are added.
interface: $(DEV) ## add the newest releases to the table of interfaces that scripts are checked against
	rm -rf build/interface
	$(PIP) download --no-deps --only-binary :all: --dest build/interface tinker tinker-cookbook
	$(BIN)/python -m modelmedic.authoring.interface.build probes/script/interface/table.json build/interface/*.whl

pages: $(DEV) ## what is made from the models: reference, lint codes, schemas for editors, the manual
	$(BIN)/python -m modelmedic.authoring.detectors
	$(BIN)/diagnose kb reference fields > docs/reference.md
	$(BIN)/diagnose kb reference codes --examples tests/knowledge/zoo > docs/lint.md
	$(BIN)/diagnose manual > docs/diagnose.1
	$(BIN)/diagnose kb schema --write knowledge/schemas --headers knowledge --headers facts/vocabulary --headers probes

words: $(DEV) ## learn the weights of the lexicon from tests/consultation/words and pack them
	$(BIN)/python -m tests.consultation.learn_words

statements: $(DEV) ## learn from tests/reading/statements how figures are stated
	$(BIN)/python -m tests.reading.learn_statements

golden: $(DEV) ## compare reports over all stories, sets and cases, and the facts of all artefacts
	$(BIN)/python tests/golden/golden.py
	$(BIN)/python tests/golden/facts.py

check: lint types arch kb surface smoke alike golden test test-deep ## what CI runs, and all sweeps

bench: $(DEV) ## all measurements; hours, with a million records
	$(BIN)/pytest -m bench -s tests/benchmarks/bench_*.py $(ARGS)

speed: compiled ## speed against other engines and against its goals (about eight minutes)
	@$(PIP) install -c constraints-dev.txt clipspy zen-engine
	PYTHONPATH=$(CURDIR)/$(COMPILED) $(BIN)/python tests/benchmarks $(ARGS)

# Apart from the tree: a compiled module beside a file would hide what is edited there.
compiled: $(DEV) ## the library with its inner modules compiled, in build/compiled
	rm -rf $(COMPILED) $(COMPILED)-wheel
	MODELMEDIC_COMPILED=1 $(BIN)/python -m build --wheel --outdir $(COMPILED)-wheel . 2>&1 | tail -n 1
	$(PIP) install --no-deps --target $(COMPILED) $(COMPILED)-wheel/modelmedic-*.whl

alike: compiled ## the tests of the engine on the compiled modules (without the reference evaluator)
	PYTHONPATH=$(CURDIR)/$(COMPILED) MODELMEDIC_UNDER_TEST=$(CURDIR)/$(COMPILED)/modelmedic \
	  $(BIN)/pytest -q -n auto --dist loadgroup -k "not reference" \
	  tests/engine/test_conformance.py tests/engine/test_laws*.py tests/engine/test_screening.py $(ARGS)

# Led by coverage where atheris can be installed (CPython on Linux and macOS), else by chance.
fuzz: $(DEV) ## broken inputs for every loader, ten minutes each
	@by=--atheris; $(PIP) install -c constraints-dev.txt atheris || by=; \
	  $(BIN)/python tests/security/fuzz/fuzz.py $(TARGETS) --seconds $(FUZZ_SECONDS) $$by

growth: $(DEV) ## how cost grows with files, facts, rules and the size of a log
	$(BIN)/python tests/benchmarks/bench_growth.py $(ARGS)

keyboards: $(DEV) ## 200 random keyboards at a consultation; nothing that was said may be lost
	KEYBOARDS=200 $(BIN)/pytest -n auto --deep -m '' tests/consultation/test_random_keyboards.py

kills: $(DEV) ## 500 kills of processes of bulk jobs; every job must end with the same bytes
	$(BIN)/python tests/bulk/kills.py $(ARGS)

wheel: $(DEV) ## build dist/modelmedic-*.whl
	rm -rf dist
	$(BIN)/python -m build --wheel --outdir dist .

smoke: wheel ## install the wheel in an empty environment and run the main job there
	@work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; \
	$(PYTHON) -m venv "$$work/venv"; \
	"$$work/venv/bin/python" -m pip --disable-pip-version-check --quiet install \
	  -c constraints-dev.txt dist/modelmedic-*.whl; \
	mkdir "$$work/elsewhere"; cp $(EXAMPLE) "$$work/elsewhere/facts.json"; cd "$$work/elsewhere"; \
	rc=0; "$$work/venv/bin/diagnose" --facts facts.json --format json -o report.json || rc=$$?; \
	echo "diagnose, installed from the wheel, ended with $$rc"; test "$$rc" -eq 1; \
	"$$work/venv/bin/python" -c 'import json; \
	  report = json.load(open("report.json", encoding="utf-8")); \
	  print(report["schema"], *(d["id"] for d in report["diagnoses"]), sep="\n  ")'

clean: ## remove what make made
	rm -rf $(VENV) dist build .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

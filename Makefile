# Every target makes .venv first if it is not there, or if pyproject.toml has changed.
# Another Python: make test PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DOCS := $(VENV)/.installed-docs

.PHONY: help demo demo-images docs gallery test test-slow calibration lint types bench lattice scale accuracy mnist realdata \
	single-field ordinal-fields pseudo-evidence torture bad-input degenerate one-hot fuzz soak reproduce reproduction clean
.DEFAULT_GOAL := help

help:
	@echo "make demo       learn the network of 18 symptoms of ADHD in 355 children (slabfield-demo/)"
	@echo "make docs       build the documentation into site/, which opens offline; warnings are errors"
	@echo "make gallery    run the programs in examples/; makes the pictures of docs/gallery.md anew"
	@echo "make demo-images"
	@echo "                run the demo; makes docs/images/demo-network.png and report.png (Chromium)"
	@echo "make test       all tests but the slow ones, and every example in the docstrings"
	@echo "make test-slow  the long statistical tests"
	@echo "make calibration"
	@echo "                are probabilities what they say? samplers on simulated worlds (long)"
	@echo "make lint       style of the code (ruff)"
	@echo "make types      type hints (mypy)"
	@echo "make bench      speed; writes benchmarks/RESULTS.md"
	@echo "make lattice    the default sampler beside its rivals; writes docs/lattice.md (long)"
	@echo "make scale      the default sampler on larger and larger fields; writes docs/scale.md (long)"
	@echo "make accuracy   accuracy against exact inference; writes docs/accuracy.md (long)"
	@echo "make ordinal-fields"
	@echo "                larger ordinal fields: known truth, cost of levels; writes docs/ordinal-fields.md (long)"
	@echo "make mnist      what auto returns on images, beside pseudo; writes docs/mnist.md (long)"
	@echo "make realdata   slabfield and its rivals on real data; writes docs/real-data.md (long);"
	@echo "                with BEFORE=commit also its speed before and after that commit"
	@echo "make single-field"
	@echo "                the single field beside L1 and the mixture; writes docs/single-field.md (long)"
	@echo "make pseudo-evidence"
	@echo "                Bayes factors under the pseudo-likelihood; writes docs/pseudo-likelihood.md"
	@echo "make torture    runs killed 200 times and resumed; writes docs/recovery.md"
	@echo "make bad-input  every bad input tried, with its message; writes docs/bad-input.md"
	@echo "make degenerate degenerate data under every engine; writes docs/degenerate.md"
	@echo "make one-hot    one-hot codes under every engine; writes docs/one-hot.md (long)"
	@echo "make fuzz       thousands of damaged files (FUZZ=3000 of each kind)"
	@echo "make soak       an hour of fitting, with its memory; writes docs/soak.md (MINUTES=60)"
	@echo "make reproduce  the paper's experiments, small; SCALE=paper for its sizes (hours)"
	@echo "make reproduction"
	@echo "                the same at the paper's sizes; writes docs/reproduction.md (hours)"
	@echo "make clean      remove caches and results; 'rm -r .venv' starts afresh"

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

$(DOCS): $(STAMP)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

demo: $(STAMP)
	$(BIN)/slabfield demo

CHROMIUM ?= $(shell command -v chromium || command -v google-chrome)
demo-images: demo
	cp slabfield-demo/network.png docs/images/demo-network.png
	$(CHROMIUM) --headless=new --no-sandbox --disable-gpu --hide-scrollbars --window-size=1200,1350 \
		--virtual-time-budget=5000 --screenshot=docs/images/report.png \
		"file://$(CURDIR)/slabfield-demo/report.html"

docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Open site/index.html"

gallery: $(STAMP)
	cd docs/images/gallery && for example in ../../../examples/*.py; do \
		../../../$(BIN)/python $$example || exit 1; done

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --doctest-modules src tests

test-slow: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m slow tests

calibration: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m slow -k calibration tests

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python benchmarks/run.py

lattice: $(STAMP)
	$(BIN)/python benchmarks/lattice.py

scale: $(STAMP)
	$(BIN)/python benchmarks/scale.py

accuracy: $(STAMP)
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/default_accuracy.py
	$(BIN)/python benchmarks/lattice_accuracy.py
	$(BIN)/python benchmarks/small_fields.py
	$(BIN)/python benchmarks/level_accuracy.py

ordinal-fields: $(STAMP)
	$(BIN)/python benchmarks/ordinal_fields.py

mnist: $(STAMP)
	$(BIN)/python benchmarks/mnist.py

realdata: $(STAMP)
	$(BIN)/python benchmarks/real_data.py $(if $(BEFORE),--before $(BEFORE))

single-field: $(STAMP)
	$(BIN)/python benchmarks/single_field.py

pseudo-evidence: $(STAMP)
	$(BIN)/python benchmarks/pseudo_bayes_factors.py

torture: $(STAMP)
	$(BIN)/python benchmarks/torture.py

bad-input: $(STAMP)
	$(BIN)/python benchmarks/bad_input.py

degenerate: $(STAMP)
	$(BIN)/python benchmarks/degenerate.py

one-hot: $(STAMP)
	$(BIN)/python benchmarks/one_hot.py

FUZZ ?= 3000
fuzz: $(STAMP)
	SLABFIELD_FUZZ=$(FUZZ) $(BIN)/python -m pytest -n 2 tests/io/test_fuzz.py

MINUTES ?= 60
soak: $(STAMP)
	$(BIN)/python benchmarks/soak.py --minutes $(MINUTES)

SCALE ?= quick
reproduce: $(STAMP)
	$(BIN)/slabfield reproduce all --scale $(SCALE)

reproduction: $(STAMP)
	$(BIN)/slabfield reproduce all --scale paper --out docs/reproduction
	sed 's|](\([a-z0-9_]*\.\)|](reproduction/\1|g' docs/reproduction/reproduction.md > docs/reproduction.md
	rm docs/reproduction/reproduction.md docs/reproduction/*.svg docs/reproduction/*.npz

clean:
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks build dist site
	rm -rf slabfield-demo slabfield-out slabfield-compare
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# README's two commands are `make demo` and `make test`; each does all its set-up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SPU_VENV := .venv-spu
SPU_PYTHON ?= python3.11
GPU_PYTHON ?= python3
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.PHONY: help docs site screenshots results demo services test test-gpu test-qgis test-pythons test-spu chaos soak publication answer-times mutants audit audit-planted container locked sbom vulnerabilities bench build check types test-types clean standing recovery
.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(VENV)/.created: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "fedgroup needs Python 3.11 or newer; try: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) pip
	@touch $@

$(VENV)/.base: $(VENV)/.created pyproject.toml
	$(PIP) --editable '.[lab]'
	@touch $@

$(VENV)/.everything: $(VENV)/.created pyproject.toml
	$(PIP) --editable '.[basemap,frames,lab,maps,opendp,cluster,live,serve,silos,page]' --group dev
	@touch $@ $(VENV)/.base

docs: build  ## draw the README's pictures, run the notebooks and write the command reference anew
	$(BIN)/fedgroup demo --out docs/images > /dev/null
	$(BIN)/python scripts/heat_map.py docs/images
	$(BIN)/python scripts/notebooks.py docs/notebooks
	$(BIN)/python -m fedgroup.cli.reference > docs/reference/cli.md

site: build  ## docs/ as a site in build/site; fails on a link that leads nowhere
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

screenshots: build services  ## the README's picture of the map, taken in a browser
	$(BIN)/python scripts/screenshots.py docs/images

demo: $(VENV)/.base  ## a city of 1,000 owners, every method, a table and pictures (installs the base and [lab] only)
	$(BIN)/fedgroup demo

results: build  ## every experiment on the check-ins in DATA=FOLDER, and docs/results.md and the README's table from them
	@test -n "$(DATA)" || { echo "say which check-ins: make results DATA=FOLDER"; exit 2; }
	$(BIN)/fedgroup experiment all --data "$(DATA)" --out build/results
	$(BIN)/python -m fedgroup.lab.experiments.documents build/results

build: $(VENV)/.everything  ## .venv with everything; .venv/bin/fedgroup is the command

services:  ## programs that tests start: PostgreSQL with PostGIS, brokers, a browser (root on Debian; else lists them)
	@scripts/services.sh

# Three workers for two cores: many tests wait for processes that they started. A file's tests stay together, and share what it started. Compiled modules are kept even where that is switched off: tests start hundreds of processes that import the same.
test: build services  ## all tests
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

chaos: build services  ## 10 minutes of users asking while owners, provider and broker are killed: every number adds up (SECONDS=, SEED=, BROKER=)
	$(BIN)/python tests/live/chaos_run.py --seconds $(or $(SECONDS),600) --seed $(or $(SEED),1) --broker $(or $(BROKER),mosquitto)

soak: build services  ## 30 minutes of 20 users and 200 hosted owners while processes are killed: budgets exact (SECONDS=, SEED=, OWNERS=, USERS=, BROKER=)
	$(BIN)/python tests/live/soak_run.py --seconds $(or $(SECONDS),1800) --seed $(or $(SEED),1) --owners $(or $(OWNERS),200) --users $(or $(USERS),20) --broker $(or $(BROKER),mosquitto)

publication: build  ## a map of 200 live owners (OWNERS=), 5 % of whom die between its rounds, and the provider with them
	$(BIN)/python tests/live/publication_run.py --owners $(or $(OWNERS),200)

recovery: build  ## 500 live owners in cohorts of 50, five of each killed in the middle of a question: nobody pays twice
	$(BIN)/pytest --quiet tests/live/recovery_run.py

standing: build  ## a week of hourly maps by 50 live owners (OWNERS=, HOURS=, KILLS=), the provider killed over and over: no hour twice, none lost
	$(BIN)/python tests/live/standing_run.py --owners $(or $(OWNERS),50) --hours $(or $(HOURS),168) --kills $(or $(KILLS),20)

mutants: build services  ## bugs planted one by one; some test must notice each (ONLY="words of a name")
	FEDGROUP_DATA="$(FEDGROUP_DATA)" $(BIN)/python tests/mutants/mutants_run.py $(if $(ONLY),--only "$(ONLY)")

audit: build  ## attack every kind of release (half an hour of processor time), and write docs/audit.md's report from it
	@mkdir -p build
	$(BIN)/fedgroup audit --json > build/audit.json
	$(BIN)/python -m fedgroup.lab.audit.documents build/audit.json

audit-planted: build  ## the same with half the noise: every row must notice (EFFORT=0.25, ONLY="words of a name")
	$(BIN)/python tests/audit/planted_run.py --effort $(or $(EFFORT),0.25) $(if $(ONLY),--only "$(ONLY)")

answer-times: build  ## how well times of a live owner's answers tell of its records, at no pace and at a public one (ANSWERS=, EVERY_MS=)
	$(BIN)/python scripts/answer_times.py --answers $(or $(ANSWERS),1000) --every-ms $(or $(EVERY_MS),10)

locked: build  ## locked.txt anew: every package of constraints.txt with the hash of its file, for this Python and system
	$(BIN)/python scripts/locked.py > locked.txt.new && mv locked.txt.new locked.txt

sbom: build  ## build/sbom.json: what a locked installation holds, as CycloneDX
	@mkdir -p build
	$(BIN)/python scripts/sbom.py locked.txt > build/sbom.json

vulnerabilities: build  ## known weaknesses of locked versions, in a copy of the OSV database for PyPI (OSV=all.zip)
	$(BIN)/python scripts/vulnerable.py locked.txt $(OSV)

container: build  ## deploy/Containerfile carried out without an engine, on a Debian by debootstrap (needs root), and its command run
	$(BIN)/python scripts/container.py

test-pythons:  ## the quick tests with every Python of 3.11 to 3.13 that is here (PYTHONS="3.12" for one)
	@scripts/pythons.sh

bench: build  ## our times beside a reference's, in the same run (SPU's too, after make test-spu)
	$(if $(wildcard $(SPU_VENV)/.created),FEDGROUP_SPU_PYTHON=$(SPU_VENV)/bin/python )$(BIN)/fedgroup bench

$(SPU_VENV)/.created: pyproject.toml
	$(SPU_PYTHON) -m venv $(SPU_VENV)
	@echo '*' > $(SPU_VENV)/.gitignore
	$(SPU_VENV)/bin/python -m pip --disable-pip-version-check install --quiet 'pip>=25.1'
	$(SPU_VENV)/bin/python -m pip --disable-pip-version-check install --quiet --group spu
	@touch $@

test-spu: build $(SPU_VENV)/.created  ## our secure similarity against SecretFlow SPU's (1 GB; needs Python 3.11: SPU_PYTHON)
	FEDGROUP_SPU_PYTHON=$(SPU_VENV)/bin/python $(BIN)/python -m pytest tests/spu

test-qgis: build  ## QGIS reads and draws a served map without a screen (Debian's python3-qgis, 1 GB; QGIS_PICTURE= keeps its picture)
	@scripts/qgis.sh
	$(BIN)/python -m pytest tests/service/qgis_layers.py

# Runs with any Python that has numpy, torch and pytest: no other part of the project is needed, so neither is its setup.
test-gpu:  ## the GPU's graph against brute force, with GPU_PYTHON's torch (without a GPU: plain torch on the CPU)
	PYTHONPATH=src $(GPU_PYTHON) -m pytest -q -c /dev/null --rootdir=. --confcutdir=tests/gpu -p no:cacheprovider tests/gpu

check: build  ## ruff, mypy (--strict in src, looser in tests), import-linter
	$(BIN)/ruff check src tests
	$(BIN)/ruff format --check src tests
	@$(MAKE) --no-print-directory --jobs 2 types test-types
	$(BIN)/lint-imports

types:
	$(BIN)/mypy --strict

test-types:
	$(BIN)/mypy --config-file tests/mypy.ini --cache-dir .mypy_cache/tests

clean:  ## remove what the other targets made
	rm -rf $(VENV) $(VENV)-3.* $(SPU_VENV) build/site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

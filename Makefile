# GNU make and BSD make read this alike: no conditionals, no pattern rules, no $(shell).
PYTHON = python3
VENV = .venv
BIN = $(VENV)/bin
# What it starts has the user's environment: the product runs as the tests run it.
PYTEST = $(BIN)/python -m pytest -q
FARMS = tests/e2e tests/contracts
MACHINES = tests/vm tests/e2e tests/contracts

.PHONY: help compiled demo farm test test-fast test-vm test-freebsd fuzz chaos load bench figures check size manual docs docs-links picture release release-test clean

help:
	@echo "make demo    see a regression arrive as git commits and leave as a mail (some minutes)"
	@echo "make farm    keep a farm running with the recorded r311848..r313448, to ask bench-bisect"
	@echo "make test    all tests, with real masters, workers and servers (half an hour on two processors)"
	@echo "make test-vm what boots virtual machines (some minutes; needs QEMU)"
	@echo "make test-freebsd SRC=DIR   the same on a FreeBSD source tree that you have (an hour)"
	@echo "make fuzz    put damaged inputs to every parser (a minute each; OPTIONS=--help)"
	@echo "make chaos   kill, cut and break a farm at work, and ask whether it is whole (OPTIONS=--help)"
	@echo "make load    what the broker costs with 10 000 commits on 100 series (some minutes)"
	@echo "make bench   how well and how cheaply it searches and judges (an hour or more)"
	@echo "make figures what docs/explanation/why-believe-it.md tells, measured anew (two hours; OPTIONS=--help)"
	@echo "make check   ruff, mypy, import-linter, vulture and codespell"
	@echo "make size    lines of the project: code, docstrings, imports, files"
	@echo "make manual  manual pages and shell completions, from the commands' parsers"
	@echo "make docs    the manual in docs/ as web pages: build/docs/index.html"
	@echo "make picture the picture in the README, from the mail of a demo (some minutes)"
	@echo "make release what is published, in dist/: twice built, checked, described (needs the network)"
	@echo "make release-test   fast tests on its wheel, with the oldest and newest dependencies"
	@echo "make docs-links   asks the sites that the manual links to (needs the network)"

# Each farm reads hundreds of modules, and not every environment has Python keep what it compiled.
compiled: $(VENV)/ready
	@$(BIN)/python -m compileall -q buildbot_bench tests

demo: $(VENV)/ready
	$(BIN)/bench-farm demo

farm: $(VENV)/ready
	$(BIN)/bench-farm run

test: compiled
	$(PYTEST) -n auto -m "not e2e and not vm"
	$(PYTEST) -n auto --dist loadfile --no-loadscope-reorder -m "e2e and not vm" $(FARMS)

test-fast: compiled
	$(PYTEST) -n auto -m "not e2e and not vm"

test-vm: compiled
	$(PYTEST) -n 2 --dist loadfile -m vm $(MACHINES)

# SRC is where a FreeBSD source tree is; without it this says how to get one. OPTIONS=--help tells
# of what else may be said.
SRC =
PART =
OPTIONS =
test-freebsd: $(VENV)/ready
	$(BIN)/python -m benchmarks.freebsd --part "$(PART)" $(OPTIONS) "$(SRC)"

fuzz: $(VENV)/ready
	$(BIN)/python -m tests.fuzz $(OPTIONS)

chaos: compiled
	$(BIN)/python -m tests.chaos $(OPTIONS)

load: $(VENV)/ready
	$(BIN)/python -m benchmarks load

bench: $(VENV)/ready
	$(BIN)/python -m benchmarks

figures: $(VENV)/ready
	$(BIN)/python -m benchmarks figures $(OPTIONS)

check: $(VENV)/ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vulture
	$(BIN)/codespell

size: $(VENV)/ready
	$(BIN)/python -m benchmarks.size

manual: $(VENV)/ready
	$(BIN)/python -m manual

# What is wrong with a page, be it a link to a heading that is not there, is an error.
SPHINX = $(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --jobs auto
docs: $(VENV)/ready
	$(SPHINX) --builder html --doctree-dir build/doctrees docs build/docs
	@echo "The manual is build/docs/index.html."

docs-links: $(VENV)/ready
	$(SPHINX) --builder linkcheck --doctree-dir build/doctrees docs build/links

picture: demo
	$(BIN)/python -m manual.picture .farm/mails distribution.png docs/pictures/culprit.png

release: $(VENV)/ready
	@$(BIN)/python .ci/release build $(OPTIONS)

# OPTIONS may name directories of tests.
release-test: $(VENV)/ready
	@$(BIN)/python .ci/release test $(OPTIONS)

# The constraints are what the tests passed with last; pyproject.toml says what may be used.
$(VENV)/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c "import ssl" 2>/dev/null || { \
	    echo "$(PYTHON) has no ssl module, by which pip fetches; say PYTHON=/usr/bin/python3" >&2; exit 1; }
	@echo "Setting up $(VENV); this takes a minute or two."
	@# Another Python over one that works would mix two: it goes on as it is.
	@$(BIN)/python -c "import ssl" 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    --constraint constraints.txt --editable '.[test]'
	@touch $(VENV)/ready

clean:
	rm -rf $(VENV) .venv-debian .farm build dist .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis

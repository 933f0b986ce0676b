# dwell: `make help` lists what there is. Everything built lives under build/.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHONS := $(shell tools/pythons)
PYTHON := $(firstword $(PYTHONS))
# What one build compiled serves the others, in whatever directory they are. The compiler tells what
# it included: nothing is preprocessed before to find that out.
export CCACHE_DIR := $(CURDIR)/build/ccache
export CCACHE_NOHASHDIR := 1
export CCACHE_DEPEND := 1

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

demo: ## build, profile an example, print the report, write the page
	@tools/setup demo
	@tools/venv $(PYTHON)
	@tools/demo $(PYTHON)

build: ## build and install dwell into a virtual environment for each Python found
	@tools/setup demo
	@for python in $(PYTHONS); do tools/venv $$python || exit 1; done

test: ## run all tests on the Pythons found
	@tools/setup test
	@tools/test $(PYTHONS)

test-all: ## the same on all supported Pythons; makes a Debian sid for the newest ones
	@tools/setup test
	@tools/test $(PYTHONS)
	@tools/sid test

wheels: ## make the sdist and a wheel for each Python found, in build/wheels
	@tools/setup wheels
	@$(PYTHON) tools/wheels $(PYTHONS)

wheel-test: wheels ## install the wheels in Debians that have nothing but Python, and use them there
	@tools/wheel-test

lint: ## check format, layers, types; compile with warnings as errors
	@tools/setup lint
	@tools/lint

format: ## format C and Python sources
	@tools/setup lint
	@tools/lint --fix

bench: ## measure dwell beside the other tools, in one run, as ratios
	@tools/setup bench
	@for python in $(PYTHONS); do tools/venv $$python bench || exit 1; done
	@tools/bench $(PYTHONS)

accuracy: ## run the tests that measure, and compare with the truth on real programs
	@tools/setup test
	@tools/setup bench
	@for python in $(PYTHONS); do tools/venv $$python accuracy || exit 1; done
	@tools/bench --accuracy $(PYTHONS)

cluster-test: ## run the tests of clusters on each Python, with LiberTEM, Ray and Spark, which `make test` leaves out
	@tools/setup test
	@for python in $(PYTHONS); do tools/venv $$python cluster || exit 1; done
	@for python in $(PYTHONS); do build/venv/$$($$python -c \
	  'import sys; print("%d.%d" % sys.version_info[:2])')/bin/python -m pytest -q tests/cluster || \
	  exit 1; done

fuzz: ## fuzz the log reader, every lens and every importer, a minute each (FUZZ_SECONDS=60)
	@tools/setup fuzz
	@tools/venv $(PYTHON) test
	@tools/fuzz $${FUZZ_SECONDS:-60}

soak: ## start and stop sampling, attach and detach for an hour (SOAK_SECONDS=3600)
	@tools/setup test
	@tools/venv $(PYTHON) test
	@SOAK_SECONDS=$${SOAK_SECONDS:-3600} build/venv/$$($(PYTHON) -c \
	  'import sys; print("%d.%d" % sys.version_info[:2])')/bin/python -m pytest -s -q tests/soak

clean: ## remove what was built, but not the Debians
	@rm -rf $(filter-out build/sid build/bookworm build/trixie,$(wildcard build/*))

.PHONY: help demo build test test-all wheels wheel-test lint format bench accuracy cluster-test fuzz soak clean

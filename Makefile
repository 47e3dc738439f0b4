# Everything runs in .venv, which the first target that needs it creates.
# PYTHON names the interpreter it is made from, VENV another place for it.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo miniature test test-slow lint system clean

PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11,$(shell \
	command -v $(p) >/dev/null 2>&1 && $(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(p))) python3)
VENV ?= .venv
export PYTHON VENV
BIN := $(VENV)/bin

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

demo: ## Score HumanEval's solutions, and mutants of them, with the code reward
	@.ci/system demo
	@.ci/environment demo
	@echo "assay: writing HumanEval's canonical solutions and mutants of them to out/"
	@rm -rf out/humaneval && mkdir -p out/humaneval
	@$(BIN)/python examples/humaneval_rows.py --output out/humaneval/rows.jsonl
	@echo "assay: scoring them with examples/code_reward.py"
	@$(BIN)/assay score --reward examples/code_reward.py:reward --input out/humaneval/rows.jsonl \
		--output out/humaneval/scores.jsonl --json out/humaneval/summary.json
	@$(BIN)/python examples/humaneval_report.py out/humaneval/rows.jsonl out/humaneval/scores.jsonl

# What the short form leaves out: most steps of RL, and all but a few rollouts of each evaluation.
SHORT_SETTINGS := defaults.rl.trl.max_steps=4 defaults.rl.trl.save_steps=4 \
	evaluations.code.decoding.n=4 evaluations.names.decoding.n=2 evaluations.held-names.decoding.n=2

miniature: ## Train a small model through every stage (SHORT=1: fewer steps); run it again to go on
	@.ci/system miniature
	@.ci/environment train
	@$(BIN)/assay train tiny --output out/tiny$(if $(SHORT),-short) $(if $(SHORT),$(SHORT_SETTINGS:%=--set %))

test: ## Run the tests (a few minutes)
	@.ci/system test
	@.ci/environment dev
	@echo "assay: running the tests"
	@$(BIN)/python -m pytest -m "not slow" $(PYTEST)

test-slow: ## Run the slow tests as well
	@.ci/system test
	@.ci/environment dev
	@echo "assay: running all tests"
	@$(BIN)/python -m pytest $(PYTEST)

lint: ## Check style and types
	@.ci/environment dev
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy

system: ## Install missing system packages (as root on Debian or Ubuntu)
	@.ci/system test

clean: ## Remove .venv, caches and what the demo wrote
	@rm -rf $(VENV) out build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

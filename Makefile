# `make run` and `make test` are all that a fresh machine needs; the rest is for people who change things.
PYTHON ?= python3
WORLD ?=
ARGS ?=
BIN := .venv/bin
SETUP_INPUTS := tools/bootstrap.py setup.py requirements/core.lock requirements/ros.lock \
	$(wildcard interfaces/tf2_msgs/*.* interfaces/tf2_msgs/msg/*)

.PHONY: run setup test lint types imports bench doctor lock clean

run: .venv/.ready
	@exec $(BIN)/sim_node run $(WORLD) $(ARGS)

setup: .venv/.ready

doctor: .venv/.ready
	@exec $(BIN)/sim_node doctor

test: .venv/.ready-for-tests lint types imports
	$(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

lint: .venv/.ready-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.ready-for-tests
	$(BIN)/mypy

imports: .venv/.ready-for-tests
	$(BIN)/lint-imports

bench: .venv/.ready-for-tests
	$(BIN)/python -m bench $(ARGS)

lock:
	tools/lock.sh

clean:
	rm -rf .venv build install log bench/results

.venv/.ready: $(SETUP_INPUTS)
	@$(PYTHON) tools/bootstrap.py
	@touch $@

.venv/.ready-for-tests: $(SETUP_INPUTS) requirements/test.lock
	@$(PYTHON) tools/bootstrap.py test
	@touch .venv/.ready $@

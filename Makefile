.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo test test-unit test-lake test-spark40 test-server test-long ddl-histories torture fuzz fuzz-ddl lint \
	bench wheel lock

run := JAVA_HOME="$(CURDIR)/.venv/java" .venv/bin/
# One pytest run per tier: a tier in which no test was found ends with an error, which the others cannot hide.
pytest := $(run)python -m pytest
# A Spark session plans on one core. Tests marked with one xdist_group share a fixture and stay together.
two_processes := -n 2 --dist loadgroup --no-loadscope-reorder

# Every hop and kind of DDL with names in a catalog, each feature of a mirror, crashes, epochs that workers reduce.
on_spark40 := $(addprefix tests/lake/test_,unity_catalog.py table_features.py \
	hops.py::test_a_crash_at_any_step_changes_nothing hops.py::test_an_epoch_too_large_for_the_driver_is_reduced_by_workers)

help:  ## what can be made (this list)
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' Makefile
setup:  ## Python packages, Delta's JARs and a Java in .venv; the other targets do this by themselves
	@scripts/setup.sh
demo: setup  ## bundled binlogs of real servers -> bronze, silver, gold, and a report
	$(run)mirrorlake demo
test: lint test-unit test-lake test-spark40 test-server  ## lint and all tests; the server tier says so loudly when it has no server
test-unit: setup  ## the pure core: no Spark, no server
	$(pytest) $(two_processes) tests/unit
test-lake: setup  ## bronze, silver and gold on a local Spark with Delta, and every notebook
	$(pytest) $(two_processes) tests/lake
test-spark40: setup  ## a short form of it with the Spark and Delta of Databricks Runtime 17.3 LTS, in .cache/spark40
	python=$$(scripts/spark40.sh) && JAVA_HOME="$(CURDIR)/.venv/java" PYTHONPATH=src \
		$$python -m pytest $(two_processes) $(on_spark40)
test-server: setup  ## live MariaDB and MySQL (installs or unpacks them where it can)
	$(pytest) $(two_processes) tests/server
test-long: setup  ## the lake and server tiers in their long form: more kills, more histories, all of tests/cases
	$(pytest) tests/lake tests/server tests/unit/test_dbx.py --long
ddl-histories: setup  ## random DDL on real servers, each mirror compared with SELECT (HISTORIES=N, CRASH=1)
	$(run)python -m tests.ddl_histories --histories $(or $(HISTORIES),100) $(if $(CRASH),--crash)
torture: setup  ## a mixed workload with DDL: 500 crashes at any call on each server (CRASHES=N), then 120 SIGKILLs
	$(pytest) tests/server/test_torture.py --long --crashes $(or $(CRASHES),500) -s
	$(pytest) tests/server/test_live.py tests/server/test_connect.py --long -s
fuzz: setup  ## ten million damaged event groups through the kernels (INPUTS=N), a hundredth of it as whole logs
	$(run)python -m tests.fuzz_binlog --events --inputs $(or $(INPUTS),10000000)
	$(run)python -m tests.fuzz_binlog --inputs $$(($(or $(INPUTS),10000000) / 100))
fuzz-ddl: setup  ## a million statements, changed at random (INPUTS=N), of our tests and of the servers' own where they are in .cache
	$(run)python -m tests.fuzz_ddl --inputs $(or $(INPUTS),1000000)
lint: setup  ## ruff, mypy, and the words of docs and help texts (tests/words.txt)
	$(run)ruff check .
	$(run)ruff format --check .
	$(run)mypy
	$(pytest) -q tests/unit/test_words.py
bench: setup  ## the published figures (some minutes)
	test -d .cache/bench-logs/mariadb || $(run)python -m bench.make_logs
	$(run)python -m bench.hops --logs .cache/bench-logs/mariadb
wheel: setup  ## dist/*.whl, what a Databricks bundle deploys
	$(run)python -m pip wheel -q --no-index --no-deps --no-build-isolation --wheel-dir dist .
lock:  ## make requirements/*.txt again: the newest packages within setup.py's bounds, with the hash of each file
	scripts/lock.sh

#!/usr/bin/env bash
# An environment of its own with Spark 4.0 and Delta 4.0, those of Databricks Runtime 17.3 LTS; prints its Python.
# It has what mirrorlake needs, but not mirrorlake, which the tests take from src.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=.cache/spark40

hashed() { # NAME ...: as in setup.sh
  $folder/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r "requirements/$1.txt" "${@:2}" >&2
}

[ -e $folder/complete ] || {
  rm -rf $folder
  .venv/bin/python -m venv $folder
  hashed build
  hashed spark40 --no-build-isolation
  JAVA_HOME=$PWD/.venv/java $folder/bin/python scripts/fetch_jars.py $folder --recorded scripts/delta-jars-4.0.sha256 >&2
  touch $folder/complete
}
echo "$PWD/$folder/bin/python"

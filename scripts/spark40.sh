#!/usr/bin/env bash
# An environment of its own with Spark 4.0 and Delta 4.0, those of Databricks Runtime 17.3 LTS; prints its Python.
# It has what mirrorlake needs, but not mirrorlake, which the tests take from src.
. "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"
folder=.cache/spark40

make_folder() {
  .venv/bin/python -m venv $folder
  hashed $folder/bin/python build
  hashed $folder/bin/python spark40 --no-build-isolation
  JAVA_HOME=$PWD/.venv/java $folder/bin/python scripts/fetch_jars.py $folder --recorded scripts/delta-jars-4.0.sha256 >&2
}

made_once $folder make_folder
echo "$PWD/$folder/bin/python"

#!/usr/bin/env bash
# An environment of its own with Spark 3.5 and Delta 3.3, for tests of readers; prints its Python.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=.cache/spark35
[ -x $folder/bin/python ] && [ -e $folder/complete ] || {
  rm -rf $folder
  python3 -m venv $folder
  $folder/bin/python -m pip install -q --disable-pip-version-check 'pyspark==3.5.7' 'delta-spark==3.3.2' setuptools >&2
  touch $folder/complete
}
echo "$PWD/$folder/bin/python"

#!/usr/bin/env bash
# An environment of its own with Spark 3.5 and Delta 3.3, for tests of readers; prints its Python.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=.cache/spark35

hashed() { # NAME ...: as in setup.sh
  $folder/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r "requirements/$1.txt" "${@:2}" >&2
}

[ -e $folder/complete ] || {
  rm -rf $folder
  python3 -m venv $folder
  hashed build
  hashed spark35 --no-build-isolation
  touch $folder/complete
}
echo "$PWD/$folder/bin/python"

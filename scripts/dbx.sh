#!/usr/bin/env bash
# An environment of its own with dbx, which takes no pydantic 2, for tests of conf/deployment.yml; prints the program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=.cache/dbx

[ -e $folder/complete ] || {
  rm -rf $folder
  .venv/bin/python -m venv $folder
  $folder/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/dbx.txt >&2
  touch $folder/complete
}
echo "$PWD/$folder/bin/dbx"

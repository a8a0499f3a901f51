#!/usr/bin/env bash
# A folder with databricks-sdk for this Python, for tests with a stand-in workspace; prints the folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=.cache/databricks

[ -e $folder/complete ] || {
  rm -rf $folder
  .venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/databricks.txt --target $folder >&2
  touch $folder/complete
}
echo "$PWD/$folder"

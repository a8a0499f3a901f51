#!/usr/bin/env bash
# A folder with the kernel of IPython for this Python, for tests of tasks; prints the folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=.cache/ipykernel

[ -e $folder/complete ] || {
  rm -rf $folder
  .venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/ipykernel.txt --target $folder >&2
  touch $folder/complete
}
echo "$PWD/$folder"

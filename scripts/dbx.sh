#!/usr/bin/env bash
# An environment of its own with dbx, which takes no pydantic 2, for tests of conf/deployment.yml; prints the program.
. "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"
folder=.cache/dbx

make_folder() {
  .venv/bin/python -m venv $folder
  hashed $folder/bin/python dbx
}

made_once $folder make_folder
echo "$PWD/$folder/bin/dbx"

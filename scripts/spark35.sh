#!/usr/bin/env bash
# An environment of its own with Spark 3.5 and Delta 3.3, for tests of readers; prints its Python.
. "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"
folder=.cache/spark35

make_folder() {
  python3 -m venv $folder
  hashed $folder/bin/python build
  hashed $folder/bin/python spark35 --no-build-isolation
}

made_once $folder make_folder
echo "$PWD/$folder/bin/python"

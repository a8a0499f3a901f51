#!/usr/bin/env bash
# A folder with databricks-sdk for this Python, for tests with a stand-in workspace; prints the folder.
. "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"
folder=.cache/databricks

make_folder() { hashed .venv/bin/python databricks --target $folder; }

made_once $folder make_folder
echo "$PWD/$folder"

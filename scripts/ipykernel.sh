#!/usr/bin/env bash
# A folder with the kernel of IPython for this Python, for tests of tasks; prints the folder.
. "$(dirname "${BASH_SOURCE[0]}")/own_folder.sh"
folder=.cache/ipykernel

make_folder() { hashed .venv/bin/python ipykernel --target $folder; }

made_once $folder make_folder
echo "$PWD/$folder"

# Sourced by scripts that keep something for tests in a folder of .cache, made once from requirements/*.txt alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

made_once() { # FOLDER COMMAND: where the command makes the folder; a folder that is not complete is made anew
  [ -e "$1/complete" ] && return
  rm -rf "$1"
  "$2"
  touch "$1/complete"
}
hashed() { # PYTHON NAME ...: as in setup.sh
  "$1" -m pip install -q --disable-pip-version-check --require-hashes -r "requirements/$2.txt" "${@:3}" >&2
}
